package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// jsonPrinter prints an array of objects, a line each.
type jsonPrinter struct {
	w       io.Writer
	columns []string
	rows    int
}

func (p *jsonPrinter) begin(columns []string) error {
	p.columns = make([]string, len(columns))
	for i, c := range columns {
		p.columns[i] = jsonText(c)
	}
	return nil
}

func (p *jsonPrinter) row(values []any) error {
	var b strings.Builder
	if p.rows++; p.rows == 1 {
		b.WriteString("[{")
	} else {
		b.WriteString(",\n{")
	}
	for i, v := range values {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(p.columns[i] + ":" + jsonValue(v))
	}
	b.WriteString("}")
	_, err := io.WriteString(p.w, b.String())
	return err
}

// end closes the array; where there are no rows nothing is printed, as in
// sqlite3.
func (p *jsonPrinter) end() error {
	if p.rows == 0 {
		return nil
	}
	_, err := io.WriteString(p.w, "]\n")
	return err
}

// jsonValue writes a value. JSON has no infinity: the numbers sqlite3 writes are
// too large for it and read back as one.
func jsonValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case float64:
		switch {
		case math.IsInf(v, 1):
			return "1e999"
		case math.IsInf(v, -1):
			return "-1e999"
		}
		return exactReal(v)
	case string:
		return jsonText(v)
	case []byte: // a character a byte, so that every blob can be told
		runes := make([]rune, len(v))
		for i, b := range v {
			runes[i] = rune(b)
		}
		return jsonText(string(runes))
	}
	return tableText(v)
}

// jsonText writes a string. Bytes that are not UTF-8 become the replacement
// character: JSON cannot hold them.
func jsonText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r >= 0x7f && r < 0xa0:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
