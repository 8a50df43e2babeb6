package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// A Check that runs while a branch point is read for its restore keeps the restore
// waiting, and no writer.
func TestWritersBesideCheckAndRestore(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	s := filled(t, Options{FS: f, GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)})
	branch(t, s, "bp")
	want := contentOf(t, s.Durable())
	churn(t, s, 1)
	must(t, s.Checkpoint(t.Context(), nil))
	quiet(t, s)

	var armed atomic.Bool
	reading, read := make(chan struct{}), make(chan struct{})
	f.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpRead && armed.CompareAndSwap(true, false) {
			close(reading)
			<-read
		}
		return nil
	})
	armed.Store(true)
	restored := make(chan error, 1)
	go func() {
		_, err := s.RestoreTo(context.Background(), "bp")
		restored <- err
	}()
	<-reading
	wait(t, s, update(t, s, put("a", 60, 60, "to be sealed")))
	checking, checked, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		first := true
		ended <- s.Check(context.Background(), func(f Finding) { t.Error(f) }, func(_, _ int64) {
			if first {
				first = false
				close(checking)
				<-checked
			}
		})
	}()
	<-checking
	close(read)
	for i := range int64(100) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		tx, err := s.Begin(ctx)
		cancel()
		if err != nil {
			t.Errorf("commit %d: %v", i, err)
			break
		}
		must(t, put("a", 61, i, "meanwhile")(tx))
		must(t, tx.Prepare())
		wait(t, s, tx.Commit())
		time.Sleep(time.Millisecond)
	}
	close(checked)
	must(t, <-ended)
	must(t, <-restored)
	if got := contentOf(t, s.Durable()); got != want {
		t.Errorf("restored:\n%s\nwant:\n%s", got, want)
	}
	checkStore(t, s)
}
