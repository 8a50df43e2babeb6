package engine

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var mutate = flag.String("mutate", "", "break the fences whose name matches this, one at a time, and run the tests that must notice")

// mutation breaks one fence of commit order or recovery: in file, one line or
// one statement of a function is replaced, and one of the tests of package in
// that match run must fail. File and package are relative to this directory;
// old occurs in the file exactly once.
type mutation struct {
	name, file, in, old, new, run string
}

// fence is a mutation of the file it is listed under.
type fence struct{ name, old, new, run string }

// fencesOf are fences of one file that the tests of package in guard.
type fencesOf struct {
	file, in string
	list     []fence
}

// mutations are all fences; their numbers are their positions and 1.
func mutations() (all []mutation) {
	for _, of := range slices.Concat(commitFences, logFences, recoveryFences, replayFences, publicationFences, compactionFences, formatFences, keysFences, branchFences, backupFences, historyFences, mergeFences, catchupFences, segmentFences, prepareFences, indexJobFences, positionFences) {
		for _, f := range of.list {
			all = append(all, mutation{f.name, of.file, of.in, f.old, f.new, f.run})
		}
	}
	return all
}

// selected is the variable, in each package with fences, that says which one is
// broken, and the environment variable it is read from.
const (
	selected    = "brokenFence"
	selectedEnv = "TIDEMARK_BREAK"
)

// weave makes of a file one that has all its fences broken as a choice: beside
// each function there is a copy for each of its fences, with that fence broken,
// and the function hands over to the one selected. So all of them are built at
// once, and one is broken when a test runs.
func weave(file string, numbers map[mutation]int) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, 0)
	if err != nil {
		return "", err
	}
	src, copies := string(text), ""
	hooks := map[int]string{} // what goes behind the brace at an offset
	var errs []error
	for _, m := range slices.SortedFunc(maps.Keys(numbers), func(a, b mutation) int { return numbers[a] - numbers[b] }) {
		fn, hook, err := m.place(set, parsed, src, numbers[m])
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", file, m.name, err))
			continue
		}
		at := func(p token.Pos) int { return set.Position(p).Offset }
		copies += "\n" + src[at(fn.Pos()):at(fn.Name.End())] + suffix(numbers[m]) +
			strings.Replace(src[at(fn.Name.End()):at(fn.End())], m.old, m.new, 1) + "\n"
		hooks[at(fn.Body.Lbrace)+1] += hook
	}
	if len(errs) > 0 {
		return "", errors.Join(errs...)
	}
	for _, at := range slices.Backward(slices.Sorted(maps.Keys(hooks))) {
		src = src[:at] + hooks[at] + src[at:]
	}
	return src + copies, nil
}

func suffix(n int) string { return fmt.Sprintf("Broken%d", n) }

// place finds the function of a fence and writes what hands over to its copy.
func (m *mutation) place(set *token.FileSet, file *ast.File, src string, n int) (*ast.FuncDecl, string, error) {
	if count := strings.Count(src, m.old); count != 1 || m.old == m.new {
		return nil, "", fmt.Errorf("%q occurs %d times, or is not changed", m.old, count)
	}
	from := strings.Index(src, m.old)
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil || set.Position(fn.Body.Lbrace).Offset > from || set.Position(fn.End()).Offset < from+len(m.old) {
			continue
		}
		call := fn.Name.Name + suffix(n)
		if fn.Recv != nil {
			if len(fn.Recv.List[0].Names) == 0 {
				return nil, "", errors.New("its function's receiver has no name")
			}
			call = fn.Recv.List[0].Names[0].Name + "." + call
		}
		var args []string
		for _, p := range fn.Type.Params.List {
			for _, name := range p.Names {
				args = append(args, name.Name)
			}
			if _, ok := p.Type.(*ast.Ellipsis); ok {
				args[len(args)-1] += "..."
			}
			if len(p.Names) == 0 || slices.Contains(args, "_") {
				return nil, "", errors.New("its function has a parameter without a name")
			}
		}
		call += "(" + strings.Join(args, ", ") + ")"
		if fn.Type.Results != nil {
			call = "return " + call
		} else {
			call += "; return"
		}
		return fn, fmt.Sprintf(" if %s == %d { %s };", selected, n, call), nil
	}
	return nil, "", fmt.Errorf("%q is not inside of one function", m.old)
}

// woven writes the files of all fences, and what selects one, into dir, and
// returns the overlay that lets the compiler take them.
func woven(dir string) (overlay string, err error) {
	files := map[string]map[mutation]int{}
	for i, m := range mutations() {
		if files[m.file] == nil {
			files[m.file] = map[mutation]int{}
		}
		files[m.file][m] = i + 1
	}
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	write := func(file, text string) {
		to := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		replace[filepath.Join(here, file)] = to
		err = errors.Join(err, os.WriteFile(to, []byte(text), 0o600))
	}
	for file, numbers := range files {
		text, bad := weave(file, numbers)
		if err = errors.Join(err, bad); bad != nil {
			continue
		}
		write(file, text)
		name := regexp.MustCompile(`(?m)^package (\w+)$`).FindStringSubmatch(text)[1]
		if added := filepath.Join(filepath.Dir(file), "broken_fence.go"); replace[filepath.Join(here, added)] == "" {
			write(added, fmt.Sprintf("package %s\n\nimport (\n\t\"os\"\n\t\"strconv\"\n)\n\nvar %s, _ = strconv.Atoi(os.Getenv(%q))\n", name, selected, selectedEnv))
		}
	}
	if err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, list, 0o600)
}

// TestMutationsApply keeps the list of fences in step with the code.
func TestMutationsApply(t *testing.T) {
	names := map[string]bool{}
	for _, m := range mutations() {
		if names[m.name] {
			t.Errorf("%s: named twice", m.name)
		}
		names[m.name] = true
		if _, err := regexp.Compile(m.run); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
	if _, err := woven(t.TempDir()); err != nil {
		t.Error(err)
	}
}

// TestMutations proves by breaking them that the fences are guarded:
//
//	go test ./engine -run TestMutations -timeout 4h -v -mutate .
//
// It says which test noticed each, and fails for one that none noticed. All
// tests that are to notice anything must pass as long as nothing is broken.
func TestMutations(t *testing.T) {
	if *mutate == "" {
		t.Skip("builds several packages and runs tests once for each fence: run it with -mutate .")
	}
	wanted := regexp.MustCompile(*mutate)
	tmp := t.TempDir()
	overlay, err := woven(tmp)
	if err != nil {
		t.Fatal(err)
	}
	binaries := map[string]string{} // by package
	whole := map[string][]string{}  // all runs, by package
	for _, m := range mutations() {
		if wanted.MatchString(m.name) && !slices.Contains(whole[m.in], m.run) {
			whole[m.in] = append(whole[m.in], m.run)
		}
	}
	for in := range whole {
		binaries[in] = filepath.Join(tmp, fmt.Sprintf("%d.test", len(binaries)))
		if out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binaries[in], "./"+in).CombinedOutput(); err != nil {
			t.Fatalf("%s does not compile: %v\n%s", in, err, out)
		}
	}
	for i, m := range mutations() {
		if !wanted.MatchString(m.name) {
			continue
		}
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			out, err := fenceTests(binaries[m.in], m.in, m.run, i+1, "90s")
			switch by := regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^panic: .*`).FindAllString(out, -1); {
			case err == nil:
				t.Errorf("%s: no test of %q noticed", m.name, m.run)
			case by == nil:
				t.Errorf("%s: %v\n%s", m.name, err, out)
			default:
				t.Logf("%s | %s: noticed by %s", m.file, m.name, strings.TrimSpace(by[0]))
			}
		})
	}
	for in, runs := range whole {
		t.Run("nothing_in_"+filepath.Base(in), func(t *testing.T) {
			if out, err := fenceTests(binaries[in], in, strings.Join(runs, "|"), 0, "20m"); err != nil {
				t.Errorf("with nothing broken: %v\n%s", err, out)
			}
		})
	}
}

// fenceTests runs tests of a package with one fence broken, or with none.
func fenceTests(binary, in, run string, broken int, timeout string) (string, error) {
	cmd := exec.Command(binary, "-test.short", "-test.failfast", "-test.timeout", timeout, "-test.run", run)
	cmd.Dir = in
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", selectedEnv, broken))
	out, err := cmd.CombinedOutput()
	return string(out), err
}
