package main

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
)

// affinity is what SQLite makes of a declared type.
type affinity int

// Affinities.
const (
	affinityBlob affinity = iota
	affinityText
	affinityNumeric // also INTEGER
	affinityReal
)

// affinityOf follows SQLite's rules; ANY converts nothing in a STRICT table
// only.
func affinityOf(declared string, strict bool) affinity {
	t := strings.ToUpper(declared)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(t, w) {
				return true
			}
		}
		return false
	}
	switch {
	case strict && t == "ANY":
		return affinityBlob
	case has("INT"):
		return affinityNumeric
	case has("CHAR", "CLOB", "TEXT"):
		return affinityText
	case t == "" || has("BLOB"):
		return affinityBlob
	case has("REAL", "FLOA", "DOUB"):
		return affinityReal
	}
	return affinityNumeric
}

// value makes of a field what is bound to the column. A quoted field is a text.
// Of the others null is NULL, x'…' is a blob, and a number is one where the
// column takes numbers: a column of type TEXT keeps every character.
func (f field) value(a affinity, null string) any {
	if f.quoted {
		return f.text
	}
	if f.text == null {
		return nil
	}
	if b, ok := blobText(f.text); ok {
		return b
	}
	if a == affinityText {
		return f.text
	}
	if n, ok := canonicalInt(f.text); ok {
		return n
	}
	if !numberText(f.text) {
		return f.text
	}
	switch r, ok := parseReal(f.text); {
	case !ok || strings.Trim(f.text, "+-0123456789") == "":
		// An integer that is too large, or not in its shortest form: the column
		// decides, as for a text in an INSERT.
		return f.text
	case a == affinityBlob && !rendersAs(r, f.text):
		return f.text // as a number it would look otherwise
	default:
		return r
	}
}

// parseReal reads a number; one that is too large is infinite, as in SQLite.
func parseReal(s string) (float64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || math.IsInf(f, 0)
}

// rendersAs reports whether a REAL is written as just this text.
func rendersAs(f float64, text string) bool { return exactReal(f) == text || realText(f) == text }

// canonicalInt reads an integer that is written in the one way that it is
// printed: no sign +, no leading zero, no more than 64 bits.
func canonicalInt(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == s
}

// numberText reports whether a text is a decimal number in SQLite's eyes.
func numberText(s string) bool {
	i, digits := 0, 0
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	count := func() {
		for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			digits++
		}
	}
	count()
	if i < len(s) && s[i] == '.' {
		i++
		count()
	}
	if digits == 0 {
		return false
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		digits = 0
		count()
		return digits > 0 && i == len(s)
	}
	return i == len(s)
}

// blobText reads x'…'.
func blobText(s string) ([]byte, bool) {
	if len(s) < 3 || s[0] != 'x' && s[0] != 'X' || s[1] != '\'' || s[len(s)-1] != '\'' {
		return nil, false
	}
	b, err := hex.DecodeString(s[2 : len(s)-1])
	return b, err == nil
}

// typeGuess finds the narrowest type of a column that loses nothing of its
// values.
type typeGuess struct {
	notInt, notReal, notBlob, any bool
}

// add looks at a field.
func (g *typeGuess) add(f field, null string) {
	if !f.quoted && f.text == null || f.text == "" {
		return
	}
	g.any = true
	if !g.notBlob {
		_, ok := blobText(f.text)
		g.notBlob = f.quoted || !ok
	}
	if !g.notInt {
		_, ok := canonicalInt(f.text)
		g.notInt = !ok
	}
	if !g.notReal {
		r, ok := parseReal(f.text)
		g.notReal = !ok || !numberText(f.text) || !rendersAs(r, f.text)
	}
}

// declared is the type: TEXT where nothing is known.
func (g *typeGuess) declared() string {
	switch {
	case !g.any:
		return "TEXT"
	case !g.notInt:
		return "INTEGER"
	case !g.notReal:
		return "REAL"
	case !g.notBlob:
		return "BLOB"
	}
	return "TEXT"
}
