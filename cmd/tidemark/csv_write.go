package main

import (
	"encoding/hex"
	"io"
	"strings"
)

// csvWriter writes rows so that reading them gives the same values: NULL is
// nothing and an empty text is "", a text that looks like a number or a blob is
// quoted, a REAL has all the digits it needs and a blob is x'…'.
type csvWriter struct {
	w         io.Writer
	delimiter string
	null      string
	end       string
}

func newCSVWriter(w io.Writer) *csvWriter { return &csvWriter{w: w, delimiter: ",", end: "\r\n"} }

// header writes the names of the columns.
func (c *csvWriter) header(names []string) error {
	fields := make([]string, len(names))
	for i, n := range names {
		fields[i] = c.text(n)
	}
	_, err := io.WriteString(c.w, strings.Join(fields, c.delimiter)+c.end)
	return err
}

// row writes the values of a row.
func (c *csvWriter) row(values []any) error {
	fields := make([]string, len(values))
	for i, v := range values {
		fields[i] = c.field(v)
	}
	_, err := io.WriteString(c.w, strings.Join(fields, c.delimiter)+c.end)
	return err
}

// field writes a value.
func (c *csvWriter) field(v any) string {
	switch v := v.(type) {
	case nil:
		return c.null
	case float64:
		return exactReal(v)
	case []byte:
		return "x'" + hex.EncodeToString(v) + "'"
	case string:
		if v == c.null || numberText(v) {
			return `"` + v + `"`
		}
		return c.text(v)
	}
	return tableText(v)
}

// text quotes a text where sqlite3 does.
func (c *csvWriter) text(s string) string {
	plain := s != "" && !strings.Contains(s, c.delimiter) && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r == '"' || r == '\'' || r >= 0x7f
	})
	if plain {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
