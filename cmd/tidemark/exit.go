package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tidemarkdb/tidemark/driver"
)

// Exit statuses.
const (
	statusDone     = 0
	statusFailed   = 1
	statusRefused  = 2
	statusPoisoned = 74 // EX_IOERR of sysexits.h
)

// errFindings ends a command that has already printed what is wrong.
var errFindings = errors.New("findings")

// misuseError refuses a command line.
type misuseError struct{ text string }

func (e *misuseError) Error() string { return e.text }

// misuse refuses what was asked, naming the ways forward.
func misuse(format string, args ...any) error { return &misuseError{fmt.Sprintf(format, args...)} }

// report prints an error and returns its exit status. A refusal is exactly one
// line, whatever the error's text holds.
func report(ctx context.Context, err error, std streams) int {
	if err == nil {
		return statusDone
	}
	status := statusOf(err)
	var code *exitCode
	if errors.Is(err, errFindings) || errors.As(err, &code) {
		return status
	}
	var session *sessionError
	if ctx.Err() != nil && status == statusFailed && !errors.As(err, &session) {
		err = interrupted(err)
	}
	fmt.Fprintln(std.err, "tidemark: "+oneLine(err.Error()))
	return status
}

// interruptedError is what is told when a signal ended a command. The layers
// below report that in words of their own.
type interruptedError struct {
	left string // what the command left behind; may be empty
	err  error
}

func (e *interruptedError) Error() string {
	if e.left == "" {
		return "interrupted"
	}
	return "interrupted; " + e.left
}

func (e *interruptedError) Unwrap() error { return e.err }

// interrupted is the error of a command that a signal ended. That a commit may
// or may not have happened is still told.
func interrupted(err error) error {
	var already *interruptedError
	switch {
	case errors.As(err, &already):
		return already
	case errors.Is(err, driver.ErrOutcomeUnknown):
		return err
	}
	return &interruptedError{err: err}
}

// sessionError is an error of a session on a terminal, which goes on after
// interrupts: that there was one does not explain it.
type sessionError struct{ err error }

func (e *sessionError) Error() string { return e.err.Error() }
func (e *sessionError) Unwrap() error { return e.err }

// exitCode ends a session with a status that its user chose.
type exitCode struct{ status int }

func (e *exitCode) Error() string { return "exit " + strconv.Itoa(e.status) }

// statusOf sorts an error: poison before anything else, because the same error
// may also say that an outcome is unknown.
func statusOf(err error) int {
	var bad *misuseError
	var typed *driver.Error
	var csv *csvError
	var code *exitCode
	switch {
	case errors.As(err, &code):
		return code.status
	case errors.Is(err, driver.ErrPoisoned):
		return statusPoisoned
	case errors.As(err, &bad), errors.As(err, &csv) && csv.refused, errors.Is(err, driver.ErrNotAvailable):
		return statusRefused
	case errors.As(err, &typed) && typed.Code == int(driver.ErrGeneric) && typed.Hint != "":
		// SQLite's own errors have no hint: the driver refused, and said how to
		// go on.
		return statusRefused
	case errors.As(err, &typed) && typed.Op == "open":
		switch driver.Code(typed.Code) {
		case driver.ErrCantOpen, driver.ErrMisuse, driver.ErrBusy, driver.ErrNoMem:
			return statusRefused
		}
	}
	return statusFailed
}

// oneLine joins the lines of a text.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
