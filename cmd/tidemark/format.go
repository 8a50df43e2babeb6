package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// modes are the ways rows are printed.
var modes = []string{"box", "column", "csv", "insert", "json", "line", "list", "markdown", "quote", "table", "tabs"}

// format says how rows are printed.
type format struct {
	mode      string
	headers   bool
	null      string
	separator string // between the columns of list and tabs, and the delimiter of csv
	rowEnd    string
	table     string // of mode insert

	headersSet   bool  // by the user, so that modes do not
	columnWidths []int // of mode column, table, box; 0 fits, negative aligns right
}

func defaultFormat() format {
	return format{mode: "list", separator: "|", rowEnd: "\n", table: "table"}
}

// setMode changes the mode, and with it the separators.
func (f *format) setMode(args []string) error {
	mode := strings.ToLower(args[0])
	if mode == "columns" {
		mode = "column"
	}
	if !slices.Contains(modes, mode) {
		return fmt.Errorf("mode %s is not known: use %s", args[0], strings.Join(modes, ", "))
	}
	f.mode, f.separator, f.rowEnd = mode, "|", "\n"
	switch mode {
	case "csv":
		f.separator, f.rowEnd = ",", "\r\n"
	case "tabs":
		f.separator = "\t"
	case "quote":
		f.separator = ","
	case "column", "table", "box", "markdown":
		if !f.headersSet {
			f.headers = true
		}
	case "insert":
		f.table = "table"
		if len(args) > 1 {
			f.table = args[1]
		}
	}
	return nil
}

// printer prints the rows of one statement.
type printer interface {
	begin(columns []string) error
	row(values []any) error // the slice is reused
	end() error
}

// printer returns the printer of the mode.
func (f *format) printer(w *bufio.Writer) printer {
	switch f.mode {
	case "csv":
		return &csvPrinter{f: f, w: &csvWriter{w: w, delimiter: f.separator, null: f.null, end: f.rowEnd}}
	case "line":
		return &linePrinter{f: f, w: w}
	case "json":
		return &jsonPrinter{w: w}
	case "insert":
		return &insertPrinter{f: f, w: w}
	case "column", "table", "box", "markdown":
		return &gridPrinter{f: f, w: w, style: gridStyles[f.mode]}
	case "quote":
		return &listPrinter{f: f, w: w, value: literal, name: quoteText}
	}
	return &listPrinter{f: f, w: w, value: f.text, name: func(s string) string { return s }}
}

// text is a value as list mode shows it.
func (f *format) text(v any) string {
	if v == nil {
		return f.null
	}
	return listText(v)
}

// listPrinter prints values with a separator between.
type listPrinter struct {
	f     *format
	w     io.Writer
	value func(any) string
	name  func(string) string
}

func (p *listPrinter) begin(columns []string) error {
	if !p.f.headers {
		return nil
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = p.name(c)
	}
	return p.write(names)
}

func (p *listPrinter) row(values []any) error {
	fields := make([]string, len(values))
	for i, v := range values {
		fields[i] = p.value(v)
	}
	return p.write(fields)
}

func (p *listPrinter) write(fields []string) error {
	_, err := io.WriteString(p.w, strings.Join(fields, p.f.separator)+p.f.rowEnd)
	return err
}

func (p *listPrinter) end() error { return nil }

// csvPrinter prints rows as export does.
type csvPrinter struct {
	f *format
	w *csvWriter
}

func (p *csvPrinter) begin(columns []string) error {
	if !p.f.headers {
		return nil
	}
	return p.w.header(columns)
}

func (p *csvPrinter) row(values []any) error { return p.w.row(values) }
func (p *csvPrinter) end() error             { return nil }

// linePrinter prints a value a line, its name before.
type linePrinter struct {
	f       *format
	w       io.Writer
	columns []string
	width   int
	rows    int
}

func (p *linePrinter) begin(columns []string) error {
	p.columns, p.width = columns, 5
	for _, c := range columns {
		p.width = max(p.width, textWidth(c))
	}
	return nil
}

func (p *linePrinter) row(values []any) error {
	var b strings.Builder
	if p.rows++; p.rows > 1 {
		b.WriteString("\n")
	}
	for i, v := range values {
		b.WriteString(strings.Repeat(" ", p.width-textWidth(p.columns[i])) + p.columns[i] + " = " + p.f.text(v) + "\n")
	}
	_, err := io.WriteString(p.w, b.String())
	return err
}

func (p *linePrinter) end() error { return nil }

// insertPrinter prints an INSERT a row.
type insertPrinter struct {
	f    *format
	w    io.Writer
	head string
}

func (p *insertPrinter) begin(columns []string) error {
	p.head = "INSERT INTO " + nameText(p.f.table)
	if p.f.headers {
		names := make([]string, len(columns))
		for i, c := range columns {
			names[i] = nameText(c)
		}
		p.head += "(" + strings.Join(names, ",") + ")"
	}
	p.head += " VALUES("
	return nil
}

func (p *insertPrinter) row(values []any) error {
	fields := make([]string, len(values))
	for i, v := range values {
		fields[i] = literal(v)
	}
	_, err := io.WriteString(p.w, p.head+strings.Join(fields, ",")+");\n")
	return err
}

func (p *insertPrinter) end() error { return nil }
