package driver

import (
	sqldriver "database/sql/driver"
	"fmt"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/vtab"
)

// binder gives the parameters of a text their arguments. Numbers run through
// all statements of a text, as if it were one: a ? takes the next argument, ?N
// the N-th, and a name the argument of that name or, when no argument has a
// name, the one whose turn it is.
type binder struct {
	args  []sqldriver.NamedValue
	named bool // an argument has a name
}

func newBinder(args []sqldriver.NamedValue) binder {
	b := binder{args: args}
	for i := range args {
		if args[i].Name != "" {
			b.named = true
		}
	}
	return b
}

// check compares the number of arguments with that of the text's parameters.
func (b *binder) check(params int) error {
	if !b.named && len(b.args) != params {
		return newError("bind", ErrRange, "expected %d arguments, got %d", params, len(b.args))
	}
	return nil
}

// bind binds every parameter of a compiled statement.
func (b *binder) bind(p *piece) error {
	n := p.nparams
	for i := 1; i <= n; i++ {
		number := i
		if p.numbers != nil {
			if i >= len(p.numbers) || p.numbers[i] == 0 {
				continue
			}
			number = p.numbers[i]
		}
		arg, err := b.argument(p, i, number)
		if err != nil {
			return err
		}
		if err := bindValue(p, i, arg); err != nil {
			return err
		}
	}
	return nil
}

// argument finds the argument of a parameter.
func (b *binder) argument(p *piece, i, number int) (any, error) {
	if b.named {
		return b.find(p.paramName(i), number)
	}
	return b.find("", number)
}

// find finds an argument by the name of a parameter, where arguments have names,
// or by its number.
func (b *binder) find(name string, number int) (any, error) {
	if b.named && name != "" && name[0] != '?' {
		for k := range b.args {
			if b.args[k].Name == name[1:] {
				return b.args[k].Value, nil
			}
		}
		return nil, newError("bind", ErrRange, "no argument for parameter %s", name)
	}
	if number > len(b.args) {
		return nil, newError("bind", ErrRange, "no argument for parameter ?%d: got %d arguments", number, len(b.args))
	}
	return b.args[number-1].Value, nil
}

// paramName returns the name of a parameter with its prefix.
func (p *piece) paramName(i int) string {
	if i < len(p.names) && p.names[i] != "" {
		return p.names[i]
	}
	return p.st.ParamName(i)
}

// bindValue binds one value of the types CheckNamedValue leaves.
func bindValue(p *piece, i int, v any) error { return bindTo(p.st, i, v) }

func bindTo(st *vtab.Stmt, i int, v any) error {
	switch v := v.(type) {
	case nil:
		return st.BindNull(i)
	case int64:
		return st.BindInt(i, v)
	case float64:
		return st.BindReal(i, v)
	case string:
		return st.BindText(i, v)
	case []byte:
		return st.BindBlob(i, string(v))
	}
	return newError("bind", ErrMismatch, "parameter %d: %w", i, fmt.Errorf("type %T is not supported", v))
}

// countParams returns the number of parameters of a whole text.
func countParams(text string) int {
	var n sqltext.Numbering
	n.Map(text)
	return n.High()
}

// takesNone reports of kinds of statements that parameters are an error in them,
// which SQLite tells better than their number would.
func takesNone(kind sqltext.Kind) bool {
	return kind == sqltext.CreateTrigger || kind == sqltext.CreateIndex || kind == sqltext.CreateView
}
