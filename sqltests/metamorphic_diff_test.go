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

// diffMeta runs the list under the set and compares with what is wanted, which is
// asked of plain SQLite when it is nil. It returns nil when nothing differs.
func diffMeta(list metaList, set metaSet, dir string, want []string) *metaDiff {
	if want == nil {
		var err error
		if want, err = runMeta(list, nil, dir, nil); err != nil {
			return nil
		}
	}
	got, err := runMeta(list, set, dir, want)
	ops := slices.Concat(list.ops, metaEpilogue(list.sessions))
	for i := range want {
		switch {
		case i >= len(got):
			return &metaDiff{i, "broken", fmt.Sprintf("here     %v", err)}
		case got[i] != want[i] && !unpromised(ops[i], got[i], want[i]):
			o := ops[i]
			here, natively := unequalLines(got[i], want[i])
			return &metaDiff{i, metaKind(got[i]) + "/" + metaKind(want[i]), fmt.Sprintf("%s\nhere     %s\nnatively %s", o, here, natively)}
		}
	}
	if err != nil {
		return &metaDiff{len(want), "broken", fmt.Sprintf("here     %v", err)}
	}
	return nil
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
	differs := func(l metaList, s metaSet) bool {
		d := diffMeta(l, s, dir, nil)
		return d != nil && d.kind == first.kind // and not another that it became
	}
	ops := len(list.ops)
	if cut := list.with(list.ops[:min(first.at+1, ops)]); differs(cut, set) {
		list = cut
	}
	set = plainerMeta(set, func(s metaSet) bool { return differs(list, s) })
	list = reduceMeta(list, 30*time.Second, func(l metaList) bool { return differs(l, set) })
	set = plainerMeta(set, func(s metaSet) bool { return differs(list, s) })
	var same, others []string
	for _, s := range sets {
		if differs(list, s) {
			others = append(others, s.String())
		} else {
			same = append(same, s.String())
		}
	}
	what := first.what
	if d := diffMeta(list, set, dir, nil); d != nil {
		what = d.what
	}
	return fmt.Sprintf("%s\n\n# %d operations of %d; it differs under\n#   %s\n# of the sets drawn under\n#   %s\n# and not under\n#   %s\n%s# repeat with -metamorphic.ops=FILE -metamorphic.options='%s'",
		what, len(list.ops), ops, set, strings.Join(others, "\n#   "), strings.Join(same, "\n#   "), list, set)
}
