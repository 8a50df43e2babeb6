package main

import (
	"bufio"
	"context"
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

// endingLines are lines whose reader is given up when a context ends, because a
// read of standard input cannot be.
type endingLines struct {
	ctx    context.Context
	source lineSource
}

func (e *endingLines) readLine(prompt string) (string, error) {
	type result struct {
		line string
		err  error
	}
	read := make(chan result, 1)
	go func() {
		line, err := e.source.readLine(prompt)
		read <- result{line, err}
	}()
	select {
	case r := <-read:
		return r.line, r.err
	case <-e.ctx.Done():
		return "", e.ctx.Err()
	}
}
