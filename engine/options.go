package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// DefaultGenerationSize is the size at which the log goes on in a new file.
const DefaultGenerationSize = 64 << 20

const (
	minGenerationSize = 1 << 10
	maxGenerationSize = 1 << 40
)

// Options of Open. Only Dir is required, or Memory in its place.
type Options struct {
	// Dir is the directory of catalog.db, always on the real disk.
	Dir string
	// Memory makes a store that is in no file and ends with Close. Of the other
	// options only MemoryBudget, Events and Now mean something to it.
	Memory bool
	// FS holds the log and the lock file; nil means the files below Dir.
	FS vfs.FS
	// Timeline names the line of states to work on ("main", the one that every store
	// has).
	Timeline string
	// Create makes the store when there is none and finishes an interrupted
	// creation; the parent of Dir must exist.
	Create bool
	// ReadOnly opens the timeline to be read beside the process that writes the store,
	// or without one: see openReader. It takes no lock, recovers nothing and changes
	// no file but the catalog, where it has a session and pins what it reads. Where
	// the directory cannot be written it changes nothing at all.
	ReadOnly bool
	// GenerationSize is how large a log generation grows before the next
	// transaction goes to a new one (64 MiB). A transaction is never split, so
	// a file may exceed the size by one transaction.
	GenerationSize int64
	// Sync says when a commit is acknowledged and visible (SyncFull).
	Sync SyncMode
	// Shards is the number of logs, 1 to MaxShards, fixed when the store is
	// made; 0 means 1 then and later as many as there are. With several logs
	// their syncs go on side by side.
	Shards int
	// IndexCatchup says whether the positions of indexes are maintained, by which
	// generations are retired: "required", or "legacy" for a new store in which they are
	// not and nothing is ever retired. "" is required for a new store, and what an
	// existing one has. "required" activates them in a legacy timeline, for good, which
	// the catalog refuses once it has been compacted.
	IndexCatchup string
	// MemoryBudget bounds the estimate of what the tables take, in bytes; 0 is no
	// bound. BudgetSource is where it is from, for messages.
	MemoryBudget int64
	BudgetSource string
	// NoCompaction leaves the log as long as it grows, but for calls of Compact. Else
	// it is compacted in the background when it uses more than CompactFloor (as much as a
	// generation, 1 MiB at least and 4 MiB at most), and as much more than the last time
	// left, and more than CompactRatio (3) times what its live rows take, or when of what
	// it holds CompactGarbage (64 MiB, no less than a sixteenth of the live rows and no
	// more than a third of them) was superseded since the last time.
	NoCompaction   bool
	CompactFloor   int64
	CompactRatio   float64
	CompactGarbage int64
	// CompactRate is how many bytes in a second a compaction in the background reads
	// and writes (64 MiB); negative is no bound. Nothing holds back one that somebody
	// asked for, or that writers wait for: see Store.AwaitCompaction.
	CompactRate int64
	// Events, when set, is told what happens. It is called on the engine's own
	// goroutines and must neither block nor call the Store.
	Events func(Event)
	// CatalogSeam lets tests fail commits of the catalog.
	CatalogSeam *catalog.Seam
	// untilClose keeps replaced files until Close, for tests that must go the same way
	// each time: when a lease ends, is the collector's to say.
	untilClose bool
	// backupFS makes the file systems that a backup's files and its catalog go to,
	// for tests.
	backupFS func(dest string) (files, real vfs.FS)
	// indexing is called between blocks of the rows that an index is prepared of, for
	// tests.
	indexing func()
	// Now is the clock of commit records and events (time.Now).
	Now func() time.Time
}

// withDefaults fills what was left zero.
func (o Options) withDefaults() Options {
	if o.Timeline == "" {
		o.Timeline = catalog.MainTimeline
	}
	if o.GenerationSize == 0 {
		o.GenerationSize = DefaultGenerationSize
	}
	if o.CompactFloor == 0 {
		o.CompactFloor = max(leastCompactFloor, min(defaultCompactFloor, o.GenerationSize))
	}
	if o.CompactRatio == 0 {
		o.CompactRatio = defaultCompactRatio
	}
	if o.CompactGarbage == 0 {
		o.CompactGarbage = defaultCompactGarbage
	}
	if o.CompactRate == 0 {
		o.CompactRate = defaultCompactRate
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.FS == nil && o.Dir != "" {
		o.FS = vfs.OS(o.Dir)
	}
	return o
}

// Validate reports the first option that cannot be.
func (o Options) Validate() error {
	switch {
	case o.Memory && (o.Dir != "" || o.FS != nil):
		return errors.New("engine: Options.Memory goes with neither Dir nor FS")
	case o.Dir == "" && !o.Memory:
		return errors.New("engine: Options.Dir is empty")
	case o.ReadOnly && (o.Create || o.Memory):
		return errors.New("engine: Options.ReadOnly goes with neither Create nor Memory")
	case o.MemoryBudget < 0:
		return fmt.Errorf("engine: Options.MemoryBudget is %d: must not be negative", o.MemoryBudget)
	case o.IndexCatchup != "" && o.IndexCatchup != indexCatchupRequired && o.IndexCatchup != indexCatchupLegacy:
		return fmt.Errorf("engine: Options.IndexCatchup is %q: must be %s or %s", o.IndexCatchup, indexCatchupRequired, indexCatchupLegacy)
	case o.Sync < SyncFull || o.Sync > SyncOff:
		return fmt.Errorf("engine: Options.Sync is %d: must be SyncFull, SyncNormal or SyncOff", o.Sync)
	case o.Shards < 0 || o.Shards > MaxShards:
		return fmt.Errorf("engine: Options.Shards is %d: must be between 1 and %d", o.Shards, MaxShards)
	case o.CompactFloor < 0 || o.CompactGarbage < 0:
		return fmt.Errorf("engine: Options.CompactFloor is %d and CompactGarbage %d: must not be negative", o.CompactFloor, o.CompactGarbage)
	case o.CompactRatio != 0 && !(o.CompactRatio >= 1):
		return fmt.Errorf("engine: Options.CompactRatio is %v: must be at least 1", o.CompactRatio)
	case o.GenerationSize != 0 && (o.GenerationSize < minGenerationSize || o.GenerationSize > maxGenerationSize):
		return fmt.Errorf("engine: Options.GenerationSize is %d: must be between %d and %d",
			o.GenerationSize, int64(minGenerationSize), int64(maxGenerationSize))
	}
	return nil
}

// String lists the options that shape the store, for logs.
func (o Options) String() string {
	return fmt.Sprintf("dir=%q create=%t sync=%s generation_size=%d shards=%d", o.Dir, o.Create, o.Sync, o.GenerationSize, o.Shards)
}
