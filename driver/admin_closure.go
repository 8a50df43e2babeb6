package driver

import (
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/vtab"
)

// closureFunction is the view dependency_closure of one root, which it is asked for
// as a function is: object_closure(17). The view answers for every object first.
const closureFunction = "object_closure"

// registerClosure registers the function on a connection.
func registerClosure(c *conn) error {
	return c.db.RegisterModule(closureFunction, vtab.EponymousModule{
		Columns: "root_object_id INT, object_id INT, depth INT",
		Args:    []string{"root"},
		Rows:    func(args []row.Value) ([][]row.Value, error) { return closureRows(c, args[0]) },
	})
}

// closureRows are the objects that a root leads to, nearest first.
func closureRows(c *conn, root row.Value) ([][]row.Value, error) {
	if root.Kind() != row.Int {
		e := newError("", ErrGeneric, "%s: the id of an object is an integer", closureFunction)
		if root.IsNull() {
			e = newError("", ErrGeneric, "%s without the id of an object", closureFunction)
		}
		e.Table, e.Hint = closureFunction, "write SELECT * FROM "+closureFunction+"(17), with an object_id of catalog.objects"
		return nil, e
	}
	list, err := c.store.ObjectClosure(c.stepping, root.Int())
	if err != nil {
		return nil, wrapError("", err)
	}
	rows := make([][]row.Value, len(list))
	for i, r := range list {
		rows[i] = []row.Value{root, row.IntValue(r.ObjectID), row.IntValue(r.Depth)}
	}
	return rows, nil
}
