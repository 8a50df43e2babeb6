package main

import (
	"io"
	"strings"
	"unicode/utf8"
)

// gridStyle is what stands between the cells of a table: three characters and
// the line of each rule, "" for none.
type gridStyle struct {
	left, between, right string
	top, middle, bottom  [4]string // left, line, crossing, right
	rules                bool      // between rows that have several lines
	centered             bool      // names
}

var gridStyles = map[string]gridStyle{
	"column": {between: "  "},
	"table": {
		left: "| ", between: " | ", right: " |", rules: true, centered: true,
		top: [4]string{"+", "-", "+", "+"}, middle: [4]string{"+", "-", "+", "+"}, bottom: [4]string{"+", "-", "+", "+"},
	},
	"box": {
		left: "│ ", between: " │ ", right: " │", rules: true, centered: true,
		top: [4]string{"┌", "─", "┬", "┐"}, middle: [4]string{"├", "─", "┼", "┤"}, bottom: [4]string{"└", "─", "┴", "┘"},
	},
	"markdown": {left: "| ", between: " | ", right: " |", centered: true, middle: [4]string{"|", "-", "|", "|"}},
}

// gridPrinter aligns columns, for which it has to see all rows first.
type gridPrinter struct {
	f       *format
	w       io.Writer
	style   gridStyle
	columns []string
	cells   [][][]string // row, column, line
	widths  []int
	several bool // a cell has more than one line
}

// fixed is the width that was set for a column, and whether it aligns right.
func (p *gridPrinter) fixed(i int) (width int, right bool) {
	if i >= len(p.f.columnWidths) || p.f.mode == "markdown" {
		return 0, false
	}
	width = p.f.columnWidths[i]
	return max(width, -width), width < 0
}

// wrap cuts lines that are longer than a width.
func wrap(lines []string, width int) []string {
	if width == 0 {
		return lines
	}
	var cut []string
	for _, line := range lines {
		runes := []rune(line)
		for len(runes) > width {
			cut, runes = append(cut, string(runes[:width])), runes[width:]
		}
		cut = append(cut, string(runes))
	}
	return cut
}

// textWidth is the number of characters of a text, as sqlite3 counts it.
func textWidth(s string) int { return utf8.RuneCountInString(s) }

func (p *gridPrinter) begin(columns []string) error {
	for i, c := range columns {
		fixed, _ := p.fixed(i)
		c = wrap([]string{c}, fixed)[0]
		width := fixed
		if p.f.headers {
			width = max(width, textWidth(c))
		}
		p.columns, p.widths = append(p.columns, c), append(p.widths, width)
	}
	return nil
}

func (p *gridPrinter) row(values []any) error {
	row := make([][]string, len(values))
	for i, v := range values {
		text := p.f.text(v)
		if b, ok := v.([]byte); ok && strings.ContainsFunc(string(b), unprintable) {
			text = tableText(v)
		}
		fixed, _ := p.fixed(i)
		row[i] = wrap(strings.Split(strings.ReplaceAll(text, "\t", "        "), "\n"), fixed)
		for _, line := range row[i] {
			p.widths[i] = max(p.widths[i], textWidth(line))
		}
		p.several = p.several || len(row[i]) > 1
	}
	p.cells = append(p.cells, row)
	return nil
}

// unprintable reports characters that would spoil a table.
func unprintable(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == '�' }

func (p *gridPrinter) end() error {
	if len(p.cells) == 0 {
		return nil // as sqlite3: no rows, no table
	}
	var b strings.Builder
	p.rule(&b, p.style.top)
	if p.f.headers {
		b.WriteString(p.style.left)
		for i, c := range p.columns {
			if i > 0 {
				b.WriteString(p.style.between)
			}
			space := p.widths[i] - textWidth(c)
			before := 0
			if _, right := p.fixed(i); p.style.centered {
				before = space / 2
			} else if right {
				before = space
			}
			b.WriteString(strings.Repeat(" ", before) + c + strings.Repeat(" ", space-before))
		}
		b.WriteString(p.style.right + "\n")
		if p.style.middle[1] == "" {
			for i, w := range p.widths {
				if i > 0 {
					b.WriteString(p.style.between)
				}
				b.WriteString(strings.Repeat("-", w))
			}
			b.WriteString("\n")
		} else {
			p.rule(&b, p.style.middle)
		}
	}
	for i, row := range p.cells {
		if i > 0 && p.several {
			switch {
			case p.style.rules:
				p.rule(&b, p.style.middle)
			case p.style.left == "":
				b.WriteString("\n")
			}
		}
		p.lines(&b, row)
	}
	p.rule(&b, p.style.bottom)
	_, err := io.WriteString(p.w, b.String())
	return err
}

// lines writes the lines of one row.
func (p *gridPrinter) lines(b *strings.Builder, row [][]string) {
	height := 1
	for _, cell := range row {
		height = max(height, len(cell))
	}
	for n := range height {
		b.WriteString(p.style.left)
		for i, cell := range row {
			if i > 0 {
				b.WriteString(p.style.between)
			}
			text := ""
			if n < len(cell) {
				text = cell[n]
			}
			space := strings.Repeat(" ", p.widths[i]-textWidth(text))
			if _, right := p.fixed(i); right {
				text, space = space, text
			}
			b.WriteString(text + space)
		}
		b.WriteString(p.style.right + "\n")
	}
}

// rule writes a line across, where the style has one.
func (p *gridPrinter) rule(b *strings.Builder, parts [4]string) {
	if parts[1] == "" {
		return
	}
	pad := len([]rune(p.style.left)) + len([]rune(p.style.right)) - 2
	b.WriteString(parts[0])
	for i, w := range p.widths {
		if i > 0 {
			b.WriteString(parts[2])
		}
		b.WriteString(strings.Repeat(parts[1], w+pad))
	}
	b.WriteString(parts[3] + "\n")
}
