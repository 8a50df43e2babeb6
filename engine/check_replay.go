package engine

import (
	"fmt"
	"reflect"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// replay replays the logs once more, all shards together, and compares. What
// each file for itself could not show is found here: commits that are missing
// in one of their shards.
func (c *checker) replay(r *recovery) error {
	c.rewind(r)
	if err := r.merge(); err != nil {
		return c.found(err)
	}
	if r.last < c.target.lsn {
		for _, l := range r.shards {
			for _, f := range l.files {
				if err := r.look(f, r.last+1); err != nil {
					return c.found(err)
				}
			}
		}
		f, stop := r.place()
		c.report(Finding{Damage, f.path, stop.Offset, fmt.Sprintf("%s, where commit %d should be", stop.Reason, r.last+1)})
		return nil
	}
	again, err := r.replay.root()
	if err != nil {
		return c.found(notMade("", err))
	}
	if !reflect.DeepEqual(again.schema.objects, c.target.schema.objects) {
		c.report(Finding{Damage, "", 0, "the schema in memory is not the one in the log"})
		return nil
	}
	for i, t := range c.target.tables {
		if err := c.ended(); err != nil {
			return err
		}
		if t.def.Durable {
			if err := c.compare(t, again.tables[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// rewind forgets what the check of each file for itself left.
func (c *checker) rewind(r *recovery) {
	for _, l := range r.shards {
		for _, f := range l.files {
			f.info, f.seal, f.end = newGeneration(f.cat).info, nil, f.start
		}
	}
	for _, f := range r.base {
		f.seal, f.end, f.schema = nil, f.start, 0
	}
	r.ended = c.ended
}

// compare reports the first difference between a table and its replay.
func (c *checker) compare(have, want *Table) error {
	differ := func(rowid int64, text string) {
		c.report(Finding{Damage, "", 0, fmt.Sprintf("table %q: row %d %s", have.def.Name, rowid, text)})
	}
	if have.sum != want.sum {
		c.report(Finding{Damage, "", 0, fmt.Sprintf("table %q: fingerprint %x, the log gives %x", have.def.Name, have.sum, want.sum)})
	}
	a, b := have.rows.Iter(), want.rows.Iter()
	for {
		inMemory, inLog := a.Next(), b.Next()
		switch {
		case !inMemory && !inLog:
			return nil
		case !inLog || inMemory && a.Key() < b.Key():
			differ(a.Key(), "is in memory and not in the log")
			return nil
		case !inMemory || a.Key() > b.Key():
			differ(b.Key(), "is in the log and not in memory")
			return nil
		case a.Value() != b.Value():
			same, err := c.same(have, string(a.Value()), want, string(b.Value()), a.Key())
			if err != nil {
				return c.found(err)
			}
			if !same {
				differ(a.Key(), fmt.Sprintf("is %s in memory, %s in the log", describe(a.Value()), describe(b.Value())))
				return nil
			}
		}
	}
}

func describe(r row.Record) string {
	const most = 64
	if len(r) > most {
		return fmt.Sprintf("%x… (%d bytes)", string(r[:most]), len(r))
	}
	return fmt.Sprintf("%x", string(r))
}
