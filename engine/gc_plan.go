package engine

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/tidemarkdb/tidemark/catalog"
)

// GCPlan says what a gc would do.
type GCPlan struct {
	Remove []catalog.Object // files that would go, dependents first
	Held   []catalog.Object // files that only snapshots of this process may be read from
	Stay   []catalog.Object // files that are needed
}

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
	list, err := cat.Garbage(ctx, math.MaxInt32)
	if err != nil {
		return plan, fmt.Errorf("engine: looking for files to remove: %w", err)
	}
	reading, free := held(), map[int64]bool{}
	for _, o := range list {
		free[o.ID] = true
		if reading[o.ID] {
			plan.Held = append(plan.Held, o)
		} else {
			plan.Remove = append(plan.Remove, o)
		}
	}
	all, err := cat.Objects(ctx)
	if err != nil {
		return plan, fmt.Errorf("engine: %w", err)
	}
	for _, o := range all {
		if o.State != catalog.GenerationCollected && !free[o.ID] {
			plan.Stay = append(plan.Stay, o)
		}
	}
	return plan, nil
}
