package driver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
)

// TestLikeSQLiteFiles runs the scripts of testdata/like as TestLikeSQLite does:
// directly, through prepared statements, and with the store closed and opened
// again after each statement. A script whose name begins with one_ keeps a
// transaction or a setting of its connection and is not reopened.
func TestLikeSQLiteFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/like/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sql")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		run := func(mode string, f func(t *testing.T, o *oracle, s *subject)) {
			t.Run(name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				f(t, newOracle(t), newSubject(t))
			})
		}
		run("direct", func(t *testing.T, o *oracle, s *subject) {
			compare(t, o, s, string(text))
		})
		run("prepared", func(t *testing.T, o *oracle, s *subject) {
			s.prepare = true
			compare(t, o, s, string(text))
		})
		if strings.HasPrefix(name, "one_") {
			continue
		}
		run("reopened", func(t *testing.T, o *oracle, s *subject) {
			s.fresh = true
			for statement := range sqltext.Statements(string(text)) {
				compareOne(t, o, s, statement)
				s.close()
				s.open()
			}
		})
	}
}
