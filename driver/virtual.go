package driver

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// tidemarkModule is what CREATE VIRTUAL TABLE … USING names.
const tidemarkModule = "tidemark"

// storage is what the options of a table say about where its rows live.
type storage struct {
	durable  bool // in the log, else empty after a restart
	resident engine.Resident
	maxRows  int64 // 0 for no limit
	onFull   engine.OnFull
	unsaid   bool // resident was not written: the connection's default
}

// legalOptions is what may be written.
const legalOptions = "durable=true|false, resident=all|keys, max_rows=N and on_full=refuse|drop_oldest"

// virtualAsPlain turns CREATE VIRTUAL TABLE x USING tidemark(columns, options)
// into CREATE TABLE x(columns), and reads the options.
func virtualAsPlain(s *sqltext.Stmt) (plain string, st storage, err error) {
	module, args := s.Module()
	if fold(module) != tidemarkModule {
		e := newError("", ErrGeneric, "no such module for tables of a store: %s", module)
		e.Hint = "a store's tables are USING tidemark(columns …); other modules work in temp: CREATE VIRTUAL TABLE temp." + s.Target.Name + " USING " + module
		return "", st, e
	}
	st = storage{durable: true, unsaid: true}
	var columns []string
	given := map[string]bool{}
	for _, arg := range args {
		word, value, ok := sqltext.Option(arg)
		if !ok {
			columns = append(columns, arg)
			continue
		}
		if given[word] {
			return "", st, optionError(s.Target.Name, "option %s is given twice", word)
		}
		given[word] = true
		if err := st.set(s.Target.Name, word, value); err != nil {
			return "", st, err
		}
	}
	if strings.Join(columns, "") == "" {
		e := newError("", ErrGeneric, "table %s has no columns", s.Target.Name)
		e.Table, e.Hint = s.Target.Name, "list them before the options: USING tidemark(columns …, "+legalOptions+")"
		return "", st, e
	}
	if !st.durable && st.resident == engine.ResidentKeys {
		return "", st, optionError(s.Target.Name, "durable=false and resident=keys together: rows would be neither in the log nor in memory")
	}
	switch name := s.Target.Name; {
	case given["on_full"] && st.maxRows == 0:
		return "", st, optionError(name, "on_full without max_rows: the table is never full")
	case st.onFull == engine.OnFullDropOldest && st.durable:
		e := optionError(name, "on_full=drop_oldest with durable=true: no row that was promised to last may be dropped")
		e.Hint = "write on_full=refuse, or durable=false"
		return "", st, e
	}
	tail := s.Tail()
	return "CREATE TABLE " + tail[:s.NameEnd()] + "(" + strings.Join(columns, ", ") + ")", st, nil
}

// set takes one option.
func (st *storage) set(table, word, value string) error {
	switch v := fold(value); {
	case word == "durable" && (v == "true" || v == "false"):
		st.durable = v == "true"
	case word == "resident" && v == "all":
		st.resident, st.unsaid = engine.ResidentAll, false
	case word == "resident" && v == "keys":
		st.resident, st.unsaid = engine.ResidentKeys, false
	case word == "max_rows":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 1 {
			return optionError(table, "max_rows=%s is not legal: it is a whole number from 1 on", value)
		}
		st.maxRows = n
	case word == "on_full" && v == "refuse":
		st.onFull = engine.OnFullRefuse
	case word == "on_full" && v == "drop_oldest":
		st.onFull = engine.OnFullDropOldest
	case word == "durable" || word == "resident" || word == "on_full":
		return optionError(table, "%s=%s is not legal", word, value)
	default:
		return optionError(table, "no such table option: %s", word)
	}
	return nil
}

// optionError refuses the options of a table.
func optionError(table, format string, args ...any) *Error {
	e := newError("", ErrGeneric, "table %s: %s", table, fmt.Sprintf(format, args...))
	e.Table, e.Hint = table, "write "+legalOptions
	return kindOf(ErrTableOption, e)
}

// checkStorage refuses what a table's storage does not go together with.
func (s *shadow) checkStorage(def *engine.TableDef, schema *engine.Schema) error {
	if err := s.home.accept(def); err != nil {
		return err
	}
	if !def.Durable && def.AutoIncrement {
		e := newError("", ErrGeneric, "table %s: AUTOINCREMENT with durable=false: the numbers used would be forgotten at a restart", def.Name)
		e.Table, e.Hint = def.Name, "write INTEGER PRIMARY KEY without AUTOINCREMENT, or durable=true"
		return kindOf(ErrTableOption, e)
	}
	if err := s.checkDropping(def, schema); err != nil {
		return err
	}
	// A row that survives must not refer to one that does not.
	if def.Durable {
		parents, err := s.parents(def.Name)
		if err != nil {
			return err
		}
		for _, name := range parents {
			if o := findObject(schema, name); o != nil && o.Table != nil && !o.Table.Durable {
				return errVolatileParent(def.Name, o.Name)
			}
		}
		return nil
	}
	for _, o := range schema.Objects() {
		if o.Table == nil || !o.Table.Durable {
			continue
		}
		parents, err := s.parents(o.Name)
		if err != nil {
			return err
		}
		for _, name := range parents {
			if fold(name) == fold(def.Name) {
				return errVolatileParent(o.Name, def.Name)
			}
		}
	}
	return nil
}

// checkDropping refuses a foreign key on a table that drops rows by itself,
// whichever of the two is made first.
func (s *shadow) checkDropping(def *engine.TableDef, schema *engine.Schema) error {
	drops := func(d *engine.TableDef) bool { return d.OnFull == engine.OnFullDropOldest }
	parents, err := s.parents(def.Name)
	if err != nil {
		return err
	}
	for _, name := range parents {
		if o := findObject(schema, name); o != nil && o.Table != nil && drops(o.Table) || fold(name) == fold(def.Name) && drops(def) {
			return errDroppingParent(def.Name, name)
		}
	}
	if !drops(def) {
		return nil
	}
	for _, o := range schema.Objects() {
		if o.Table == nil {
			continue
		}
		if parents, err = s.parents(o.Name); err != nil {
			return err
		}
		for _, name := range parents {
			if fold(name) == fold(def.Name) {
				return errDroppingParent(o.Name, def.Name)
			}
		}
	}
	return nil
}

func errDroppingParent(child, parent string) error {
	e := newError("", ErrGeneric, "table %s refers to table %s, which is on_full=drop_oldest: rows would refer to ones that were dropped", child, parent)
	e.Table = child
	e.Hint = "make " + parent + " on_full=refuse, or leave out the foreign key of " + child
	return kindOf(ErrTableOption, e)
}

// parents lists the tables that a table's foreign keys refer to.
func (s *shadow) parents(table string) (names []string, err error) {
	list, err := s.db.Query(`SELECT DISTINCT "table" FROM pragma_foreign_key_list(?1)`, row.TextValue(table))
	for _, r := range list {
		names = append(names, r[0].Bytes())
	}
	return names, err
}

func errVolatileParent(child, parent string) error {
	e := newError("", ErrGeneric, "table %s is durable and refers to table %s, which is not: its rows would refer to nothing after a restart", child, parent)
	e.Table = child
	e.Hint = "make " + parent + " durable=true, or " + child + " durable=false"
	return kindOf(ErrVolatileParent, e)
}

// sameStorage refuses CREATE VIRTUAL TABLE IF NOT EXISTS with other options than
// the table has: the program would go on with promises the store does not keep.
func (c *conn) sameStorage(s *sqltext.Stmt, schema *engine.Schema) error {
	if s.Kind != sqltext.CreateVirtual {
		return nil
	}
	o := findObject(schema, s.Target.Name)
	if o == nil || o.Table == nil {
		return nil
	}
	_, st, err := virtualAsPlain(s)
	if err != nil {
		return err
	}
	has := storage{durable: o.Table.Durable, resident: o.Table.Resident, maxRows: o.Table.MaxRows, onFull: o.Table.OnFull}
	if st.unsaid { // nothing is promised
		st.resident, st.unsaid = has.resident, false
	}
	if st == has {
		return nil
	}
	e := newError("", ErrGeneric, "table %s exists in %s with %s, the statement says %s", o.Name, c.sh.inst.place(), has, st)
	e.Table = o.Name
	e.Hint = "write " + has.String() + ", or DROP TABLE " + o.Name + " first, with its rows"
	return kindOf(ErrTableDiffers, e)
}

// String is the options as they are written.
func (st storage) String() string {
	text := fmt.Sprintf("durable=%t, resident=%s", st.durable, st.resident)
	if st.maxRows > 0 {
		text += fmt.Sprintf(", max_rows=%d, on_full=%s", st.maxRows, st.onFull)
	}
	return text
}
