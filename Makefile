# Two commands matter: `make run` shows a store surviving a kill -9, `make test`
# runs every check.

GO ?= go
# Where `make run` puts its store; empty means a new temporary directory.
DIR ?=
# How many inputs each fuzz target gets.
FUZZ ?= 20000x

.PHONY: run test build vet tidy unit race scripts fuzz crash ecosystem

run:
	$(GO) run ./cmd/tidemark demo $(DIR)

# The Go tests come last, so that the output ends in their lines.
test: build vet tidy scripts crash fuzz ecosystem race unit

build:
	$(GO) build ./...

# vtab makes pointers of addresses that SQLite hands out; vet cannot know that
# these are not the Go heap's. No other package may do so.
vet:
	test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	$(GO) vet $$($(GO) list ./... | grep -v '/vtab$$')
	$(GO) vet -unsafeptr=false ./vtab
	GOOS=darwin $(GO) vet ./engine/vfs
	GOOS=windows $(GO) vet ./engine/vfs

tidy:
	$(GO) mod tidy -diff
	cd sqltests/ecosystem && $(GO) mod tidy -diff

# The SQL scripts through the command: on plain SQLite, which must agree with
# them, on Tidemark, prepared, and with the store reopened after each statement
# (scripts named one_… keep a transaction or a setting of their connection, those
# named branch_… are of what SQLite has not).
scripts:
	$(GO) run ./cmd/tidemark slt -q -driver sqlite -skip branch_ sqltests/scripts
	$(GO) run ./cmd/tidemark slt -q sqltests/scripts
	$(GO) run ./cmd/tidemark slt -q -prepare sqltests/scripts
	$(GO) run ./cmd/tidemark slt -q -reopen 1 -skip one_ sqltests/scripts

# One round of eight writers, kill -9 and recovery, as make run shows it. The Go
# tests have many more.
crash:
	@dir=$$(mktemp -d) && $(GO) run ./cmd/tidemark demo $$dir/shop >$$dir/log || { cat $$dir/log; rm -rf $$dir; exit 1; }; \
		grep -E '^(killed|opened|every|check)' $$dir/log; rm -rf $$dir

# Every fuzz target there is, for so many inputs: a time limit races with its own
# end (go test then fails with "context deadline exceeded" and no input).
fuzz:
	@set -e; for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "fuzz $$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ) $$pkg >/tmp/tidemark-fuzz.$$$$ 2>&1 || \
				{ cat /tmp/tidemark-fuzz.$$$$; rm -f /tmp/tidemark-fuzz.$$$$; exit 1; }; \
			rm -f /tmp/tidemark-fuzz.$$$$; \
		done; \
	done

# ORMs, query builders and migration tools, in a module of their own.
ecosystem:
	cd sqltests/ecosystem && $(GO) vet ./... && $(GO) test ./...

# Everything whose code runs on several goroutines. The loops over crash images,
# faults and random programs, and the corpora, run on one goroutine at a time: they
# are left to the plain run, as is all of catalog, of vtab and of the command but
# what crosses goroutines (a connection belongs to one; driver and sqltests run
# many).
#
# SQLite itself is not instrumented. Its memory is not of the Go heap, so the detector
# ignores what it does there, but calling the detector to hear that takes most of
# the time of the whole run. What is given up are the globals of these two packages.
RACE = -race -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false
race:
	$(GO) test $(RACE) -short -timeout 45m \
		-skip 'Differential|AlterRandom|CrashAt|CrashLoop|FaultLoop|ScheduleRepeats|TwoCrashes|FaultAt|Flipped|CutAt|CatalogFaults|RandomDamage|RandomShards|MissingInOne|UnequalRotation|CheckpointCrash|MostShardsCrash|LikeSQLite|LosesASuffix|PublicationFaults|CheckFinds|CheckFiles|CheckOfClose|LargeLog|WithoutRoom|Fence|VolatileOrder|RotationPublishes|Shelf|Keys[^RT]|Memory$$|MemoryBudget|Chinook|RefusedCommit|NoDataPath|AdminColumn|BackupCrash|BackupFaults|BackupSourceFaults|GCAfterCrash|GCFaults|RestoreFaults|RestoreOfDamage|BranchPointFaults|BranchPointCatalogFaults|BranchPointCrash|TimelineCrash|RestoreToFaults|ForkFaults|SharedBaseCrash|SharedBaseFaults|SharedMergeCommits|KeptMergeCommits|HistoryIsTheWorld|DamagedBranchPoint|QuarantineOf|QuarantineCrash|QuarantineFaults|TestTimelines$$|CompactFaults|CompactCrash|ReaderOfCrashImages|IndexCrash|IndexFaults|SegmentsLoadDamaged|CompactModel|KeepsModel|KeptFilesFaults|CatchupKept|CheckFindsSegments|DamagedSegments' \
		./engine/... ./driver/...
	$(GO) test $(RACE) -short -timeout 45m -run 'Busy|Concurrent|Cancel|Poison|Pin' ./catalog
	$(GO) test $(RACE) -short -timeout 45m -run 'Interrupt|Unlocked|ForeignConnection|CollectionWhile|Memory' ./vtab
	$(GO) test $(RACE) -short -timeout 45m -run 'Interrupt|Pipe|Snapshot|Progress|Demo|Editor' ./cmd/tidemark
	$(GO) test $(RACE) -short -timeout 45m -skip 'Corpus|Model|RandomSelects|SampleDatabase|Metamorphic|Residenc|FaultsAcross' ./sqltests

unit:
	$(GO) test -timeout 45m ./...
