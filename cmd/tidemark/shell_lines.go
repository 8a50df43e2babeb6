package main

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// streamLines reads the lines of a stream, of any length.
type streamLines struct{ r *bufio.Reader }

func newStreamLines(r io.Reader) *streamLines { return &streamLines{bufio.NewReader(r)} }

func (s *streamLines) readLine(string) (string, error) {
	line, err := s.r.ReadString('\n')
	if errors.Is(err, io.EOF) && line != "" {
		err = nil // a last line without an end
	}
	return strings.TrimSuffix(line, "\n"), err // a carriage return may belong to a text
}
