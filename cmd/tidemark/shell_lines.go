package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
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
// read of standard input cannot be. An interrupt gives up the statement and not
// the read: its line is the next one.
type endingLines struct {
	ctx         context.Context
	source      lineSource
	interrupts  <-chan os.Signal // may be nil
	interrupted func()
	pending     chan readResult
}

type readResult struct {
	line string
	err  error
}

func (e *endingLines) readLine(prompt string) (string, error) {
	select {
	case <-e.interrupts: // of the statement before
	default:
	}
	if e.pending == nil {
		read := make(chan readResult, 1)
		go func() {
			line, err := e.source.readLine(prompt)
			read <- readResult{line, err}
		}()
		e.pending = read
	}
	select {
	case r := <-e.pending:
		e.pending = nil
		return r.line, r.err
	case <-e.interrupts:
		e.interrupted()
		return "", errInterrupted
	case <-e.ctx.Done():
		return "", e.ctx.Err()
	}
}
