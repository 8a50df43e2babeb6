package driver

import (
	"strings"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
)

// tidemarkModule is what CREATE VIRTUAL TABLE … USING names.
const tidemarkModule = "tidemark"

// tableOptions are the options of a table, with the one value each that works.
var tableOptions = map[string]struct {
	works, known string
	does         string
}{
	"durable":  {"true", "true|false", "rows are in the log"},
	"resident": {"all", "all|keys", "rows stay in memory"},
}

// virtualAsPlain turns CREATE VIRTUAL TABLE x USING tidemark(columns, options)
// into CREATE TABLE x(columns), refusing options that do not work yet.
func virtualAsPlain(s *sqltext.Stmt) (string, error) {
	module, args := s.Module()
	if fold(module) != tidemarkModule {
		e := newError("", ErrGeneric, "no such module for tables of a store: %s", module)
		e.Hint = "a store's tables are USING tidemark(columns …); other modules work in temp: CREATE VIRTUAL TABLE temp." + s.Target.Name + " USING " + module
		return "", e
	}
	var columns []string
	for _, arg := range args {
		word, value, ok := sqltext.Option(arg)
		if !ok {
			columns = append(columns, arg)
			continue
		}
		if err := checkOption(word, value); err != nil {
			return "", err
		}
	}
	tail := s.Tail()
	return "CREATE TABLE " + tail[:s.NameEnd()] + "(" + strings.Join(columns, ", ") + ")", nil
}

// checkOption accepts the options that say what is the case anyhow.
func checkOption(word, value string) error {
	o, ok := tableOptions[word]
	if !ok {
		e := newError("", ErrGeneric, "no such table option: %s", word)
		e.Hint = "options are durable=true and resident=all"
		return e
	}
	value = fold(value)
	switch {
	case value == o.works:
		return nil
	case strings.Contains("|"+o.known+"|", "|"+value+"|"):
		return refuse(word+"="+value, "leave it out or write "+word+"="+o.works+": "+o.does)
	}
	e := newError("", ErrGeneric, "%s=%q is not legal", word, value)
	e.Hint = "write " + word + "=" + o.works
	return e
}
