package main

import (
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// writeAligned writes rows in columns as wide as their widest cell.
func writeAligned(w io.Writer, rows [][]string, indent string) {
	var widths []int
	for _, r := range rows {
		for i, cell := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, r := range rows {
		var b strings.Builder
		b.WriteString(indent)
		for i, cell := range r {
			b.WriteString(cell)
			if i < len(r)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

// writeTable writes rows under a header, with a rule between.
func writeTable(w io.Writer, header []string, rows [][]string, indent string) {
	rule := make([]string, len(header))
	for i := range header {
		n := utf8.RuneCountInString(header[i])
		for _, r := range rows {
			n = max(n, utf8.RuneCountInString(r[i]))
		}
		rule[i] = strings.Repeat("-", n)
	}
	writeAligned(w, append([][]string{header, rule}, rows...), indent)
}

// scanRows calls each with the values of every row and returns the columns.
func scanRows(rows *sql.Rows, each func([]any) error) ([]string, error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values := make([]any, len(columns))
	pointers := make([]any, len(columns))
	for i := range values {
		pointers[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(pointers...); err != nil {
			return columns, err
		}
		for i, v := range values {
			// Some drivers read an empty blob as a nil slice, which others write
			// as NULL.
			if b, ok := v.([]byte); ok && b == nil {
				values[i] = []byte{}
			}
		}
		if err := each(values); err != nil {
			return columns, err
		}
	}
	return columns, rows.Err()
}

// listText is a value as sqlite3 prints it in list mode.
func listText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []byte:
		return string(v)
	}
	return tableText(v)
}

// tableText is a value as a person reads it in a table.
func tableText(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case bool:
		if v {
			return "1"
		}
		return "0"
	case float64:
		return realText(v)
	case []byte:
		return "x'" + hex.EncodeToString(v) + "'"
	case time.Time:
		return v.Format(time.RFC3339Nano)
	}
	return fmt.Sprint(v)
}

// realText writes a REAL as SQLite does: 15 significant digits, and always
// something that shows that it is one.
func realText(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "Inf"
	case math.IsInf(f, -1):
		return "-Inf"
	case f == 0:
		return "0.0"
	}
	s := strconv.FormatFloat(f, 'g', 15, 64)
	mantissa, exponent, scientific := strings.Cut(s, "e")
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimSuffix(strings.TrimRight(mantissa, "0"), ".")
	}
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	if scientific {
		return mantissa + "e" + exponent
	}
	return mantissa
}
