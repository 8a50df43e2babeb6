package main

import (
	"errors"
	"fmt"
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
func report(err error, std streams) int {
	if err == nil {
		return statusDone
	}
	status := statusOf(err)
	if errors.Is(err, errFindings) {
		return status
	}
	fmt.Fprintln(std.err, "tidemark: "+oneLine(err.Error()))
	return status
}

// statusOf sorts an error: poison before anything else, because the same error
// may also say that an outcome is unknown.
func statusOf(err error) int {
	var bad *misuseError
	var typed *driver.Error
	switch {
	case errors.Is(err, driver.ErrPoisoned):
		return statusPoisoned
	case errors.As(err, &bad), errors.Is(err, driver.ErrNotAvailable):
		return statusRefused
	case errors.As(err, &typed) && typed.Op == "open":
		switch driver.Code(typed.Code) {
		case driver.ErrCantOpen, driver.ErrMisuse, driver.ErrBusy:
			return statusRefused
		}
	}
	return statusFailed
}

// oneLine joins the lines of a text.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
