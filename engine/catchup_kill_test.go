package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

var (
	catchupKills    = flag.Int("catchup-kills", 0, "how often TestCatchupKill kills a process; 0 chooses a few")
	catchupKillSeed = flag.Uint64("catchup-kill-seed", 0, "seed of TestCatchupKill; 0 chooses one and prints it")
)

// killedRun is what the processes of one store have told so far.
type killedRun struct {
	killedStore
	acked [killedWriters]int64
	lsn   [killedWriters]map[int64]LSN // of each acknowledged transaction
	doing string                       // when it was killed, "" for nothing
}

// Processes are killed in the middle of compactions, index jobs, publications, retirement
// and collections, with writers beside them: whatever was acknowledged is there exactly
// once, every index has the rows that a scan has, no index is said to have caught up
// with rows that it does not cover, branch points are what they were, the check is clean,
// and no file is there that nothing names, nor behind a collection one that nothing needs.
func TestCatchupKill(t *testing.T) {
	seed := *catchupKillSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-catchup-kill-seed %d", seed)
	kills := *catchupKills
	switch {
	case kills == 0 && testing.Short():
		kills = 2
	case kills == 0:
		kills = 4
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	const each = 5 // kills of one store: one that only grew would be replayed for most of the time
	did, doing, start := map[string]int{}, map[string]int{}, time.Now()
	var k *killedRun
	commits := int64(0)
	for round := range kills {
		if round%each == 0 || kills <= each && round%2 == 0 {
			k = &killedRun{killedStore: killedStore{
				Dir: filepath.Join(t.TempDir(), "store"), Seed: rng.Uint64(), Shards: 1 + 2*rng.IntN(2), GenerationSize: 16 << 10 << rng.IntN(3),
			}}
			for w := range k.lsn {
				k.lsn[w] = map[int64]LSN{}
			}
		}
		k.Round = uint64(round)
		k.kill(t, time.Duration(rng.IntN(400))*time.Millisecond, round%8 == 7)
		doing[k.doing]++
		k.opened(t, did, rng.IntN(2) == 0)
		if t.Failed() {
			t.Fatalf("round %d of %+v, killed in %q", round, k.killedStore, k.doing)
		}
		if round%each == each-1 || round == kills-1 {
			for _, n := range k.acked {
				commits += n
			}
		}
	}
	t.Logf("%d kills, %d commits acknowledged; killed in %v; %v; %s", kills, commits, doing, did, time.Since(start).Round(time.Second))
	if kills >= 50 && (doing["compact"] == 0 || doing["index"] == 0 || doing["gc"] == 0 || did["held"] == 0) {
		t.Error("something was never killed")
	}
}

// kill runs the process, and kills it so long after it is ready, or after it has begun.
func (k *killedRun) kill(t *testing.T, after time.Duration, early bool) {
	t.Helper()
	text, err := json.Marshal(k.killedStore)
	must(t, err)
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self, "-test.run=^TestCatchupKillChild$")
	cmd.Env = append(os.Environ(), killedEnv+"="+string(text))
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	kill := func() { _ = cmd.Process.Kill() }
	if early {
		time.AfterFunc(after/4, kill)
	}
	k.doing = "open"
	others := ""
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		line, whole := strings.CutSuffix(lines.Text(), " .")
		line, told := strings.CutPrefix(line, "> ")
		if !whole || !told {
			others += lines.Text() + "\n" // cut by the kill, or an error
			continue
		}
		var w int
		var seq int64
		var lsn LSN
		switch what, rest, _ := strings.Cut(line, " "); what {
		case "ready":
			k.doing = ""
			if !early {
				time.AfterFunc(after, kill)
			}
		case "begin":
			k.doing = rest
		case "end":
			k.doing = ""
		case "did":
			if _, err := fmt.Sscan(rest, &w, &seq, &lsn); err != nil || seq != k.acked[w]+1 {
				t.Fatalf("the process says %q behind %d", line, k.acked[w])
			}
			k.acked[w], k.lsn[w][seq] = seq, lsn
		}
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() >= 0 {
		t.Fatalf("the process ended by itself: %v\n%s", err, others)
	}
}

// model is what the store holds when each writer got so far, and the newest commit of
// each row as far as it is known.
func (k *killedRun) model(seqs [killedWriters]int64, at LSN) (rows map[string]map[int64]string, lsn map[string]map[int64]LSN) {
	rows = map[string]map[int64]string{"k": {}, "a": {}, "c": {}}
	lsn = map[string]map[int64]LSN{"k": {}, "a": {}, "c": {}}
	for w, last := range seqs {
		for seq := int64(1); seq <= last; seq++ {
			for _, c := range k.changes(w, seq) {
				rows[c.table][c.id] = c.text
				if c.gone {
					delete(rows[c.table], c.id)
				}
				lsn[c.table][c.id] = at // of one that was not acknowledged: it is not newer
				if l := k.lsn[w][seq]; l != 0 {
					lsn[c.table][c.id] = l
				}
			}
		}
	}
	return rows, lsn
}

// reached reads how far each writer got.
func reached(t *testing.T, snap *Snapshot) (seqs [killedWriters]int64) {
	o := snap.Schema().Lookup("c")
	if o == nil {
		return seqs
	}
	table := snap.Table(o.Table.ID)
	must(t, table.Load(t.Context()))
	for _, e := range allRows(t, table) {
		n, err := strconv.ParseInt(e.Rec.Column(1).Bytes(), 10, 64)
		must(t, err)
		seqs[e.Rowid] = n
	}
	return seqs
}

// opened opens what the process left and looks at all of it.
func (k *killedRun) opened(t *testing.T, did map[string]int, on bool) {
	t.Helper()
	o := Options{Dir: k.Dir, Create: true, Shards: k.Shards, GenerationSize: k.GenerationSize, NoCompaction: true, Events: nothingFails(t)}
	s, err := Open(context.Background(), o)
	must(t, err)
	k.named(t, s.cat, "opened")
	seqs := reached(t, s.Durable())
	for w, seq := range seqs {
		if seq < k.acked[w] || seq > k.acked[w]+1 {
			t.Errorf("writer %d: acknowledged was %d, there is %d", w, k.acked[w], seq)
		}
	}
	r := &catchupRun{t: t, o: o, s: s, at: map[rowName]recordPlace{}, tables: map[int64]map[TableID]bool{}, did: did}
	var lsn map[string]map[int64]LSN
	r.rows, lsn = k.model(seqs, s.Durable().LSN())
	want := r.content()
	if got := r.stored(); got != want {
		t.Fatalf("%s\nwant:\n%s", got, want)
	}
	k.places(r, lsn)
	r.rules(true)
	points, err := s.BranchPoints(t.Context())
	must(t, err)
	for _, b := range points {
		snap, err := s.At(t.Context(), b.Name)
		must(t, err)
		then := *r
		then.rows, _ = k.model(reached(t, snap), 0)
		if got, want := r.storedIn(snap), then.content(); got != want {
			t.Errorf("branch point %s:\n%s\nwant:\n%s", b.Name, got, want)
		}
		did["branch points"]++
	}
	checkStore(t, s)
	if on && len(s.Durable().Schema().Tables()) > 0 {
		must(t, s.Compact(t.Context(), nil))
		must(t, indexJob(s, ""))
		r.rules(false)
		if got := r.stored(); got != want {
			t.Fatalf("compacted:\n%s\nwant:\n%s", got, want)
		}
		caughtUp(t, s)
		must(t, s.GC(t.Context(), nil))
		checkStore(t, s)
	}
	must(t, s.Close())
	for w, seq := range seqs {
		if k.acked[w] != seq {
			k.lsn[w][seq] = s.Durable().LSN() // or an older one
			k.acked[w] = seq
		}
	}
	if !on {
		return
	}
	cat, err := catalog.Open(t.Context(), catalog.Options{Dir: k.Dir})
	must(t, err)
	k.named(t, cat, "closed")
	list, err := cat.Garbage(t.Context(), 10)
	must(t, err)
	for _, x := range list {
		t.Errorf("closed: nothing needs the file %s", x.Path)
	}
	must(t, cat.Close(t.Context()))
}

// named fails the test for files that the catalog does not name.
func (k *killedRun) named(t *testing.T, cat *catalog.Catalog, when string) {
	t.Helper()
	found := objectsOnDisk(t, vfs.OS(k.Dir))
	list, err := cat.Objects(t.Context()) // names are recorded before their files are made
	must(t, err)
	named := map[string]bool{}
	for _, x := range list {
		named[x.Path] = x.State != "collected"
	}
	for _, path := range found {
		if _, err := vfs.OS(k.Dir).Stat(path); err == nil && !named[path] { // else it was collected just now
			t.Errorf("%s: nothing names the file %s", when, path)
		}
	}
}

// places finds the generation in which each row has its newest record.
func (k *killedRun) places(r *catchupRun, lsn map[string]map[int64]LSN) {
	st := stateOf(r.t, r.s)
	for name, rows := range lsn {
		o := r.s.Durable().Schema().Lookup(name)
		for id, l := range rows {
			n := rowName{o.Table.ID, id}
			_, live := r.rows[name][id]
			p := recordPlace{shard: shardOf(n.table, id, len(st.Shards)), gone: !live}
			var of []catalog.Generation // of the shard, in order
			for _, g := range slices.Concat(st.Inherited, st.Generations, st.Retained) {
				if g.ShardID == st.Shards[p.shard].ID {
					of = append(of, g)
				}
			}
			slices.SortFunc(of, func(a, b catalog.Generation) int { return int(a.Generation - b.Generation) })
			// Those that are not listed any more are compacted and retired: the first one
			// stands for them.
			p.in = 1
			sealed := LSN(0)
			for _, g := range of {
				if g.State == catalog.GenerationOpen {
					if l > sealed {
						p.in = uint64(g.Generation)
					}
					break
				}
				if LSN(g.FirstLSN) <= l {
					p.in = uint64(g.Generation)
				}
				sealed = LSN(g.LastLSN)
			}
			r.at[n] = p
		}
	}
}
