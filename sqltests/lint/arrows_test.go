package lint

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// layers are the packages and what each may import of the others, directly.
// Dependencies point one way:
//
//	cmd/tidemark → driver → vtab → engine → catalog → migrations
//
// An import may go to any package further down, never up or sideways. The
// script runner in sqltests/slt is a leaf that the command uses, too.
var layers = map[string][]string{
	"cmd/tidemark":            {"driver", "sqltests/slt"},
	"driver":                  {"driver/internal/sqltext", "vtab", "engine", "engine/row", "engine/vfs", "catalog", "migrations"},
	"driver/internal/sqltext": nil,
	"vtab":                    {"engine", "engine/row", "engine/vfs", "catalog", "migrations"},
	"engine":                  {"engine/vfs", "engine/row", "engine/wal", "engine/segment", "catalog", "migrations"},
	"engine/wal":              {"engine/row"},
	"engine/segment":          nil,
	"engine/row":              nil,
	"engine/vfs":              nil,
	"catalog":                 {"catalog/catchup", "migrations"},
	"catalog/catchup":         nil,
	"migrations":              nil,
	"sqltests":                {"driver", "engine/vfs", "sqltests/slt"},
	"sqltests/slt":            nil,
	"sqltests/lint":           nil,
	"sqltests/bridge":         {"vtab", "engine", "engine/row"},
}

// layerOf returns the entry of layers a package belongs to: its own, or that of
// the nearest folder above it for packages that only cut an entry finer.
func layerOf(pkg string) (string, bool) {
	for dir := pkg; dir != "."; dir = path.Dir(dir) {
		if _, ok := layers[dir]; ok {
			return dir, true
		}
	}
	return "", false
}

func TestDependencyArrows(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range allSources(t) {
		layer, ok := layerOf(f.pkg)
		if !ok {
			t.Errorf("%s: package %s has no place in the layers", f.path, f.pkg)
			continue
		}
		seen[layer] = true
		for _, name := range f.imports {
			own, ok := strings.CutPrefix(name, module+"/")
			if !ok {
				continue
			}
			target, ok := layerOf(own)
			if !ok {
				t.Errorf("%s imports %s, which has no place in the layers", f.path, own)
			} else if target != layer && !slices.Contains(layers[layer], target) {
				t.Errorf("%s imports %s: %s may import %v only", f.path, own, layer, layers[layer])
			}
		}
	}
	for _, layer := range []string{"cmd/tidemark", "driver", "vtab", "engine", "catalog", "migrations", "sqltests"} {
		if !seen[layer] {
			t.Errorf("no file of %s was seen", layer)
		}
	}
}

// foreign are imports that belong to some packages alone. Tests may use SQLite
// as an oracle anywhere.
var foreign = []struct {
	prefix    string
	only      []string
	alsoTests bool // the rule holds in tests, too
	why       string
}{
	{"unsafe", []string{"vtab"}, true, "the bridge to SQLite is the one place with addresses"},
	{"database/sql", []string{"driver", "catalog", "migrations", "cmd/tidemark", "sqltests", "sqltests/slt", "vtab"}, false, "the engine knows nothing of SQL"},
	{"modernc.org/", []string{"vtab", "catalog"}, false, "SQLite is reached through the bridge and the catalog"},
	{"github.com/jmoiron/sqlx", []string{"catalog"}, false, "only the catalog is queried"},
	{"github.com/pressly/goose", []string{"migrations", "catalog", "driver"}, false, "only the catalog and applications are migrated"},
	{"github.com/sqlc-dev/meyer", []string{"driver/internal/sqltext"}, true, "the parser is wrapped in one package"},
}

func TestForeignImports(t *testing.T) {
	used := map[string]bool{}
	for _, f := range allSources(t) {
		layer, _ := layerOf(f.pkg)
		for _, name := range f.imports {
			for _, rule := range foreign {
				if name != rule.prefix && !strings.HasPrefix(name, strings.TrimSuffix(rule.prefix, "/")+"/") {
					continue
				}
				used[rule.prefix] = true
				if (!f.test || rule.alsoTests) && !slices.Contains(rule.only, layer) {
					t.Errorf("%s imports %s, which only %v may: %s", f.path, name, rule.only, rule.why)
				}
			}
		}
	}
	for _, rule := range foreign {
		if !used[rule.prefix] {
			t.Errorf("nothing imports %s: the rule is out of date", rule.prefix)
		}
	}
}
