package vtab

import (
	"unsafe"

	lib "modernc.org/sqlite/lib"
)

// In a CHECK, a generated column and an index, SQLite refuses functions that
// depend on the time or the place, where they do: date(a) is fine as long as no
// a is 'now'. It tells by the operation that calls the function, of which a
// nested SELECT has the other kind. So the calls of such a statement are made
// those of an expression that must be pure, once it is compiled.

// takePure is takeNested for expressions that must be pure. context is what
// SQLite's message calls them: lib.NC_IsCheck, NC_GenCol or NC_IdxExpr.
func (c *Conn) takePure(sql string, context uint16) (*Stmt, error) {
	st, err := c.takeNested(sql)
	if err != nil {
		return nil, err
	}
	// SQLite compiles a statement anew when it finds it outdated, into another
	// program.
	if v := (*lib.TVdbe)(unsafe.Pointer(st.p)); v.FaOp != st.pure {
		ops := unsafe.Slice((*lib.TVdbeOp)(unsafe.Pointer(v.FaOp)), v.FnOp)
		for i := range ops {
			if ops[i].Fopcode == lib.OP_Function {
				ops[i].Fopcode, ops[i].Fp5 = lib.OP_PureFunc, context
			}
		}
		st.pure = v.FaOp
	}
	return st, nil
}
