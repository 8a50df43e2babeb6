package sqltext

import (
	"slices"
	"strings"
)

// Edits is a set of replacements in one source text.
type Edits struct{ list []edit }

type edit struct {
	start, end int
	text       string
}

// Replace puts text in the place of src[start:end].
func (e *Edits) Replace(start, end int, text string) {
	e.list = append(e.list, edit{start, end, text})
}

// Insert puts text before the byte at pos.
func (e *Edits) Insert(pos int, text string) { e.Replace(pos, pos, text) }

// Put is Replace for a part that has edits: they go with it.
func (e *Edits) Put(start, end int, text string) {
	e.list = slices.DeleteFunc(e.list, func(x edit) bool { return x.start >= start && x.end <= end && x.end > start })
	e.Replace(start, end, text)
}

// Clone returns a copy that later edits do not touch.
func (e *Edits) Clone() Edits { return Edits{slices.Clone(e.list)} }

// keep adds the edits of others between start and end that are not within one of e.
func (e *Edits) keep(others Edits, start, end int) {
	own := e.list
	for _, x := range others.list {
		within := func(y edit) bool { return x.start >= y.start && x.end <= y.end }
		if x.start >= start && x.end <= end && !slices.ContainsFunc(own, within) {
			e.list = append(e.list, x)
		}
	}
}

// within returns src[start:end] with the edits made.
func (e *Edits) within(src string, start, end int) string {
	for i := range e.list {
		e.list[i].start -= start
		e.list[i].end -= start
	}
	return e.Apply(src[start:end])
}

// Len returns the number of edits.
func (e *Edits) Len() int { return len(e.list) }

// Apply returns src with the edits made. Edits must not overlap; those at one
// position keep the order they were given in.
func (e *Edits) Apply(src string) string {
	if len(e.list) == 0 {
		return src
	}
	return e.applyRange(src, 0, len(src))
}

// applyRange returns src[from:to] with the edits made that lie within.
func (e *Edits) applyRange(src string, from, to int) string {
	slices.SortStableFunc(e.list, func(a, b edit) int { return a.start - b.start })
	var b strings.Builder
	at := from
	for _, x := range e.list {
		if x.start < from || x.end > to {
			continue
		}
		b.WriteString(src[at:x.start])
		b.WriteString(x.text)
		at = x.end
	}
	b.WriteString(src[at:to])
	return b.String()
}

// Quote spells a name as a quoted identifier.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// QuoteText spells a string as a literal.
func QuoteText(s string) string { return `'` + strings.ReplaceAll(s, `'`, `''`) + `'` }

// Lower is a name as SQLite compares it: ASCII letters in lower case.
func Lower(name string) string {
	for i := 0; i < len(name); i++ {
		if c := name[i]; c >= 'A' && c <= 'Z' {
			b := []byte(name)
			for ; i < len(b); i++ {
				if b[i] >= 'A' && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return name
}
