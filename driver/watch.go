package driver

import "context"

// watch interrupts the connection's statements when a context ends. The zero
// watch watches nothing: a context that cannot end costs nothing.
type watch struct {
	stop func() bool
	done chan struct{}
}

// watchContext starts to watch ctx.
func (c *conn) watchContext(ctx context.Context) watch {
	if ctx.Done() == nil {
		return watch{}
	}
	w := watch{done: make(chan struct{})}
	w.stop = context.AfterFunc(ctx, func() {
		defer close(w.done)
		c.db.Interrupt()
	})
	return w
}

// end stops watching. When the context ended it waits for the interrupt to have
// been made, so that it cannot hit the connection's next statement.
func (w *watch) end() {
	if w.stop != nil && !w.stop() {
		<-w.done
	}
	w.stop = nil
}
