package sqltests

import (
	"time"
)

// reduceMeta leaves out operations as long as fails holds for what is left, until
// none can be left out or the time is over. The list it returns fails.
func reduceMeta(l metaList, limit time.Duration, fails func(metaList) bool) metaList {
	end := time.Now().Add(limit)
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
			return fewerSessions(l, fails)
		}
	}
	return fewerSessions(l, fails)
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
