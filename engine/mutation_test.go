package engine

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var mutate = flag.String("mutate", "", "break the fences whose name matches this, one at a time, and run the tests that must notice")

// mutation breaks one fence of commit order or recovery: in file, one line or
// one statement is replaced, and one of the tests that match run must fail. The
// file is relative to this directory; old occurs in it exactly once.
type mutation struct {
	name, file, old, new, run string
}

// apply returns the file with the fence broken.
func (m *mutation) apply() (string, error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		return "", fmt.Errorf("%s: %q occurs %d times in %s", m.name, m.old, n, m.file)
	}
	return strings.Replace(string(text), m.old, m.new, 1), nil
}

// TestMutationsApply keeps the list of fences in step with the code.
func TestMutationsApply(t *testing.T) {
	names := map[string]bool{}
	for _, m := range mutations {
		if _, err := m.apply(); err != nil {
			t.Error(err)
		}
		if names[m.name] || m.old == m.new {
			t.Errorf("%s: named twice, or changes nothing", m.name)
		}
		names[m.name] = true
		if _, err := regexp.Compile(m.run); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

// TestMutations proves by breaking them that the fences are guarded:
//
//	go test ./engine -run TestMutations -timeout 4h -mutate .
//
// It says which test noticed each, and fails for one that none noticed.
func TestMutations(t *testing.T) {
	if *mutate == "" {
		t.Skip("builds the package once for each fence: run it with -mutate .")
	}
	wanted := regexp.MustCompile(*mutate)
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutations {
		if !wanted.MatchString(m.name) {
			continue
		}
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			text, err := m.apply()
			if err != nil {
				t.Fatal(err)
			}
			tmp := t.TempDir()
			broken, overlay := filepath.Join(tmp, filepath.Base(m.file)), filepath.Join(tmp, "overlay.json")
			list, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(dir, m.file): broken}})
			if err != nil {
				t.Fatal(err)
			}
			for file, data := range map[string][]byte{broken: []byte(text), overlay: list} {
				if err := os.WriteFile(file, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			binary := filepath.Join(tmp, "broken.test")
			if out, err := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", binary, ".").CombinedOutput(); err != nil {
				t.Fatalf("it does not compile: %v\n%s", err, out)
			}
			cmd := exec.Command(binary, "-test.short", "-test.failfast", "-test.timeout", "4m", "-test.run", m.run)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			switch by := regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^panic: .*`).FindSubmatch(out); {
			case err == nil:
				t.Errorf("%s: no test of %q noticed", m.name, m.run)
			case by == nil:
				t.Errorf("%s: %v\n%s", m.name, err, out)
			default:
				t.Logf("%s: noticed by %s", m.name, by[0])
			}
		})
	}
}
