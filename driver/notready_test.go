package driver

import "testing"

// A connection that does not wait for others (busy_timeout=0) and has nobody
// beside it never meets a lock, however small the files of the log are.
func TestNoWaitAlone(t *testing.T) {
	db := openTest(t, Config{BusyTimeout: -1, GenerationSize: 1 << 10})
	mustExec(t, db, "CREATE TABLE t(a TEXT)")
	for range 200 {
		mustExec(t, db, "INSERT INTO t VALUES(hex(randomblob(300)))")
	}
}
