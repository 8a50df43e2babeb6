package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// README.md says of every direct dependency why it is there, and of no other.
func TestReadmeNamesDependencies(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	readme := readFile(t, filepath.Join(root, "README.md"))
	_, section, ok := strings.Cut(readme, "## Dependencies\n")
	if !ok {
		t.Fatal("README.md has no Dependencies section")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^- `([^`]+)`: \\S").FindAllStringSubmatch(section, -1) {
		named[m[1]] = true
	}
	required := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(readFile(t, filepath.Join(root, "go.mod")), -1) {
		required[regexp.MustCompile(`/v\d+$`).ReplaceAllString(m[1], "")] = true
	}
	if len(required) == 0 {
		t.Fatal("go.mod has no direct requirement")
	}
	for name := range required {
		if !named[name] {
			t.Errorf("README.md does not say why %s is needed", name)
		}
	}
	for name := range named {
		if !required[name] {
			t.Errorf("README.md tells of %s, which go.mod does not need directly", name)
		}
	}
}

// The two commands of README.md exist, and continuous integration runs the same
// one.
func TestCommandsOfReadme(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	readme, makefile := readFile(t, filepath.Join(root, "README.md")), readFile(t, filepath.Join(root, "Makefile"))
	for _, target := range []string{"run", "test"} {
		if !strings.Contains(readme, "make "+target) {
			t.Errorf("README.md does not name make %s", target)
		}
		if !regexp.MustCompile(`(?m)^` + target + `:`).MatchString(makefile) {
			t.Errorf("Makefile has no target %s", target)
		}
	}
	ci := filepath.Join(root, ".ci", "run")
	if !strings.Contains(readFile(t, ci), "\nexec make test\n") {
		t.Error(".ci/run does not run make test")
	}
	if info, err := os.Stat(ci); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf(".ci/run cannot be executed: %v", err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
