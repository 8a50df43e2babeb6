package sqltests

import (
	"context"
	"fmt"

	"github.com/tidemarkdb/tidemark/driver"

	_ "modernc.org/sqlite" // the oracle
)

// checkAll collects the findings of a check.
func checkAll(ctx context.Context, st *driver.Store) (out []string, err error) {
	err = st.Check(ctx, func(f driver.Finding) { out = append(out, fmt.Sprint(f)) }, nil)
	return out, err
}
