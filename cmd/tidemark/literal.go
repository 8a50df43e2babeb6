package main

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
)

// quoteName writes a name as SQL reads it, whatever it consists of.
func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// quoteText writes a text as an SQL string.
func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// literal writes a value as SQL that yields exactly this value again, in
// Tidemark and in SQLite.
func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case float64:
		return realLiteral(v)
	case []byte:
		return "X'" + hex.EncodeToString(v) + "'"
	case string:
		// A NUL ends a statement, and the sqlite3 shell drops a carriage return
		// at the end of a line, also within a string.
		if strings.ContainsAny(v, "\x00\r") {
			return "CAST(X'" + hex.EncodeToString([]byte(v)) + "' AS TEXT)"
		}
		return quoteText(v)
	}
	return tableText(v)
}

// realLiteral writes a REAL so that every SQLite reads the same bits.
//
// The shortest text that Go would read back is not enough: older versions of
// SQLite round twice where the text is not exactly the number. The shortest text
// serves where it is, and seventeen digits are far enough from the middle
// between two numbers to serve elsewhere.
func realLiteral(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "9e999"
	case math.IsInf(f, -1):
		return "-9e999"
	case f == 0 && math.Signbit(f):
		return "-0.0"
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !exactDecimal(f, s) {
		s = strconv.FormatFloat(f, 'g', 17, 64)
	}
	if mantissa, exponent, ok := strings.Cut(s, "e"); ok {
		if !strings.Contains(mantissa, ".") {
			mantissa += ".0"
		}
		return mantissa + "e" + exponent
	}
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// exactDecimal reports whether a short decimal text is the number itself and not
// only near it: a few binary digits after the point, and no more than fit.
func exactDecimal(f float64, text string) bool {
	if len(text) > 16 || strings.Contains(text, "e") {
		return false
	}
	const places = 1 << 10 // ten binary digits are at most ten decimal ones
	return math.Abs(f) < 1<<53/places && f*places == math.Trunc(f*places)
}

// exactReal writes a REAL for people and programs: as SQLite prints it where
// that is read back as the same number, else with all its digits.
func exactReal(f float64) string {
	if math.IsInf(f, 0) || f == 0 {
		return realLiteral(f)
	}
	s := realText(f)
	if back, err := strconv.ParseFloat(s, 64); err == nil && back == f {
		return s
	}
	s = strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}
