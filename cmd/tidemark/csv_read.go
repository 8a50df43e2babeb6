package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
)

// field is one value of a CSV file. Whether it was quoted is kept, because that
// tells an empty text from NULL and a text of digits from a number.
type field struct {
	text   string
	quoted bool
}

// csvReader reads RFC 4180 with any delimiter. The package encoding/csv does not
// serve here: it drops the quotes, the carriage returns within them, and empty
// lines, which are the NULLs of a table of one column.
type csvReader struct {
	r         *bufio.Reader
	delimiter byte
	cr        bool // rows end in a carriage return alone
	line      int  // of the byte read next
	start     int  // of the row read last
	read      int64
	row       []field
	text      strings.Builder
}

// csvBuffer is how much of a file is seen before its rows are read.
const csvBuffer = 1 << 16

func newCSVReader(r io.Reader, delimiter byte) (*csvReader, error) {
	c := &csvReader{r: bufio.NewReaderSize(r, csvBuffer), delimiter: delimiter, line: 1}
	if err := c.findLineEnds(); err != nil {
		return nil, err
	}
	switch bom, err := c.r.Peek(3); {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case string(bom) == "\xef\xbb\xbf":
		c.read = 3
		_, err := c.r.Discard(3)
		return c, err
	}
	return c, nil
}

// findLineEnds looks at the beginning of a file for what ends its rows. A
// carriage return alone does where the first row ends so, unless a line feed
// ends another one.
func (c *csvReader) findLineEnds() error {
	head, err := c.r.Peek(c.r.Size())
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	whole := len(head) < c.r.Size()
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	start, was, quoted := true, false, false // of a field; a quoted field; between its quotes
	for i, b := range head {
		switch {
		case quoted:
			quoted = b != '"' // a doubled quote closes and opens
		case b == '"' && (start || was && head[i-1] == '"'):
			quoted, was = true, true
		case b == '\n' && c.cr:
			return &csvError{0, mixedLineEnds, true}
		case b == '\n':
			return nil
		case b == '\r' && (i+1 < len(head) && head[i+1] != '\n' || i+1 == len(head) && whole):
			c.cr = true
		}
		start = !quoted && (b == c.delimiter || b == '\r' && c.cr)
		was = was && !start
	}
	return nil
}

const mixedLineEnds = "rows end in a carriage return alone and in a line feed, too: make all line ends the same, and quote a field that holds one"

// csvError says where a file is not CSV; line 0 is all of it.
type csvError struct {
	line    int
	why     string
	refused bool // it may be CSV, in a form that is not read
}

func (e *csvError) Error() string { return e.why }

// place is the line, to write after the file's name.
func (e *csvError) place() string {
	if e.line == 0 {
		return ""
	}
	return ":" + strconv.Itoa(e.line)
}

// skip passes over lines.
func (c *csvReader) skip(lines int) error {
	for range lines {
		for {
			b, err := c.next()
			if err != nil {
				if errors.Is(err, io.EOF) {
					return nil
				}
				return err
			}
			if b == '\n' || b == '\r' && c.cr {
				break
			}
		}
	}
	return nil
}

func (c *csvReader) next() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.read++
		if b == '\n' || b == '\r' && c.cr {
			c.line++
		}
	}
	return b, err
}

// record returns the fields of the next row, or io.EOF. They are valid until the
// next call.
func (c *csvReader) record() ([]field, error) {
	c.row, c.start = c.row[:0], c.line
	if _, err := c.r.Peek(1); err != nil {
		return nil, err
	}
	for {
		f, more, err := c.field()
		if err != nil {
			return nil, err
		}
		c.row = append(c.row, f)
		if !more {
			return c.row, nil
		}
	}
}

// field reads a field and what ends it; more reports a delimiter.
func (c *csvReader) field() (f field, more bool, err error) {
	c.text.Reset()
	first := true
	for ; ; first = false {
		b, err := c.next()
		switch {
		case errors.Is(err, io.EOF):
			return field{c.text.String(), false}, false, nil
		case err != nil:
			return f, false, err
		case b == c.delimiter:
			return field{c.text.String(), false}, true, nil
		case b == '\r' && c.cr:
			return field{c.text.String(), false}, false, nil
		case b == '\n' && c.cr:
			return f, false, &csvError{c.line, mixedLineEnds, true}
		case b == '\n':
			return field{strings.TrimSuffix(c.text.String(), "\r"), false}, false, nil
		case b == '"' && first:
			return c.quotedField()
		}
		c.text.WriteByte(b)
	}
}

// quotedField reads on after the opening quote.
func (c *csvReader) quotedField() (f field, more bool, err error) {
	opened := c.line
	for {
		b, err := c.next()
		switch {
		case errors.Is(err, io.EOF):
			return f, false, &csvError{opened, "a quoted field is not closed", false}
		case err != nil:
			return f, false, err
		case b != '"':
			c.text.WriteByte(b)
			continue
		}
		b, err = c.next()
		if err == nil && b == '"' {
			c.text.WriteByte('"')
			continue
		}
		f = field{c.text.String(), true}
		if err == nil && b == '\r' && c.cr {
			return f, false, nil
		}
		if err == nil && b == '\r' {
			if b, err = c.next(); err == nil && b != '\n' {
				return f, false, &csvError{opened, "text follows a closing quote; a quote within a field is written twice", false}
			}
		}
		switch {
		case errors.Is(err, io.EOF) || err == nil && b == '\n':
			return f, false, nil
		case err != nil:
			return f, false, err
		case b == c.delimiter:
			return f, true, nil
		}
		return f, false, &csvError{opened, "text follows a closing quote; a quote within a field is written twice", false}
	}
}
