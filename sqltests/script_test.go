package sqltests

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/sqltests/slt"
)

// scriptMode opens a database a script can run on, and says how.
type scriptMode struct {
	name   string
	oracle bool   // plain SQLite
	memory bool   // a store without a directory
	query  string // of the DSN
	reopen int    // close and open again after that many statements
	conns  int    // connections that take turns, statement by statement
}

// TestScripts runs our own scripts on plain SQLite, which proves what they
// expect, and on a store: as it is, closed and opened again between statements,
// on four connections that take turns, in memory, and with tables of which only keys
// are in memory, reopened between statements. A script whose name says "one" keeps
// a transaction open and is run on one connection without being reopened. One of
// branch points compares by itself what was with copies of it, and runs where there
// are any.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("scripts/*.test")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	modes := []scriptMode{{name: "sqlite", oracle: true, conns: 1}, {name: "tidemark", conns: 1}, {name: "reopened", reopen: 1, conns: 1}, {name: "turns", conns: 4}, {name: "memory", memory: true, conns: 4},
		{name: "keys", query: "resident=keys&generation_size=4KiB", reopen: 1, conns: 1}}
	for _, m := range modes {
		for _, f := range files {
			one := strings.Contains(filepath.Base(f), "one_")
			if strings.HasPrefix(filepath.Base(f), "branch_") && (m.oracle || m.memory) {
				continue
			}
			if one && (m.reopen > 0 || m.conns > 1 && !m.memory) {
				continue
			}
			m := m
			if one {
				m.conns = 1
			}
			t.Run(m.name+"/"+strings.TrimSuffix(filepath.Base(f), ".test"), func(t *testing.T) {
				text, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				runOwnScript(t, m, text)
			})
		}
	}
}

func runOwnScript(t *testing.T, m scriptMode, text []byte) {
	ctx := context.Background()
	var db *sql.DB
	var s *Store
	if m.oracle || m.memory {
		driver, dsn := "sqlite", filepath.Join(t.TempDir(), "native.db")
		if m.memory {
			driver, dsn = "tidemark", "?ephemeral=1"
		}
		d, err := sql.Open(driver, dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		db = d
	} else {
		s = Open(t, m.query)
		db = s.DB
	}
	conns := make([]*sql.Conn, m.conns)
	connect := func() {
		for i := range conns {
			c, err := db.Conn(ctx)
			if err != nil {
				t.Fatal(err)
			}
			conns[i] = c
		}
	}
	disconnect := func() {
		for _, c := range conns {
			c.Close()
		}
	}
	connect()
	defer disconnect()
	turn := 0
	o := slt.Options{
		Engines:      []string{"sqlite", "tidemark"},
		EmptyOnError: regexp.MustCompile("integer overflow"),
		OnFail:       func(f slt.Failure) { t.Errorf("%s: %s", f.Record, f.Why) },
	}
	switch {
	case m.reopen > 0:
		o.ReopenEvery = m.reopen
		o.Reopen = func() (*sql.Conn, error) {
			disconnect()
			s.Reopen()
			db = s.DB
			connect()
			return conns[0], nil
		}
	case m.conns > 1:
		o.ReopenEvery = 1
		o.Reopen = func() (*sql.Conn, error) {
			turn++
			return conns[turn%len(conns)], nil
		}
	}
	res := slt.Run(ctx, conns[0], text, o)
	if res.Passed == 0 {
		t.Error("nothing ran")
	}
}
