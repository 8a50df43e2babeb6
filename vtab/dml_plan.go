package vtab

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// A plan is what a text says of a row and SQLite cannot tell xUpdate: conflict
// clauses, and a SET that is evaluated row by row. The row carries its number in
// the hidden column: as it is when the plan needs no values from outside, else as
// the handle that PlanFunction returns for the number and those values.
//
// A trigger's text outlives the statement it was made in, and connections share
// it. There the plan itself stands in the place of its number, as a text.
//
// The names of the functions cannot be typed, nor can that of the hidden column:
// the driver refuses a text that names them.
const (
	// PlanFunction is called with the number or the text of a plan and the values it
	// needs.
	// It keeps them for the row and returns a handle.
	PlanFunction = "\x01plan"
	// OnceFunction returns the value of a subquery that is computed once a
	// statement, by its position in SetList.Once.
	OnceFunction = "\x01once"
	// ForgetFunction, called with the name of a trigger, has the subqueries of its
	// plans computed anew: its body begins with it.
	ForgetFunction = "\x01forget"
)

// Plan is made by NewPlan and immutable once it was added to a connection.
type Plan struct {
	// Upserts are the ON CONFLICT clauses of an INSERT in their order.
	Upserts []Upsert
	// Set, of an UPDATE, is evaluated for each row as it is when its turn comes.
	Set *SetList `json:",omitempty"`
	// Abort says that the statement was written with OR ABORT, which looks like no
	// clause to xUpdate.
	Abort bool `json:",omitempty"`
	// Trigger is the name of the trigger whose body the plan is of.
	Trigger string `json:",omitempty"`

	id uint32
}

// Text returns the plan as it stands in a trigger.
func (p *Plan) Text() (string, error) {
	b, err := json.Marshal(p)
	return string(b), err
}

// Upsert is one ON CONFLICT clause.
type Upsert struct {
	Any   bool     // it names no target
	Key   bool     // its target is the rowid
	Index uint64   // else the id of the index that is its target
	Set   *SetList `json:",omitempty"` // nil: DO NOTHING
}

// SetList is a SET clause.
type SetList struct {
	Columns []int // that are set: ordinals, and -1 for a rowid no column stands for
	// Copies holds, for each of Columns, the ordinal of the column of the new row
	// that is copied, -1 for its rowid. It is nil when Query is to be run.
	Copies []int
	// Query returns a row with a value for each of Columns, or no row when WHERE
	// says no. It reads the row to be changed from the source SourceUpdated.
	Query Query
	Once  []Query // subqueries that do not depend on the row, see OnceFunction
}

// Query is a nested SELECT and the values of its parameters, from ?1 on.
type Query struct {
	SQL    string
	Params []Operand
}

// Operand is where a value comes from.
type Operand struct {
	Excluded bool // column At of the row that was to be inserted, -1 for its rowid
	At       int  // else the value At of those that came with the handle
}

var planIDs atomic.Uint32

// NewPlan returns an empty plan.
func NewPlan() *Plan { return &Plan{id: planIDs.Add(1)} }

// ID returns the number by which texts refer to the plan. It is the same on all
// connections.
func (p *Plan) ID() uint32 { return p.id }

// plans is what a connection knows of its plans.
type plans struct {
	known    map[uint32]*planState
	texts    map[string]*planState // those of triggers, which stand in their texts
	captures []captured
	latest   int // the capture made last, -1 for none
	idle     []int
	run      uint64 // of the statement: what is computed once is kept for one
	setting  []*setState
}

// planState is a plan on one connection.
type planState struct {
	*Plan
	users int
	sets  []setState // one for each of Upserts, or one for Set

	rawOf    *engine.TableDef // that showsRaw is for
	showsRaw bool

	order     []conflictCheck
	orderOf   *engine.TableDef // that order is for
	orderLast bool
}

// setState is what a SET list computed once.
type setState struct {
	list *SetList
	run  uint64
	once []row.Value
	done []bool
	args []row.Value // of the evaluation that runs
}

// captured is the values of a handle. Rows that have the same ones share it.
type captured struct {
	plan uint32
	vals []row.Value
	refs int // rows under way
}

// AddPlan makes a plan known until DropPlan was called as often.
func (c *Conn) AddPlan(p *Plan) {
	if c.plans.known == nil {
		c.plans.known = map[uint32]*planState{}
	}
	ps := c.plans.known[p.id]
	if ps == nil {
		ps = &planState{Plan: p}
		if p.Set != nil {
			ps.sets = []setState{{list: p.Set}}
		}
		for i := range p.Upserts {
			ps.sets = append(ps.sets, setState{list: p.Upserts[i].Set})
		}
		c.plans.known[p.id] = ps
	}
	ps.users++
}

// DropPlan forgets a plan: the text that refers to it is gone.
func (c *Conn) DropPlan(p *Plan) {
	ps := c.plans.known[p.id]
	if ps == nil {
		return
	}
	if ps.users--; ps.users > 0 {
		return
	}
	delete(c.plans.known, p.id)
	for i := range ps.sets {
		if list := ps.sets[i].list; list != nil {
			c.dropNested(list.Query.SQL)
			for _, q := range list.Once {
				c.dropNested(q.SQL)
			}
		}
	}
}

// keptTexts is how many plans of triggers are kept; they can be read again.
const keptTexts = 256

// planOfText returns the plan that a trigger has as a text.
func (c *Conn) planOfText(text string) (*planState, error) {
	if ps := c.plans.texts[text]; ps != nil {
		return ps, nil
	}
	p := NewPlan()
	if err := json.Unmarshal([]byte(text), p); err != nil {
		return nil, errorf(lib.SQLITE_INTERNAL, "plan of a trigger: %v", err)
	}
	c.AddPlan(p)
	if c.plans.texts == nil {
		c.plans.texts = map[string]*planState{}
	}
	ps := c.plans.known[p.id]
	c.plans.texts[strings.Clone(text)] = ps
	return ps, nil
}

// startPlans begins a statement: what an earlier one left is forgotten.
func (c *Conn) startPlans() {
	p := &c.plans
	if len(p.texts) > keptTexts && len(c.running) == 0 {
		for _, ps := range p.texts {
			c.DropPlan(ps.Plan)
		}
		p.texts = nil
	}
	p.run++
	if len(p.captures) > 0 {
		clear(p.captures)
		p.captures, p.idle = p.captures[:0], p.idle[:0]
	}
	p.latest = -1
}

// A handle is the plan's number and, in its upper half, the position of the
// capture from 1.
const handleShift = 32

// capture keeps the values of a row to come and returns its handle. A statement
// mostly passes the same ones with all rows.
func (p *plans) capture(plan uint32, tls *libc.TLS, args []uintptr) int64 {
	k := p.latest
	if k >= len(p.captures) {
		k = -1
	}
	if k >= 0 && !p.captures[k].same(plan, tls, args) {
		if p.captures[k].refs == 0 {
			p.idle = append(p.idle, k)
		}
		k = -1
	}
	if k < 0 {
		if n := len(p.idle); n > 0 {
			k, p.idle = p.idle[n-1], p.idle[:n-1]
		} else {
			k = len(p.captures)
			if k < cap(p.captures) {
				p.captures = p.captures[:k+1]
			} else {
				p.captures = append(p.captures, captured{})
			}
		}
		cp := &p.captures[k]
		cp.plan, cp.refs = plan, 0
		cp.vals = make([]row.Value, len(args)) // the old ones may be in use
		for i, a := range args {
			cp.vals[i] = valueAt(tls, a).Clone()
		}
		p.latest = k
	}
	p.captures[k].refs++
	return int64(k+1)<<handleShift | int64(plan)
}

func (cp *captured) same(plan uint32, tls *libc.TLS, args []uintptr) bool {
	if cp.plan != plan || len(cp.vals) != len(args) {
		return false
	}
	for i, a := range args {
		v, w := cp.vals[i], valueAt(tls, a)
		if v.Kind() != w.Kind() {
			return false
		}
		switch v.Kind() {
		case row.Int:
			if v.Int() != w.Int() {
				return false
			}
		case row.Real:
			if v.Real() != w.Real() {
				return false
			}
		case row.Text, row.Blob:
			if v.Bytes() != w.Bytes() {
				return false
			}
		}
	}
	return true
}

// planned is what a change has of the plan its row carries.
type planned struct {
	plan    *planState
	args    []row.Value // of the handle
	capture int         // position from 1, 0 for none
	updated bool        // an INSERT became an update

	raw, rawVals []row.Value // see keepRaw
	out          []row.Value // of a SET list
	hold         []byte      // of out
}

// takePlan reads the plan that a row carries.
func (ch *change) takePlan(arg uintptr) error {
	if (*lib.TMem)(unsafe.Pointer(arg)).Fflags&lib.MEM_Null != 0 { // also "no change"
		return nil
	}
	h := valueAt(ch.tls, arg)
	p := &ch.c.plans
	if h.Kind() != row.Int || p.known[uint32(h.Int())] == nil {
		return errorf(lib.SQLITE_INTERNAL, "table %s: a row without its plan", ch.def.Name)
	}
	ch.plan = p.known[uint32(h.Int())]
	if ch.plan.Abort && ch.mode == Default && !ch.c.clauseKnown {
		ch.mode = Abort
	}
	if k := int(h.Int()>>handleShift) - 1; k >= 0 {
		if k >= len(p.captures) || p.captures[k].plan != ch.plan.id {
			return errorf(lib.SQLITE_INTERNAL, "table %s: the values of a row's plan are gone", ch.def.Name)
		}
		ch.capture, ch.args = k+1, p.captures[k].vals
	}
	return nil
}

// releasePlan gives back what takePlan took.
func (ch *change) releasePlan() {
	if ch.capture > 0 {
		p := &ch.c.plans
		if k := ch.capture - 1; k < len(p.captures) {
			cp := &p.captures[k]
			if cp.refs--; cp.refs <= 0 && k != p.latest {
				p.idle = append(p.idle, k)
			}
		}
	}
	ch.plan, ch.args, ch.capture, ch.raw = nil, nil, 0, nil
	clear(ch.rawVals)
	clear(ch.out)
}

// registerPlans registers the functions.
func (c *Conn) registerPlans() error {
	c.plans.latest = -1
	for name, f := range map[string]uintptr{
		PlanFunction:   funcPointer(planFunction),
		OnceFunction:   funcPointer(onceFunction),
		ForgetFunction: funcPointer(forgetFunction),
	} {
		z := cString(c.tls, name)
		rc := lib.Xsqlite3_create_function_v2(c.tls, c.db, z, -1, lib.SQLITE_UTF8|lib.SQLITE_INNOCUOUS, 0, f, 0, 0, 0)
		freeC(c.tls, z)
		if rc != lib.SQLITE_OK {
			return c.lastSQLiteError(rc)
		}
	}
	return nil
}

// called runs a function's body with the connection of its context.
func called(tls *libc.TLS, ctx uintptr, f func(c *Conn) error) {
	c := connOf(lib.Xsqlite3_context_db_handle(tls, ctx))
	fail := func(err error) {
		z := cString(tls, err.Error())
		lib.Xsqlite3_result_error(tls, ctx, z, -1)
		freeC(tls, z)
	}
	if c == nil {
		fail(errNoTransaction)
		return
	}
	defer c.guard("function", fail)
	if err := f(c); err != nil {
		c.note(err)
		fail(err)
	}
}

// planFunction is PlanFunction.
func planFunction(tls *libc.TLS, ctx uintptr, argc int32, argv uintptr) {
	called(tls, ctx, func(c *Conn) error {
		args := pointers(argv, argc)
		if len(args) == 0 {
			return errorf(lib.SQLITE_MISUSE, "a plan has a number")
		}
		which := valueAt(tls, args[0])
		id := uint32(0)
		if which.Kind() == row.Text {
			ps, err := c.planOfText(which.Bytes())
			if err != nil {
				return err
			}
			id = ps.id
		} else {
			id = uint32(which.Int())
		}
		h := c.plans.capture(id, tls, args[1:])
		c.setResult(tls, ctx, row.IntValue(h))
		return nil
	})
}

// forgetFunction is ForgetFunction.
func forgetFunction(tls *libc.TLS, ctx uintptr, argc int32, argv uintptr) {
	called(tls, ctx, func(c *Conn) error {
		for _, a := range pointers(argv, argc) {
			name := valueAt(tls, a)
			for _, ps := range c.plans.texts {
				if ps.Trigger != name.Bytes() {
					continue
				}
				for i := range ps.sets {
					ps.sets[i].run = 0
				}
			}
		}
		return nil
	})
}

// onceFunction is OnceFunction: the subquery is run at the first call of a
// statement.
func onceFunction(tls *libc.TLS, ctx uintptr, argc int32, argv uintptr) {
	called(tls, ctx, func(c *Conn) error {
		args := pointers(argv, argc)
		n := len(c.plans.setting)
		if n == 0 || len(args) != 1 {
			return errorf(lib.SQLITE_MISUSE, "no statement runs")
		}
		v, err := c.plans.setting[n-1].value(c, int(valueAt(tls, args[0]).Int()))
		if err == nil {
			c.setResult(tls, ctx, v)
		}
		return err
	})
}

// ComputesOnce reports whether the plan has subqueries that are computed once.
func (p *Plan) ComputesOnce() bool {
	once := p.Set != nil && len(p.Set.Once) > 0
	for _, u := range p.Upserts {
		once = once || u.Set != nil && len(u.Set.Once) > 0
	}
	return once
}
