package sqltests

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// metaDiff is where the history of a list under an option set is not that of
// plain SQLite.
type metaDiff struct {
	at   int    // operation
	kind string // what both were: rows, an error of some code
	what string
}

// diffMeta runs the list on plain SQLite and under the set. It returns what plain
// SQLite showed, and nil when nothing differs.
func diffMeta(list metaList, set metaSet, dir string) (want []string, stats metaStats, d *metaDiff) {
	got, want, stats, err := runMeta(list, set, dir)
	ops := slices.Concat(list.ops, metaEpilogue(list.sessions))
	for i := range got {
		if got[i] != want[i] && !unpromised(ops[i], got[i], want[i]) {
			o := ops[i]
			here, natively := unequalLines(got[i], want[i])
			return want, stats, &metaDiff{i, metaKind(got[i]) + "/" + metaKind(want[i]), fmt.Sprintf("%s\nhere     %s\nnatively %s", o, here, natively)}
		}
	}
	if err != nil {
		return want, stats, &metaDiff{len(got), "broken", err.Error()}
	}
	return want, stats, nil
}

// metaKind is "error" with the code, or what is no error.
func metaKind(entry string) string {
	f := strings.Fields(entry)
	if len(f) > 1 && f[0] == "error" {
		return f[0] + f[1]
	}
	return "rows"
}

// unequalLines leaves out what two entries begin and end with alike, but for the
// last line in front, which may say of what the rows are.
func unequalLines(a, b string) (string, string) {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for len(x) > 1 && len(y) > 1 && x[1] == y[1] && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 1 && len(y) > 1 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	return strings.Join(x, "\n"), strings.Join(y, "\n")
}

// unpromised reports a difference that only says how busy a session was: both are
// errors and one because of another session, so the other reason was told; or
// nothing was to do for an IF [NOT] EXISTS, which SQLite tells from an older
// schema.
func unpromised(o metaOp, here, natively string) bool {
	here, rows, _ := strings.Cut(here, metaDrained)
	natively, others, _ := strings.Cut(natively, metaDrained)
	if rows != others {
		return false
	}
	busy := func(s string) bool { return isBusy(s) || strings.HasPrefix(s, "error 517 ") }
	if here == "ok" && busy(natively) {
		return strings.Contains(o.text, " IF ")
	}
	return strings.HasPrefix(here, "error") && strings.HasPrefix(natively, "error") && (busy(here) || busy(natively))
}

// reportMeta reduces a list that differs and describes it.
func reportMeta(list metaList, set metaSet, sets []metaSet, dir string, first *metaDiff) string {
	what, tries := first.what, 1
	differs := func(l metaList, s metaSet) bool {
		for range tries {
			if _, _, d := diffMeta(l, s, dir); d != nil && d.kind == first.kind { // and not another that it became
				what = d.what
				return true
			}
		}
		return false
	}
	// Which operation of the disk a fault meets depends on when the store's own
	// goroutines get their turn: such a list is run more often before it is said
	// not to differ.
	for range 2 {
		if !differs(list, set) {
			tries = 3
			break
		}
	}
	ops := len(list.ops)
	if cut := list.with(list.ops[:min(first.at+1, ops)]); differs(cut, set) {
		list = cut
	}
	set = plainerMeta(set, func(s metaSet) bool { return differs(list, s) })
	list = reduceMeta(list, 90*time.Second, func(l metaList) bool { return differs(l, set) })
	set = plainerMeta(set, func(s metaSet) bool { return differs(list, s) })
	differs(list, set)
	reduced := what
	var same, others []string
	for _, s := range sets {
		if differs(list, s) {
			others = append(others, s.String())
		} else {
			same = append(same, s.String())
		}
	}
	return fmt.Sprintf("%s\n\n# %d operations of %d; it differs under\n#   %s\n# of the sets drawn under\n#   %s\n# and not under\n#   %s\n%s# repeat with -metamorphic.ops=FILE -metamorphic.options='%s'",
		reduced, len(list.ops), ops, set, strings.Join(others, "\n#   "), strings.Join(same, "\n#   "), list, set)
}
