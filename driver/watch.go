package driver

import (
	"context"
	"sync"
	"time"
)

// watch interrupts a statement when its context ends. A context that cannot end
// is not watched and costs nothing.
//
// SQLite interrupts connections, not statements. So the interrupt is made only
// while the watched statement is being stepped, when nothing else runs on the
// connection, and taken back when that step has returned; a context that ends
// between two steps is seen by the next one.
type watch struct {
	c    *conn
	ctx  context.Context
	stop func() bool

	mu       sync.Mutex
	stepping bool
	fired    bool        // an interrupt was made
	again    *time.Timer // makes the next one
}

// interruptEvery is the pause between interrupts of one step.
const interruptEvery = time.Millisecond

// watchContext starts to watch ctx; it returns nil when there is nothing to
// watch.
func (c *conn) watchContext(ctx context.Context) *watch {
	if ctx.Done() == nil {
		return nil
	}
	w := &watch{c: c, ctx: ctx}
	w.stop = context.AfterFunc(ctx, w.cancel)
	return w
}

// cancel runs when the context ends, and then again until the step has returned:
// SQLite forgets an interrupt that comes before a statement has really begun.
func (w *watch) cancel() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stepping {
		w.fired = true
		w.c.db.Interrupt()
		w.again = time.AfterFunc(interruptEvery, w.cancel)
	}
}

// enter is called before a step; it returns the error of a context that has
// ended.
func (w *watch) enter() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.ctx.Err(); err != nil { // cancel has run, or finds nothing to interrupt
		return err
	}
	w.stepping = true
	return nil
}

// leave is called after the step.
func (w *watch) leave() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stepping = false
	if w.fired {
		w.fired = false
		w.again.Stop() // one that runs already finds nothing to interrupt
		w.c.db.ClearInterrupt()
	}
}

// end stops watching.
func (w *watch) end() {
	if w != nil {
		w.stop()
	}
}
