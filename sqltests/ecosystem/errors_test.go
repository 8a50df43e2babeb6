package ecosystem

import (
	"errors"
	"strings"

	"github.com/tidemarkdb/tidemark/driver"
)

// isUnique reports a violation of uniqueness, by Tidemark's sentinel or by the words
// of SQLite that frameworks look for.
func isUnique(err error) bool {
	return errors.Is(err, driver.ErrConstraintUnique) || err != nil && strings.Contains(err.Error(), "UNIQUE constraint failed: ")
}
