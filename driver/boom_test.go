package driver

import (
	sqldriver "database/sql/driver"
	"sync"

	"modernc.org/sqlite"
)

// registerBoom registers a function that panics.
var registerBoom = sync.OnceFunc(func() {
	sqlite.MustRegisterScalarFunction("boom", 1, func(*sqlite.FunctionContext, []sqldriver.Value) (sqldriver.Value, error) {
		panic("boom")
	})
})
