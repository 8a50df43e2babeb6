package driver

import (
	"strings"
	"testing"
)

// shrinkScript leaves out of a script what a difference does not need. run returns where
// a script differs, -1 if it does not, and why.
func shrinkScript[S any](t *testing.T, run func(*testing.T, []S) (int, string), script []S) []S {
	t.Helper()
	for again := true; again; {
		again = false
		for i := len(script) - 2; i >= 0; i-- {
			less := append(append([]S(nil), script[:i]...), script[i+1:]...)
			if at, why := run(t, less); at >= 0 && !strings.Contains(why, "no such") {
				script, again = less[:at+1], true
				i = min(i, len(script)-1)
			}
		}
	}
	return script
}
