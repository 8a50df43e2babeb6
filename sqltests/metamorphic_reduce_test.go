package sqltests

import (
	"slices"
	"strings"
	"time"
)

// reduceMeta leaves out operations, and then rows of VALUES, as long as fails holds
// for what is left, until nothing can be left out or the time is over. The list it
// returns fails.
func reduceMeta(l metaList, limit time.Duration, fails func(metaList) bool) metaList {
	end := time.Now().Add(limit)
	l = fewerSessions(reduceOps(l, end, fails), fails)
	for i := range l.ops {
		if l.ops[i].verb == metaFault {
			l = plainerFault(l, i, end, fails)
		}
		l = reduceRows(l, i, end, fails)
	}
	return l
}

// plainerFault makes a fault as weak as it may be.
func plainerFault(l metaList, i int, end time.Time, fails func(metaList) bool) metaList {
	for again := true; again; {
		again = false
		f, err := parseMetaFailure(l.ops[i].text)
		if err != nil {
			return l
		}
		for _, text := range f.plainer() {
			next := l.with(slices.Clone(l.ops))
			if next.ops[i].text = text; time.Now().Before(end) && fails(next) {
				l, again = next, true
				break
			}
		}
	}
	return l
}

// reduceRows leaves out rows of one operation.
func reduceRows(l metaList, i int, end time.Time, fails func(metaList) bool) metaList {
	const between = "), ("
	head, tail, found := strings.Cut(l.ops[i].text, " VALUES(")
	rows := strings.Split(tail, between)
	if !found || len(l.ops[i].args) > 0 {
		return l
	}
	for at := len(rows) - 1; at >= 0 && len(rows) > 1 && time.Now().Before(end); at-- {
		fewer := slices.Delete(slices.Clone(rows), at, at+1)
		text := head + " VALUES(" + strings.Join(fewer, between)
		if at == len(rows)-1 {
			text += ")" // went with the last row
		}
		next := l.with(slices.Clone(l.ops))
		if next.ops[i].text = text; fails(next) {
			l, rows = next, strings.Split(strings.SplitN(text, " VALUES(", 2)[1], between)
		}
	}
	return l
}

func reduceOps(l metaList, end time.Time, fails func(metaList) bool) metaList {
	for size := max(len(l.ops)/2, 1); time.Now().Before(end); {
		smaller := false
		for from := len(l.ops) - size; from > -size && time.Now().Before(end); from -= size {
			ops := append(append([]metaOp{}, l.ops[:max(from, 0)]...), l.ops[from+size:]...)
			if next := l.with(ops); fails(next) {
				l, smaller = next, true
			}
		}
		switch {
		case size > 1:
			size /= 2
		case !smaller:
			return l
		}
	}
	return l
}

// fewerSessions leaves out the last sessions when they do nothing.
func fewerSessions(l metaList, fails func(metaList) bool) metaList {
	used := 0
	for _, o := range l.ops {
		used = max(used, o.session)
	}
	if next := (metaList{used + 1, l.ops}); next.sessions < l.sessions && fails(next) {
		return next
	}
	return l
}

// plainerMeta sets every option to its default that the difference does not need.
func plainerMeta(s metaSet, fails func(metaSet) bool) metaSet {
	for _, o := range metaOptions {
		if s[o.name] == "" || s[o.name] == o.values[0] {
			continue
		}
		if next := s.with(o.name, o.values[0]); fails(next) {
			s = next
		}
	}
	return s
}
