package sqltests

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"database/sql"

	"github.com/tidemarkdb/tidemark/driver"
)

// metaOptions are what must not change a history, but for acknowledged commits
// that a crash may take back without sync=full, each with its default first.
// Names with an @ are ways of the runner, the others keys of the DSN; a value
// that this version refuses by name is left out.
var metaOptions = []metaOption{
	{"generation_size", []string{"64MiB", "4KiB", "1KiB"}},
	{"pushdown", []string{"on", "off"}},
	{"sync", []string{"full", "normal", "off"}},
	{"shards", []string{"1", "3", "8"}},
	{"resident", []string{"all", "keys"}},
	{"@modes", []string{"one", "mixed"}}, // tables are all made alike, or each says where its rows are
	{"txlock", []string{"deferred", "immediate"}},
	{"@disk", []string{"files", "memory"}},             // a crash kills a process, or stops the disk before what was not synced
	{"@pool", []string{"own", "1", "2", "4"}},          // connections of a pool, or one for each session
	{"@text", []string{"plain", "prepared", "kept"}},   // statements are prepared for one use, or for all
	{"@begin", []string{"text", "api"}},                // BEGIN and COMMIT are texts or BeginTx and Commit
	{"@reopen", []string{"never", "closed", "killed"}}, // between operations without a transaction
}

type metaOption struct {
	name   string
	values []string
}

// metaSet is one choice of every option.
type metaSet map[string]string

// String names what is not the default.
func (s metaSet) String() string {
	var out []string
	for _, o := range metaOptions {
		if v := s[o.name]; v != "" && v != o.values[0] {
			out = append(out, o.name+"="+v)
		}
	}
	if s["@lie"] != "" {
		out = append(out, "@lie="+s["@lie"])
	}
	if len(out) == 0 {
		return "defaults"
	}
	return strings.Join(out, " ")
}

// query is the part of a DSN behind the ?.
func (s metaSet) query() string {
	out := []string{"busy_timeout=0"}
	for name, v := range s {
		if !strings.HasPrefix(name, "@") {
			out = append(out, name+"="+v)
		}
	}
	slices.Sort(out)
	return strings.Join(out, "&")
}

func (s metaSet) with(name, value string) metaSet {
	out := metaSet{}
	for k, v := range s {
		out[k] = v
	}
	out[name] = value
	return out
}

// legalMetaOptions are the options with the values this version knows.
func legalMetaOptions(t *testing.T) (out []metaOption) {
	t.Helper()
	for _, o := range metaOptions {
		legal := metaOption{name: o.name}
		for _, v := range o.values {
			if !strings.HasPrefix(o.name, "@") && refusedByName(t, o.name, v) {
				t.Logf("%s=%s is not available and left out", o.name, v)
				continue
			}
			legal.values = append(legal.values, v)
		}
		out = append(out, legal)
	}
	return out
}

func refusedByName(t *testing.T, key, value string) bool {
	t.Helper()
	db, err := sql.Open("tidemark", filepath.Join(tempDir(t), "store")+"?"+key+"="+value)
	if err == nil {
		err = errors.Join(db.Ping(), db.Close())
	}
	if err == nil {
		return false
	}
	if !errors.Is(err, driver.ErrNotAvailable) || !strings.Contains(err.Error(), key) {
		t.Fatalf("%s=%s: %v", key, value, err)
	}
	return true
}

// metaSets draws n sets; the first is the defaults.
func metaSets(options []metaOption, rnd *rand.Rand, n int) (out []metaSet) {
	for i := range n {
		s := metaSet{}
		for _, o := range options {
			v := o.values[0]
			if i > 0 {
				v = o.values[rnd.IntN(len(o.values))]
			}
			s[o.name] = v
		}
		out = append(out, s)
	}
	return out
}

// parseMetaSet reads what metaSet.String wrote.
func parseMetaSet(text string) (metaSet, error) {
	s := metaSet{}
	for _, f := range strings.Fields(text) {
		name, value, _ := strings.Cut(f, "=")
		i := slices.IndexFunc(metaOptions, func(o metaOption) bool { return o.name == name })
		switch {
		case f == "defaults":
		case i < 0 || !slices.Contains(metaOptions[i].values, value):
			return nil, fmt.Errorf("no option %s", f)
		default:
			s[name] = value
		}
	}
	return s, nil
}
