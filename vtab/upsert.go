package vtab

import (
	"slices"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// conflictCheck is one look for a row that is in the way of an INSERT.
type conflictCheck struct {
	at     int // position of the index, -1 for the rowid
	clause int // position of the ON CONFLICT clause that answers it, -1 for none
}

// conflictOrder returns the order in which SQLite looks for conflicts: first what
// the clauses name, in their order, then the rowid, then the other indexes. last
// says that the rowid's own REPLACE lets it be looked at last.
func (ch *change) conflictOrder(last bool) []conflictCheck {
	ps, t := ch.plan, ch.t
	if ps.orderOf == ch.def && ps.orderLast == last {
		return ps.order
	}
	clause := func(at int) int {
		return slices.IndexFunc(ps.Upserts, func(u Upsert) bool {
			return u.Any || at < 0 && u.Key || at >= 0 && !u.Key && u.Index == ch.def.Indexes[at].ID
		})
	}
	order := ps.order[:0]
	add := func(at int) {
		if !slices.ContainsFunc(order, func(k conflictCheck) bool { return k.at == at }) {
			order = append(order, conflictCheck{at, clause(at)})
		}
	}
	for _, u := range ps.Upserts {
		if u.Any {
			break
		}
		if u.Key {
			add(-1)
			continue
		}
		for _, at := range t.uniques {
			if ch.def.Indexes[at].ID == u.Index {
				add(at)
			}
		}
	}
	if !last || clause(-1) >= 0 {
		add(-1)
	}
	for _, at := range t.uniques {
		add(at)
	}
	add(-1)
	ps.order, ps.orderOf, ps.orderLast = order, ch.def, last
	return order
}

// onConflict checks the rowid and the unique indexes for a row rec to be inserted
// by a statement with ON CONFLICT clauses. done says that a clause has dealt with
// the row. Otherwise rivals are collected as by unique.
func (ch *change) onConflict(rec row.Record, auto bool) (done bool, err error) {
	info := ch.t.info
	typed := ch.t.checkSQL != "" // types were checked
	for n, k := range ch.conflictOrder(ch.mode == Default && info.Key == Replace) {
		var other int64
		var found bool
		own := info.Key
		if k.at < 0 {
			if auto || ch.def.WithoutRowid {
				continue
			}
			other = ch.rowid
			_, found, err = ch.h.Get(other)
		} else {
			if !typed {
				if err := ch.strictTypes(); err != nil {
					return false, err
				}
				typed = true
			}
			own = Default
			if info.Indexes != nil {
				own = info.Indexes[k.at]
			}
			other, found, err = ch.h.Conflict(k.at, rec, ch.rowid, 0, false)
		}
		if err != nil {
			return false, err
		}
		if !found || slices.Contains(ch.rivals, other) {
			continue
		}
		if k.clause >= 0 {
			return true, ch.doUpdate(k.clause, other, k.at < 0 && n == 0)
		}
		switch action := ch.action(own); {
		case action == Replace:
			ch.rivals = append(ch.rivals, other)
		case k.at < 0:
			return false, ch.notUniqueRowid(action)
		default:
			return false, ch.notUnique(action, ch.def.Indexes[k.at])
		}
	}
	if !typed {
		err = ch.strictTypes()
	}
	return false, err
}

// doUpdate carries an ON CONFLICT clause out: the row other is changed, as by an
// UPDATE OR ABORT, or nothing is done. early says that the rowid was looked at
// before anything else.
func (ch *change) doUpdate(clause int, other int64, early bool) error {
	st := &ch.plan.sets[clause]
	if st.list == nil {
		return errSkip
	}
	rec, found, err := ch.h.Get(other)
	if err != nil {
		return err
	}
	if !found {
		return errSkip
	}
	excluded := rowImage{def: ch.def, rowid: ch.rowid, vals: ch.vals}
	if early && ch.raw != nil {
		excluded.vals = ch.raw
	}
	up := ch.c.takeChange(ch.t, ch.tls, Abort)
	defer ch.c.giveChange(up)
	up.ret = ch.ret
	up.mode = Abort // whatever the constraints say of themselves
	if err := up.prepare(ch.h); err != nil {
		return err
	}
	if err := up.setBy(st, other, rec, &excluded, ch.args); err != nil {
		return err
	}
	if err := up.updateTo(other, rec); err != nil {
		return err
	}
	ch.updated = true
	return nil
}

// keepRaw keeps the values of a row to be inserted as they were given. SQLite
// looks at the rowid before it converts them, unless a constraint needs them
// converted, and excluded shows them so then.
func (ch *change) keepRaw() {
	ch.raw = nil
	if ps := ch.plan; ps.rawOf != ch.def {
		ps.rawOf, ps.showsRaw = ch.def, showsRaw(ch.def, ps.Plan)
	}
	if !ch.plan.showsRaw || ch.t.checkSQL != "" && !ch.c.ignoresChecks() {
		return
	}
	ch.rawVals = append(ch.rawVals[:0], ch.vals...)
	ch.raw = ch.rawVals
	for i := range ch.raw {
		if v := ch.raw[i]; v.Kind() == row.Int && ch.def.Columns[i].Affinity == row.AffReal {
			ch.raw[i] = row.RealValue(float64(v.Int()))
		}
	}
}

// refillRaw takes over the rowid and the defaults that were put in the place of
// NULLs.
func (ch *change) refillRaw() {
	if a := ch.def.RowidAlias; a >= 0 && ch.raw != nil {
		ch.raw[a] = row.IntValue(ch.rowid)
	}
	for i := range ch.raw {
		if ch.raw[i].IsNull() {
			ch.raw[i] = ch.vals[i]
		}
	}
}

// showsRaw reports whether excluded may show values as they were given.
func showsRaw(def *engine.TableDef, p *Plan) bool {
	return !def.Strict && slices.ContainsFunc(p.Upserts, func(u Upsert) bool { return u.Any || u.Key }) &&
		!slices.ContainsFunc(def.Columns, func(c engine.Column) bool { return c.Kind != engine.ColumnPlain && c.Kind != engine.ColumnDropped })
}
