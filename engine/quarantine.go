package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidemarkdb/tidemark/catalog"
)

// A file that a job writes and that could not be written or synced is of no use, and
// a second sync would not make it one: a system that failed to write a page may have
// dropped it, and then says that all is well. So the catalog quarantines its object
// at once, which nothing can seal or name from then on; the job starts over with a
// fresh file, or ends. When it has ended the collection says so in its name
// (reconcile), and only then removes the file like any other. A crash anywhere leaves
// the rest to the next open.

// quarantine sets aside an output of a running job whose file is of no use because of
// cause. When the catalog cannot be told, the object stays what it is, reserved, and
// its job's: nobody seals it, and it goes with the end of the job.
func (s *Store) quarantine(ctx context.Context, job int64, r catalog.Reservation, cause error) {
	// That the job is told to end is no reason to forget what it found out.
	if err := s.cat.Quarantine(context.WithoutCancel(ctx), job, r.ObjectID, cause); err != nil {
		s.event(Event{Kind: EventBackgroundFailed, File: r.Path, Err: fmt.Errorf("engine: quarantining %s: %w", r.Path, err)})
		return
	}
	s.event(Event{Kind: EventQuarantined, File: r.Path, Err: cause})
}

// unsound notes that the file of the object reserved last is of no use.
func (w *baseWriter) unsound(err error) error {
	if w.lost == nil {
		w.lost = err
	}
	return err
}

// quarantine sets aside the file that was found unsound. Those that were sealed before
// it have passed both barriers: they are garbage when the job ends.
func (w *baseWriter) quarantine() {
	if w.lost != nil {
		w.s.quarantine(w.ctx, w.job, w.named, w.lost)
	}
}

// reconcile lets go of what is quarantined and whose job is over, in the name of that
// job: nobody writes the file any more, and nothing was ever registered under its
// name. It is garbage then. What the catalog does not take for unreachable stays.
func (s *Store) reconcile(ctx context.Context) error {
	s.sweeps.take()
	defer s.sweeps.give()
	for {
		list, err := s.cat.Reconcilable(ctx, sweepBatch)
		if err != nil {
			return fmt.Errorf("engine: looking for files in quarantine: %w", err)
		}
		done := 0
		for from := 0; from < len(list); {
			to := from
			var ids []int64
			for ; to < len(list) && list[to].JobID == list[from].JobID; to++ {
				ids = append(ids, list[to].ID)
			}
			err := s.cat.Reconcile(ctx, catalog.JobOperation(list[from].JobID), ids...)
			switch {
			case err == nil:
				done += len(ids)
			case !errors.Is(err, catalog.CodeRecovery):
				return fmt.Errorf("engine: reconciling the files that job %d left in quarantine: %w", list[from].JobID, err)
			}
			from = to
		}
		if done == 0 || len(list) < sweepBatch {
			return nil
		}
	}
}
