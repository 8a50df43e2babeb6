package driver

import (
	"context"

	"github.com/tidemarkdb/tidemark/engine"
)

// Store is the engine under a connection, for what SQL does not say. It stays
// usable until the store is closed; its methods may be called from any
// goroutine.
type Store struct{ inst *instance }

// Progress is told how far a long call has got. It may be nil.
type Progress func(done, total int64)

// Finding is one thing a check found.
type Finding = engine.Finding

// Severity grades a Finding.
type Severity = engine.Severity

// Severities of a finding.
const (
	Warning = engine.Warning // nothing is lost or wrong, but it should not be there
	Damage  = engine.Damage  // rows are lost or wrong, or will be after a restart
)

// Metrics counts what the engine did since it was opened.
type Metrics = engine.Metrics

// Check reads every file of the store and reports what is wrong to found, as it
// is found. It returns an error only when it could not go on. Writers and
// readers may go on meanwhile.
func (s *Store) Check(ctx context.Context, found func(Finding), progress Progress) error {
	store, err := s.inst.engine("check")
	if err != nil {
		return err
	}
	if s.inst.readOnly {
		return errReadOnlyCheck()
	}
	return wrapError("check", store.Check(ctx, found, progress))
}

// errReadOnlyCheck refuses a check with mode=ro.
func errReadOnlyCheck() *Error {
	e := newError("check", ErrMisuse, "a store that is open with mode=ro is not checked: what is read of it was")
	e.Hint = "the process that writes it checks it, or tidemark check when there is none"
	return e
}

// CheckFiles reads every file of a store that cannot be opened because it is
// damaged, and reports all that is wrong with them, where opening it tells of the
// first. No process may have the store open.
func CheckFiles(ctx context.Context, cfg Config, found func(Finding), progress Progress) error {
	path, err := storePath(cfg)
	if err != nil {
		return err
	}
	return wrapError("check", engine.CheckFiles(ctx, engine.Options{Dir: path, FS: cfg.FS}, found, progress))
}

// storePath is the directory of a store that is looked at without a connection.
func storePath(cfg Config) (string, error) {
	cfg.Mode = "rw"
	if err := cfg.Validate(); err != nil {
		return "", err
	}
	if cfg.Path == "" {
		return "", configError("path", "", "the directory of a store, whose files are read")
	}
	return resolvePath(cfg)
}

// Metrics returns the engine's counters.
func (s *Store) Metrics(ctx context.Context) (Metrics, error) {
	if err := ctx.Err(); err != nil {
		return Metrics{}, err
	}
	store, err := s.inst.engine("metrics")
	if err != nil {
		return Metrics{}, err
	}
	return store.Metrics(), nil
}

// Events returns the events from now on. The channel is closed when ctx ends or
// the store is closed; a reader that lags by more than a few hundred events
// loses some.
func (s *Store) Events(ctx context.Context) <-chan Event { return s.inst.events.subscribe(ctx) }

// Checkpoint ends the log files in use, those of all shards at one commit, and
// returns when everything committed before is in files that are sealed and
// part of the timeline's head in the catalog. It runs as a job, which
// tidemark_jobs shows. It waits for the write lock until ctx ends. When
// nothing was written since the last one it does nothing. A store in memory
// refuses it, having no log. progress counts bytes.
func (s *Store) Checkpoint(ctx context.Context, progress Progress) error {
	store, err := s.inst.engine("checkpoint")
	if err != nil {
		return err
	}
	_, err = store.RunJob(ctx, engine.JobRequest{Kind: engine.JobCheckpoint, Progress: progress})
	return wrapError("checkpoint", err)
}

// Compact rewrites the log: what it holds up to the newest commit is replaced by
// one record per row, and the files that held it are removed when no snapshot of
// this process can be read from them any more, at the latest when the store is
// closed. It runs as a job, which tidemark_jobs shows, beside readers and writers:
// these wait for moments only. It waits for the write lock until ctx ends. When
// nothing was written since the last one it does nothing. A failure leaves the log
// as it was; without room it is ErrFull. A store in memory refuses it, having no
// log. progress counts bytes of rows.
func (s *Store) Compact(ctx context.Context, progress Progress) error {
	store, err := s.inst.engine("compact")
	if err != nil {
		return err
	}
	return wrapError("compact", store.Compact(ctx, progress))
}

// GC removes every file that nothing needs any more, and returns when that is
// done: neither a head, a branch point, a pin nor a job reaches it, and no snapshot
// of this process can be read from it. It runs as a job, which tidemark_jobs shows,
// beside readers and writers, and an interrupted one goes on where it was. The
// store does the same by itself when it is opened and closed, and behind
// compactions. A store in memory refuses it. progress counts files.
func (s *Store) GC(ctx context.Context, progress Progress) error {
	store, err := s.inst.engine("gc")
	if err != nil {
		return err
	}
	return wrapError("gc", store.GC(ctx, progress))
}

// GCPlan says what a gc would remove and what stays.
type GCPlan = engine.GCPlan

// PlanGC says what GC would remove now and what it would leave, and changes
// nothing.
func (s *Store) PlanGC(ctx context.Context) (GCPlan, error) {
	store, err := s.inst.engine("gc")
	if err != nil {
		return GCPlan{}, err
	}
	plan, err := store.PlanGC(ctx)
	return plan, wrapError("gc", err)
}

// PlanGC says what a gc of a store would remove, and changes nothing. Another
// process may have the store open; what its snapshots are read from is not known
// here.
func PlanGC(ctx context.Context, cfg Config) (GCPlan, error) {
	path, err := storePath(cfg)
	if err != nil {
		return GCPlan{}, err
	}
	plan, err := engine.PlanGC(ctx, engine.Options{Dir: path, FS: cfg.FS})
	return plan, wrapError("gc", err)
}

// Backup writes a backup of the store to the directory dest, which must not exist,
// be empty, or hold a backup of this store that was interrupted: that one goes on.
// It holds every commit that was acknowledged before the call and all branch
// points; readers and writers go on meanwhile. It runs as a job, which
// tidemark_jobs shows with dest as its target; a failure leaves the store as it was.
// A store in memory refuses it. progress counts bytes.
func (s *Store) Backup(ctx context.Context, dest string, progress Progress) error {
	store, err := s.inst.engine("backup")
	if err != nil {
		return err
	}
	return wrapError("backup", store.Backup(ctx, dest, progress))
}

// Restore makes a store in the directory dir, which must not exist or be empty, of a
// backup. Every file is held against its digest. The store has an identity of its
// own. Until Restore has succeeded nothing opens the directory, and calling it again
// goes on where it was. progress counts bytes.
func Restore(ctx context.Context, backup, dir string, progress Progress) error {
	return wrapError("restore", engine.Restore(ctx, backup, dir, progress))
}
