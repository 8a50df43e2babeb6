package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
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
	line      int // of the byte read next
	start     int // of the row read last
	read      int64
	row       []field
	text      strings.Builder
}

func newCSVReader(r io.Reader, delimiter byte) (*csvReader, error) {
	c := &csvReader{r: bufio.NewReaderSize(r, 1<<16), delimiter: delimiter, line: 1}
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

// csvError says where a file is not CSV.
type csvError struct {
	line int
	why  string
}

func (e *csvError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.why) }

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
			if b == '\n' {
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
		if b == '\n' {
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
			return f, false, &csvError{opened, "a quoted field is not closed"}
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
		if err == nil && b == '\r' {
			if b, err = c.next(); err == nil && b != '\n' {
				return f, false, &csvError{opened, "text follows a closing quote; a quote within a field is written twice"}
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
		return f, false, &csvError{opened, "text follows a closing quote; a quote within a field is written twice"}
	}
}
