package sqltests

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestMetamorphicText writes drawn lists and option sets and reads them back.
func TestMetamorphicText(t *testing.T) {
	for seed := range uint64(20) {
		want := drawMetaList(seed+1, 60)
		got, err := parseMetaList("# a comment\n\n" + want.String())
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d:\n%s\nread back as\n%s", seed, want, got)
		}
		if again := drawMetaList(seed+1, 60); !reflect.DeepEqual(again, want) {
			t.Fatalf("seed %d draws two lists", seed)
		}
	}
	for _, bad := range []string{"0 nothing", "1 dump", "sessions 2\n2 dump", "x dump", "0 rows:sorted SELECT 1", "0 fault flood 1", "0 fault sync", "0 fault sync 1 twice"} {
		if l, err := parseMetaList(bad); err == nil {
			t.Errorf("%q is read as %v", bad, l)
		}
	}
	for _, text := range []string{"defaults", "generation_size=1KiB @text=kept"} {
		if s, err := parseMetaSet(text); err != nil || s.String() != text {
			t.Errorf("%q is read as %q, %v", text, s, err)
		}
	}
	if s, err := parseMetaSet("generation_size=3KiB"); err == nil {
		t.Errorf("read as %v", s)
	}
}

// TestMetamorphicReduces reduces lists that fail for as long as they have some
// operations in order.
func TestMetamorphicReduces(t *testing.T) {
	for seed := range uint64(10) {
		l := drawMetaList(seed+1, 80)
		n := len(l.ops)
		need := []metaOp{l.ops[n/7], l.ops[n/2], l.ops[n-1]}
		fails := func(l metaList) bool {
			rest := need
			for _, o := range l.ops {
				if len(rest) > 0 && reflect.DeepEqual(o, rest[0]) {
					rest = rest[1:]
				}
			}
			return len(rest) == 0
		}
		if got := reduceMeta(l, time.Minute, fails); !reflect.DeepEqual(got.ops, need) {
			t.Errorf("seed %d: %v", seed, got)
		}
	}
}

// TestMetamorphicReducesRows leaves out rows of VALUES but one that is needed.
func TestMetamorphicReducesRows(t *testing.T) {
	for _, need := range []string{"(1, 'a')", "(2, ')')", "(3, NULL)"} {
		l, err := parseMetaList("0 exec INSERT INTO t VALUES(1, 'a'), (2, ')'), (3, NULL)")
		if err != nil {
			t.Fatal(err)
		}
		got := reduceMeta(l, time.Minute, func(l metaList) bool { return len(l.ops) == 1 && strings.Contains(l.ops[0].text, need) })
		if want := "INSERT INTO t VALUES" + need; got.ops[0].text != want {
			t.Errorf("%q, want %q", got.ops[0].text, want)
		}
	}
}

// TestMetamorphicFinds gives the store other texts than plain SQLite: each must
// be found, told where it shows, and reduced to what is needed for it.
func TestMetamorphicFinds(t *testing.T) {
	list, err := parseMetaList(`sessions 2
		0 exec CREATE TABLE t0(k INTEGER PRIMARY KEY, a UNIQUE, b, c, d)
		0 exec CREATE TABLE w0(k INT PRIMARY KEY, a, b, c, d) WITHOUT ROWID
		0 exec INSERT INTO t0(k, a) VALUES(1, 1), (2, 2)
		0 exec INSERT OR IGNORE INTO t0(k, a) VALUES(?1, ?2) <- 4, 1
		1 check
		1 exec SAVEPOINT s
		1 exec INSERT INTO t0(a) VALUES('x')
		1 exec ROLLBACK TO s
		1 exec RELEASE s
		0 rows SELECT k FROM t0 ORDER BY k DESC
		1 open SELECT k FROM t0 ORDER BY k
		0 exec BEGIN
		0 exec UPDATE t0 SET a = 7 WHERE k = 1
		1 drain
		0 exec ROLLBACK
		0 crash
		0 dump`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		lie   string
		most  int    // operations that are left
		shown string // the operation that differs
	}{
		{"OR IGNORE→OR REPLACE", 3, "0 exec INSERT OR IGNORE INTO t0"},
		{"ROLLBACK TO s→SAVEPOINT q", 5, "0 dump"},
		{" DESC→", 3, "0 rows SELECT k FROM t0 ORDER BY k DESC"},
		{"a UNIQUE→a", 1, "0 dump"},
	} {
		set := metaSet{"@lie": c.lie, "@text": "kept"}
		if testing.Short() { // found, not reduced
			if _, _, d := diffMeta(list, set, metaDir(t)); d == nil {
				t.Errorf("%s: not found", c.lie)
			}
			continue
		}
		sets := []metaSet{{}, set}
		_, _, problem := compareMeta(t, list, sets)
		before, text, _ := strings.Cut(problem, "sessions ")
		reduced, err := parseMetaList("sessions " + text)
		if err != nil || problem == "" {
			t.Errorf("%s: %q, %v", c.lie, problem, err)
			continue
		}
		if len(reduced.ops) > c.most || !strings.HasPrefix(before, c.shown) {
			t.Errorf("%s: %s", c.lie, problem)
		}
		for _, want := range []string{"differs under\n#   @lie=" + c.lie + "\n", "drawn under\n#   @text=kept @lie=" + c.lie + "\n", "and not under\n#   defaults\n"} {
			if !strings.Contains(before, want) {
				t.Errorf("%s: no %q in: %s", c.lie, want, before)
			}
		}
	}
	if _, _, problem := compareMeta(t, list, []metaSet{{}, {"@begin": "api", "@pool": "1"}}); problem != "" {
		t.Error(problem)
	}
}
