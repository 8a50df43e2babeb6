package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidemarkdb/tidemark/catalog"
)

// GCPlan says what a gc would do.
type GCPlan struct {
	Remove []catalog.Object // files that would go, dependents first
	Keep   []catalog.Kept   // files that would stay, and why
}

// KeptBytes is how long the files are that would stay.
func (p *GCPlan) KeptBytes() (n int64) {
	for i := range p.Keep {
		n += p.Keep[i].ByteExtent
	}
	return n
}

// bySnapshot is the reason for a file that no owner needs, and that a snapshot of
// this process can be read from.
const bySnapshot = "a snapshot of this process"

// PlanGC says what GC would remove now and what it would leave, and changes
// nothing.
func (s *Store) PlanGC(ctx context.Context) (GCPlan, error) {
	if s.opts.Memory {
		return GCPlan{}, ErrInMemory
	}
	if err := s.closed(); err != nil {
		return GCPlan{}, err
	}
	return planGC(ctx, s.cat, s.home.held)
}

// PlanGC says what a gc of the store in o.Dir would remove, and changes nothing: it
// only reads the catalog, also while another process has the store open. What that
// process reads, and what it has left half done, it does not know.
func PlanGC(ctx context.Context, o Options) (_ GCPlan, err error) {
	o.Create = false
	if err := o.Validate(); err != nil {
		return GCPlan{}, err
	}
	o = o.withDefaults()
	s := newStore(o, newHome(o.FS))
	defer s.endWork()
	if err := refuseBackup(o.Dir); err != nil {
		return GCPlan{}, err
	}
	if err := s.findCatalog(); err != nil {
		return GCPlan{}, err
	}
	cat, err := catalog.Open(ctx, catalog.Options{Dir: o.Dir, ReadOnly: true})
	if err != nil {
		return GCPlan{}, fmt.Errorf("engine: %w", err)
	}
	defer func() { err = errors.Join(err, cat.Close(context.WithoutCancel(ctx))) }()
	return planGC(ctx, cat, func() map[int64]bool { return nil })
}

// planGC sorts the objects of a catalog. What is held is asked behind the look at
// it, as a sweep does.
func planGC(ctx context.Context, cat *catalog.Catalog, held func() map[int64]bool) (plan GCPlan, err error) {
	free, kept, err := cat.Explain(ctx)
	if err != nil {
		return plan, fmt.Errorf("engine: looking for files to remove: %w", err)
	}
	reading := held()
	plan.Keep = kept
	for _, o := range free {
		if reading[o.ID] {
			plan.Keep = append(plan.Keep, catalog.Kept{Object: o, Reasons: []catalog.Retainer{{OwnerKind: bySnapshot}}})
		} else {
			plan.Remove = append(plan.Remove, o)
		}
	}
	return plan, nil
}
