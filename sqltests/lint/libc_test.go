package lint

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// The port of SQLite is generated for one version of its C library and fails in
// ways that are hard to see with another, so the two are raised together or not
// at all.
func TestLibcIsTheOneOfSQLite(t *testing.T) {
	ours := goList(t, "{{.Version}}", "modernc.org/libc")
	gomod, err := os.ReadFile(goList(t, "{{.GoMod}}", "modernc.org/sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^\s*(?:require\s+)?modernc\.org/libc\s+(v\S+)`).FindSubmatch(gomod)
	if found == nil {
		t.Fatalf("the go.mod of modernc.org/sqlite names no libc:\n%s", gomod)
	}
	if theirs := string(found[1]); ours != theirs {
		t.Errorf("go.mod has modernc.org/libc %s, modernc.org/sqlite needs %s", ours, theirs)
	}
}

// goList asks the go command about a module.
func goList(t *testing.T, format, module string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", format, module).CombinedOutput()
	if err != nil {
		t.Fatalf("go list -m %s: %v\n%s", module, err, out)
	}
	return strings.TrimSpace(string(out))
}
