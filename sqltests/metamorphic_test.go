package sqltests

import (
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

var (
	metaSeed   = flag.Uint64("metamorphic.seed", 0, "seed of the first round of TestMetamorphic; 0 takes -seed, or chooses one")
	metaRounds = flag.Int("metamorphic.rounds", 0, "rounds of TestMetamorphic; 0 is the usual number")
	metaOpsArg = flag.String("metamorphic.ops", "", "operations in a list of TestMetamorphic, or a file with a list to repeat; -ops is the same")
	metaSetArg = flag.String("metamorphic.options", "", "option set that repeats a list, as a failure prints it; drawn ones without it")
)

const (
	metaOps    = 120 // operations in a list
	metaChosen = 3   // option sets of a list, with the defaults
)

func init() { flag.StringVar(metaOpsArg, "ops", "", "short for -metamorphic.ops") }

// TestMetamorphic runs lists of random operations under several option sets each.
// What can be seen of them must be what plain SQLite shows, under each set. A list
// that differs is made as short as it can be and printed, with the option set;
// -metamorphic.ops=FILE repeats it.
//
// Crashes and faults of the disk are operations, too. Where a store may choose
// what it shows after one (a commit of unknown outcome, and without sync=full any
// of the last commits), plain SQLite follows.
func TestMetamorphic(t *testing.T) {
	options := legalMetaOptions(t)
	rounds, ops, seed := 5, metaOps, *metaSeed
	if testing.Short() {
		rounds = 1
	}
	if *metaRounds > 0 {
		rounds = *metaRounds
	}
	if seed == 0 {
		seed = *seedFlag
	}
	if seed == 0 {
		seed = uint64(rand.Uint32())
	}
	var saved *metaList
	if *metaOpsArg != "" {
		if n, err := strconv.Atoi(*metaOpsArg); err == nil {
			ops = n
		} else {
			l := readMetaFile(t, *metaOpsArg)
			saved, rounds = &l, max(*metaRounds, 1)
		}
	}
	done, failed, sets := 0, 0, map[string]bool{}
	var stats metaStats
	for round := range rounds {
		seed := seed + uint64(round)
		rnd := rand.New(rand.NewPCG(seed, 0))
		var list metaList
		if saved != nil {
			list = *saved
		} else {
			list = drawMetaList(seed, ops)
		}
		chosen := metaSets(options, rnd, metaChosen)
		if *metaSetArg != "" {
			s, err := parseMetaSet(*metaSetArg)
			if err != nil {
				t.Fatal(err)
			}
			chosen = []metaSet{s}
		}
		want, some, problem := compareMeta(t, list, chosen)
		stats.add(some)
		if problem != "" {
			t.Fatalf("seed %d (-metamorphic.seed=%d -metamorphic.rounds=1 -metamorphic.ops=%d)\n%s", seed, seed, ops, problem)
		}
		for _, s := range chosen {
			sets[s.String()] = true
		}
		for i, o := range list.ops {
			done++
			if strings.HasPrefix(want[i], "error") && o.verb != metaDump {
				failed++
			}
		}
	}
	t.Logf("seed %d: %d rounds, %d operations (%d errors) under each of %d option sets, %d different ones; %s", seed, rounds, done, failed, metaChosen, len(sets), stats)
}

// metaDir is in memory where the system offers that: lists sync and open often, and
// what a kill leaves does not depend on the disk.
func metaDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "tidemark")
	if err != nil {
		return tempDir(t)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func readMetaFile(t *testing.T, name string) metaList {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		b, err = os.ReadFile("../" + name) // as seen from the root of the repository
	}
	if err != nil {
		t.Fatal(err)
	}
	l, err := parseMetaList(string(b))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// compareMeta runs a list under each set. It returns the first history, and what
// is wrong with the reduced list when one differs.
func compareMeta(t *testing.T, list metaList, sets []metaSet) (want []string, stats metaStats, problem string) {
	t.Helper()
	dir := metaDir(t)
	for i, set := range sets {
		w, s, d := diffMeta(list, set, dir)
		stats.add(s)
		if d != nil {
			return want, stats, reportMeta(list, set, sets, dir, d)
		}
		if i == 0 {
			want = w
		}
	}
	return want, stats, ""
}
