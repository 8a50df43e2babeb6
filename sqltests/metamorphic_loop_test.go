package sqltests

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

var (
	metaLoopEvery = flag.Int("metamorphic.loop-every", 0, "which faults and crashes the loops over foreign keys take: each of them with 1; 0 is the usual number")
	metaLoopFirst = flag.Int("metamorphic.loop-first", 0, "number of the first one; 0 draws one")
)

// foreignSetup and foreignWork are one program: tables that refer to each other
// through several steps, by all kinds of actions, then statements each of which
// changes rows of several of them.
const (
	foreignSetup = `
		0 exec CREATE TABLE p0(k INTEGER PRIMARY KEY, a, b, c, d, UNIQUE(a, b))
		0 exec CREATE TABLE p1(k INT NOT NULL PRIMARY KEY, a, b, c, d REFERENCES p1(k) ON DELETE CASCADE)
		0 exec CREATE TABLE c0(k INTEGER PRIMARY KEY, a, b, c INT REFERENCES p0(k) ON DELETE CASCADE ON UPDATE CASCADE, d REFERENCES p1(k) ON DELETE SET NULL)
		0 exec CREATE TABLE c1(k INTEGER PRIMARY KEY, a, b, c INT REFERENCES c0(k) ON DELETE CASCADE ON UPDATE CASCADE, d DEFAULT 9 REFERENCES p0(k) ON DELETE SET DEFAULT DEFERRABLE INITIALLY DEFERRED, FOREIGN KEY(a, b) REFERENCES p0(a, b) ON UPDATE CASCADE ON DELETE SET NULL)
		0 exec CREATE INDEX i0 ON c0(c)
		0 exec INSERT INTO p0(k, a, b) VALUES(1, 1, 1), (2, 1, 2), (3, 2, 1), (4, 2, 2), (9, 9, 9)
		0 exec INSERT INTO p1(k, d) VALUES(1, NULL), (2, 1), (3, 2), (4, NULL)
		0 exec INSERT INTO c0(k, c, d) VALUES(1, 1, 1), (2, 1, 2), (3, 2, 3), (4, 3, 4), (5, 4, 4)
		0 exec INSERT INTO c1(k, a, b, c, d) VALUES(1, 1, 1, 1, 1), (2, 1, 2, 2, 2), (3, 2, 1, 3, 3), (4, NULL, NULL, 4, 4), (5, 2, 2, 5, 9)
`
	foreignWork = `
		0 exec DELETE FROM p0 WHERE k = 1
		0 exec UPDATE p0 SET k = k + 10, b = b + 1 WHERE k IN (2, 3)
		0 exec DELETE FROM p1 WHERE k = 1
		0 exec BEGIN
		0 exec INSERT INTO c1(k, d) VALUES(20, 77)
		0 exec UPDATE c0 SET k = k + 100
		0 exec COMMIT
		0 exec INSERT INTO p0(k) VALUES(77)
		0 exec COMMIT
		0 checkpoint
		0 compact
		0 exec SAVEPOINT s
		0 exec DELETE FROM p0
		0 exec ROLLBACK TO s
		0 exec DELETE FROM p0 WHERE k = 12
		0 exec RELEASE s
		0 compact
		0 exec DELETE FROM c0 WHERE k > 1
		0 exec DELETE FROM p0 WHERE k <> 9
`
)

// foreignLoopSets are the stores of the loops, on a disk that loses what was not
// synced.
var foreignLoopSets = []metaSet{
	{"@disk": "memory", "@modes": "mixed", "generation_size": "1KiB", "@pool": "own"},
	{"@disk": "memory", "resident": "keys", "shards": "3", "sync": "normal", "@pool": "own"},
	{"@disk": "memory", "@modes": "mixed", "shards": "3", "sync": "off", "@pool": "own"},
}

func foreignProgram(t *testing.T, text string) metaList {
	t.Helper()
	l, err := parseMetaList(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// metaStride says where a loop begins and how far its steps are.
func metaStride(usual, short int) (first, stride int) {
	if stride = usual; testing.Short() {
		stride = short
	}
	if *metaLoopEvery > 0 {
		stride = *metaLoopEvery
	}
	if *metaLoopFirst > 0 {
		return *metaLoopFirst, stride
	}
	return 1 + rand.IntN(stride), stride
}

// TestMetamorphicForeignKeyFaults fails each operation of the disk in turn while
// statements act through foreign keys, which poisons the store and leaves what a
// crash at that moment would, or is refused. What is visible, and what is there
// after the store was opened again, is what plain SQLite had after one of the
// statements, in all tables alike; and no row refers to nothing.
func TestMetamorphicForeignKeyFaults(t *testing.T) {
	var all metaStats
	for _, set := range foreignLoopSets {
		for _, kind := range []string{"mutating %d crash", "mutating %d after crash", "any %d sticky", "torn %d crash"} {
			t.Run(fmt.Sprint(set, " ", kind), func(t *testing.T) {
				n, stride := metaStride(40, 150)
				runs, stats := 0, metaStats{}
				for ; ; n += stride {
					l := foreignProgram(t, foreignSetup+"0 fault "+fmt.Sprintf(kind, n)+foreignWork)
					_, some, d := diffMeta(l, set, metaDir(t))
					if d != nil {
						t.Fatalf("fault %d (-metamorphic.loop-first=%d): %s", n, n, d.what)
					}
					if some.faults == 0 {
						break
					}
					runs++
					stats.add(some)
				}
				all.add(stats)
				t.Logf("%d faults of at most %d: %s", runs, n-1, stats)
			})
		}
	}
	if all.poisoned == 0 || all.crashes == 0 {
		t.Errorf("the faults did nothing: %s", all)
	}
}

// TestMetamorphicForeignKeyCrashes crashes between any two of the statements, and
// takes any of what the disk may keep of them.
func TestMetamorphicForeignKeyCrashes(t *testing.T) {
	for _, set := range foreignLoopSets {
		t.Run(set.String(), func(t *testing.T) {
			setup, work := foreignProgram(t, foreignSetup).ops, foreignProgram(t, foreignWork).ops
			n, stride := metaStride(25, 70)
			var stats metaStats
			for ; n <= (len(work)+1)*metaCrashes; n += stride {
				at := (n - 1) / metaCrashes
				crash := metaOp{verb: metaCrash, text: fmt.Sprint((n - 1) % metaCrashes)}
				l := metaList{1, slices.Concat(setup, work[:at], []metaOp{crash}, work[at:])}
				_, some, d := diffMeta(l, set, metaDir(t))
				if d != nil {
					t.Fatalf("crash %d (-metamorphic.loop-first=%d): %s", n, n, d.what)
				}
				stats.add(some)
			}
			if set["sync"] == "" && stats.taken > 0 {
				t.Errorf("%d acknowledged commits were taken back", stats.taken)
			}
			t.Log(stats)
		})
	}
}
