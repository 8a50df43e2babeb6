package engine

import (
	"context"
	"fmt"
)

// VerifyError is how a verify job fails that found something.
type VerifyError struct {
	First    Finding
	Findings int // the first one included
	Damage   int // those that are damage
}

// Error tells the first finding and how many there are.
func (e *VerifyError) Error() string {
	return fmt.Sprintf("verify: %d findings, %d of them damage; the first: %s", e.Findings, e.Damage, e.First)
}

// Unwrap returns the first finding as a *CorruptError; of warnings alone nil.
func (e *VerifyError) Unwrap() error {
	if e.Damage == 0 {
		return nil
	}
	reason := e.First.Text
	if e.Findings > 1 {
		reason = fmt.Sprintf("%s (the first of %d findings)", reason, e.Findings)
	}
	return &CorruptError{File: e.First.File, Offset: e.First.Offset, Reason: reason}
}

// verifyAll is the work of a job of kind verify: it fails for anything that Check
// finds. Of several findings the first that is damage is told, if there is one.
func (s *Store) verifyAll(ctx context.Context, _ int64, progress func(done, total int64)) error {
	var found VerifyError
	err := s.Check(ctx, func(f Finding) {
		if found.Findings++; f.Severity == Damage {
			found.Damage++
		}
		if found.Findings == 1 || found.Damage == 1 && f.Severity == Damage {
			found.First = f
		}
	}, progress)
	if err != nil {
		return err
	}
	if found.Findings > 0 {
		return &found
	}
	return nil
}
