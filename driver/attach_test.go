package driver

import (
	"path/filepath"
	"testing"
)

// The catalog can be read by bare names that nobody else uses, and not written.
func TestCatalogIsReadable(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, "CREATE TABLE t(a)")
	if n := one[int](t, db, "SELECT count(*) FROM live_object_roots"); n == 0 {
		t.Error("no live object roots")
	}
	expect(t, db, "t", "SELECT name FROM catalog.tables WHERE name='t'")
	mustFail(t, db, ErrReadOnly, "DELETE FROM catalog.objects")
	mustFail(t, db, ErrGeneric, "DELETE FROM objects")
	mustExec(t, db, "CREATE TABLE objects(mine); INSERT INTO objects VALUES('x')")
	expect(t, db, "x", "SELECT mine FROM objects")
	mustExec(t, db, "DROP TABLE objects")
	if n := one[int](t, db, "SELECT count(*) FROM objects"); n == 0 {
		t.Error("the catalog's table is hidden")
	}
}

// An attached file is ordinary SQLite, apart from the transaction of the store.
func TestAttachedFile(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, "CREATE TABLE t(a); INSERT INTO t VALUES(1)")
	c := testConn(t, db)
	mustExec(t, c, "ATTACH ? AS side", filepath.Join(t.TempDir(), "side.db"))
	mustExec(t, c, "CREATE TABLE side.s(a UNIQUE); INSERT INTO side.s SELECT a FROM t; INSERT INTO s VALUES(2) ON CONFLICT DO NOTHING")
	expect(t, c, 3, "SELECT sum(a) FROM s")
	expect(t, c, 4, "SELECT sum(s.a)+t.a FROM s, t")
	mustExec(t, c, "BEGIN; INSERT INTO t VALUES(5)")
	expect(t, c, 2, "SELECT count(*) FROM s")
	mustFail(t, c, ErrGeneric, "INSERT INTO s VALUES(5)")
	mustFail(t, c, ErrGeneric, "CREATE TABLE side.x(a)")
	mustExec(t, c, "COMMIT; BEGIN; INSERT INTO s VALUES(6)")
	mustFail(t, c, ErrGeneric, "INSERT INTO t VALUES(6)")
	mustFail(t, c, ErrGeneric, "CREATE TABLE x(a)")
	mustExec(t, c, "COMMIT")
	expect(t, c, "1,5", "SELECT group_concat(a) FROM t")
	expect(t, c, 3, "SELECT count(*) FROM side.s")
	expect(t, c, "a", "SELECT name FROM pragma_table_info('s')")
	mustExec(t, c, "DETACH side")
	mustFail(t, c, ErrGeneric, "INSERT INTO s VALUES(7)")
	var dir string
	if err := c.Raw(func(dc any) error { dir = dc.(*conn).sh.inst.key; return nil }); err != nil {
		t.Fatal(err)
	}
	mustFail(t, c, ErrReadOnly, "ATTACH ? AS mine", filepath.Join(dir, catalogFile))
}
