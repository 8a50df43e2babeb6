package sqltests

import "testing"

// TestMetamorphicFollows runs lists whose faults and crashes leave plain SQLite
// something to follow.
func TestMetamorphicFollows(t *testing.T) {
	const begin = `
		0 exec CREATE TABLE t0(k INTEGER PRIMARY KEY, a)
		0 exec INSERT INTO t0 VALUES(1, 1)
		0 checkpoint
`
	for _, c := range []struct {
		name, list string
		set        metaSet
		happened   func(metaStats) bool
	}{
		{"a sync fails", "0 fault sync 1\n0 exec INSERT INTO t0 VALUES(2, 2)\n0 exec INSERT INTO t0 VALUES(3, 3)", nil,
			func(s metaStats) bool { return s.poisoned == 1 && s.kept == 1 }},
		{"and loses the commit", "0 fault sync 1 crash\n0 exec INSERT INTO t0 VALUES(2, 2)\n0 exec INSERT INTO t0 VALUES(3, 3)", metaSet{"@disk": "memory"},
			func(s metaStats) bool { return s.poisoned == 1 && s.kept+s.lost == 1 }},
		{"a write is torn", "0 fault torn 1\n0 exec BEGIN\n0 exec INSERT INTO t0 VALUES(2, 2)\n0 exec COMMIT\n0 exec INSERT INTO t0 VALUES(3, 3)", nil,
			func(s metaStats) bool { return s.poisoned == 1 && s.lost == 1 }},
		{"no space for a statement", "0 fault full 1 sticky\n0 exec INSERT INTO t0 VALUES(2, zeroblob(70000))", nil,
			func(s metaStats) bool { return s.refused == 1 && s.poisoned == 0 }},
		{"no space for a transaction", "0 fault full 1 sticky\n0 exec BEGIN\n0 exec INSERT INTO t0 VALUES(2, zeroblob(70000))\n0 exec COMMIT\n0 exec INSERT INTO t0 VALUES(3, 3)", nil,
			func(s metaStats) bool { return s.refused == 1 && s.poisoned == 0 }},
		{"nor through the API", "0 fault full 1 sticky\n0 exec BEGIN\n0 exec INSERT INTO t0 VALUES(2, zeroblob(70000))\n0 exec COMMIT\n0 exec INSERT INTO t0 VALUES(3, 3)", metaSet{"@begin": "api"},
			func(s metaStats) bool { return s.refused == 1 && s.poisoned == 0 }},
		{"no space for a checkpoint", "0 fault space 0\n0 exec INSERT INTO t0 VALUES(2, 2)\n0 checkpoint", nil,
			func(s metaStats) bool { return s.refused == 1 }},
		{"the open fails", "0 fault read 1 sticky\n0 reopen", nil,
			func(s metaStats) bool { return s.faults > 0 }},
		{"commits that were not synced", "0 exec INSERT INTO t0 VALUES(2, 2)\n0 exec INSERT INTO t0 VALUES(3, 3)\n0 crash 0", metaSet{"sync": "off", "@disk": "memory"},
			func(s metaStats) bool { return s.taken == 2 }},
		{"commits that were", "0 exec INSERT INTO t0 VALUES(2, 2)\n0 checkpoint\n0 crash 0", metaSet{"sync": "off", "@disk": "memory"},
			func(s metaStats) bool { return s.taken == 0 }},
		{"no space for a compaction", "0 fault space 0\n0 exec INSERT INTO t0 VALUES(2, 2)\n0 compact", nil,
			func(s metaStats) bool { return s.refused > 0 && s.poisoned == 0 }},
		{"a compaction cannot sync, and is tried again", "0 exec INSERT INTO t0 VALUES(2, 2)\n0 checkpoint\n0 fault sync 1\n0 compact\n0 reopen", nil,
			func(s metaStats) bool { return s.refused == 1 && s.poisoned == 0 }},
		{"commits that were compacted", "0 exec INSERT INTO t0 VALUES(2, 2)\n0 compact\n0 crash 0", metaSet{"sync": "off", "@disk": "memory"},
			func(s metaStats) bool { return s.taken == 0 }},
		{"a read of a row in a file", "0 fault read 1\n0 rows SELECT * FROM t0\n0 dump", metaSet{"resident": "keys"},
			func(s metaStats) bool { return s.refused == 1 }},
		{"of rows that are open", "0 exec INSERT INTO t0(k, a) VALUES(2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7), (8, 8), (9, 9), (10, 10)\n" +
			"0 checkpoint\n0 open SELECT * FROM t0 ORDER BY k\n0 fault read 1\n0 dump", metaSet{"resident": "keys"},
			func(s metaStats) bool { return s.refused == 1 }},
		{"a Commit that foreign keys refuse", "0 exec CREATE TABLE c0(k INTEGER PRIMARY KEY, c REFERENCES t0 DEFERRABLE INITIALLY DEFERRED)\n" +
			"0 exec BEGIN\n0 exec INSERT INTO c0 VALUES(1, 7)\n0 exec COMMIT\n0 exec INSERT INTO t0(k) VALUES(7)\n0 exec COMMIT\n0 dump", metaSet{"@begin": "api"},
			func(s metaStats) bool { return s == (metaStats{crashes: 1}) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := parseMetaList(begin + c.list)
			if err != nil {
				t.Fatal(err)
			}
			_, stats, d := diffMeta(l, c.set, metaDir(t))
			if d != nil {
				t.Fatal(d.what)
			}
			if !c.happened(stats) {
				t.Error(stats)
			}
		})
	}
}

// A row that refers to nothing is found, also where no other operation shows it.
func TestMetamorphicFindsForeignKeys(t *testing.T) {
	l, err := parseMetaList(`0 exec CREATE TABLE p0(k INTEGER PRIMARY KEY, a)
		0 exec CREATE TABLE c0(k INTEGER PRIMARY KEY, c REFERENCES p0 ON DELETE CASCADE)
		0 exec INSERT INTO p0 VALUES(1, 1)
		0 exec INSERT INTO c0 VALUES(1, 1)
		0 exec DELETE FROM p0
		0 check`)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, d := diffMeta(l, metaSet{"foreign_keys": "off"}, metaDir(t)); d == nil || d.at != len(l.ops)-1 {
		t.Errorf("%+v", d)
	}
	if _, _, d := diffMeta(l, metaSet{"@modes": "mixed"}, metaDir(t)); d != nil {
		t.Errorf("%+v", d)
	}
}

// A commit that was acknowledged and is not there is found, when it must be
// there.
func TestMetamorphicFindsLoss(t *testing.T) {
	l, err := parseMetaList("0 exec CREATE TABLE t0(k)\n0 exec INSERT INTO t0 VALUES(1)\n0 crash 0")
	if err != nil {
		t.Fatal(err)
	}
	set := metaSet{"sync": "off", "@disk": "memory", "@lie": "off→full"}
	if _, _, d := diffMeta(l, set, metaDir(t)); d == nil || d.at != 2 {
		t.Errorf("%+v", d)
	}
}
