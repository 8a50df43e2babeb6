package catalog

import (
	"context"
	"sync"
)

// handle is what the connections of one Catalog share: the poison and the seam.
type handle struct {
	seam *Seam

	mu     sync.Mutex
	cause  error // first failure that poisons, nil while healthy
	closed bool
}

// poison records the first cause; later ones are consequences.
func (h *handle) poison(cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause == nil {
		h.cause = cause
	}
}

// usable refuses a call on a closed or poisoned handle.
func (h *handle) usable(op string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return &Error{Code: CodeClosed, Op: op}
	case h.cause != nil:
		return &Error{Code: CodePoisoned, Op: op, Err: h.cause}
	}
	return nil
}

// commit runs one COMMIT through the seam.
func (h *handle) commit(name string, commit func() error) error {
	if h.seam != nil && h.seam.Commit != nil {
		return h.seam.Commit(name, commit)
	}
	return commit()
}

type commitNameKey struct{}

// withCommitName names the transaction that begins under ctx, for the seam.
func withCommitName(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, commitNameKey{}, name)
}

func commitName(ctx context.Context) string {
	name, _ := ctx.Value(commitNameKey{}).(string)
	return name
}
