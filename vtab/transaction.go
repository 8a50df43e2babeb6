package vtab

import (
	"cmp"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
)

// SQLite calls each virtual table of a transaction; the engine has one
// transaction a connection. So every callback addresses the connection's, and
// repeats do nothing: the first xBegin, xSync, xCommit, xRollback and the first
// xSavepoint of a number count.
//
//   - xSync does all that may fail, and may come more than once: another table
//     or an attached file can refuse the commit, which is then tried again.
//   - xCommit comes only when nothing can fail any more.
//   - After xSync a refusing commit hook or another module still brings
//     xRollback.
type txState struct {
	begun bool        // xBegin came for the transaction that is set
	base  engine.Mark // where it stood then
	marks []savepoint // by rising number
}

// savepoint is a savepoint of SQLite: they nest, and statements have some too.
type savepoint struct {
	number int32
	mark   engine.Mark
}

// failTx reports an error of a transaction callback. Its code stays in the
// side channel, see refuse.
func (t *table) failTx(tls *libc.TLS, p uintptr, err error) int32 {
	t.c.note(err)
	setMessage(tls, &(*cTable)(unsafe.Pointer(p)).base, err.Error())
	return lib.SQLITE_ERROR
}

// txBegin is xBegin: a statement is about to write to the table.
func txBegin(tls *libc.TLS, p uintptr) (rc int32) {
	t := tableAt(p)
	t.traced("Begin", -1)
	c := t.c
	defer c.guard("begin", func(err error) { rc = t.failTx(tls, p, err) })
	if c.tx == nil {
		var err error = errorf(lib.SQLITE_BUSY, "database is locked")
		if c.OnUnlockedWrite != nil {
			err = c.OnUnlockedWrite()
		}
		if c.tx == nil {
			return t.failTx(tls, p, cmp.Or(err, error(errNoTransaction)))
		}
	}
	t.late = c.txs.begun
	if !c.txs.begun {
		c.txs.begun, c.txs.base = true, c.tx.Mark()
		c.txs.marks = c.txs.marks[:0]
	}
	return lib.SQLITE_OK
}

// txSync is xSync.
func txSync(tls *libc.TLS, p uintptr) (rc int32) {
	t := tableAt(p)
	t.traced("Sync", -1)
	c := t.c
	defer c.guard("sync", func(err error) { rc = t.failTx(tls, p, err) })
	if c.tx == nil {
		return lib.SQLITE_OK
	}
	if c.CommitError() != nil || c.Violated() {
		c.last = nil // OR FAIL ended the statement before
		return t.failTx(tls, p, errForeignKey(lib.SQLITE_CONSTRAINT_FOREIGNKEY))
	}
	if err := c.tx.Prepare(); err != nil {
		return t.failTx(tls, p, err)
	}
	return lib.SQLITE_OK
}

// txCommit is xCommit. SQLite ignores its result.
func txCommit(tls *libc.TLS, p uintptr) (rc int32) {
	t := tableAt(p)
	t.traced("Commit", -1)
	c := t.c
	defer c.guard("commit", func(err error) { rc = t.failTx(tls, p, err) })
	if c.tx == nil || !c.txs.begun {
		return lib.SQLITE_OK
	}
	tx := c.tx
	c.endTx()
	lsn := tx.Commit()
	c.committed, c.hasCommit = max(c.committed, lsn), true
	return lib.SQLITE_OK
}

// txRollback is xRollback.
func txRollback(tls *libc.TLS, p uintptr) (rc int32) {
	t := tableAt(p)
	t.traced("Rollback", -1)
	c := t.c
	defer c.guard("rollback", func(err error) { rc = t.failTx(tls, p, err) })
	if c.tx == nil || !c.txs.begun {
		return lib.SQLITE_OK
	}
	tx := c.tx
	c.endTx()
	tx.Rollback()
	return lib.SQLITE_OK
}

// endTx forgets the transaction before it is ended: nothing must use it after
// that, also when ending it panics.
func (c *Conn) endTx() {
	c.dropHandles()
	c.tx = nil
	c.txs = txState{marks: c.txs.marks[:0]}
}

// txSavepoint is xSavepoint. A table that joins late is told the innermost open
// number. If no table knew that number, the savepoint is older than the
// engine's transaction, and its state is the one at the first xBegin.
func txSavepoint(tls *libc.TLS, p uintptr, n int32) (rc int32) {
	t := tableAt(p)
	t.traced("Savepoint", n)
	c := t.c
	defer c.guard("savepoint", func(err error) { rc = t.failTx(tls, p, err) })
	late := t.late
	t.late = false
	if c.tx == nil {
		return lib.SQLITE_OK
	}
	s := &c.txs
	k := len(s.marks)
	for k > 0 && s.marks[k-1].number > n {
		k--
	}
	if k > 0 && s.marks[k-1].number == n {
		return lib.SQLITE_OK
	}
	mark := s.base
	if !late {
		mark = c.tx.Mark()
	}
	s.marks = append(s.marks, savepoint{})
	copy(s.marks[k+1:], s.marks[k:])
	s.marks[k] = savepoint{n, mark}
	return lib.SQLITE_OK
}

// txRelease is xRelease: number n and all above it are gone.
func txRelease(tls *libc.TLS, p uintptr, n int32) int32 {
	t := tableAt(p)
	t.traced("Release", n)
	s := &t.c.txs
	k := len(s.marks)
	for k > 0 && s.marks[k-1].number >= n {
		k--
	}
	s.marks = s.marks[:k]
	return lib.SQLITE_OK
}

// txRollbackTo is xRollbackTo: n stays. A number nobody was told of is older
// than the engine's transaction.
func txRollbackTo(tls *libc.TLS, p uintptr, n int32) (rc int32) {
	t := tableAt(p)
	t.traced("RollbackTo", n)
	c := t.c
	defer c.guard("rollback to", func(err error) { rc = t.failTx(tls, p, err) })
	if c.tx == nil || !c.txs.begun {
		return lib.SQLITE_OK
	}
	s := &c.txs
	for k, sp := range s.marks {
		if sp.number == n {
			c.tx.RollbackTo(sp.mark)
			s.marks = s.marks[:k+1]
			return lib.SQLITE_OK
		}
	}
	c.tx.RollbackTo(s.base)
	s.marks = s.marks[:0]
	return lib.SQLITE_OK
}
