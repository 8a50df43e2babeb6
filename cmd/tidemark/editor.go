package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/peterh/liner"
)

// editor reads lines from a terminal, with history and completion.
type editor struct {
	state *liner.State
	path  string // of the history; empty when there is no place for it
	warn  func(error)
}

// newEditor takes over the terminal until close.
func newEditor(complete func(line string) []string, warn func(error)) *editor {
	e := &editor{state: liner.NewLiner(), warn: warn}
	e.state.SetCtrlCAborts(true)
	e.state.SetBeep(false)
	e.state.SetTabCompletionStyle(liner.TabPrints)
	e.state.SetCompleter(complete)
	path, err := historyPath()
	if err == nil {
		e.path = path
		err = readHistory(path, e.state.ReadHistory)
	}
	if err != nil {
		warn(err)
	}
	return e
}

func (e *editor) readLine(prompt string) (string, error) {
	line, err := e.state.Prompt(prompt)
	switch {
	case errors.Is(err, liner.ErrPromptAborted):
		return "", errInterrupted
	case err != nil:
		return "", err
	}
	if line != "" {
		e.state.AppendHistory(line)
	}
	return line, nil
}

// close gives the terminal back and keeps the history.
func (e *editor) close() {
	err := e.state.Close()
	if err == nil && e.path != "" {
		err = writeHistory(e.path, e.state.WriteHistory)
	}
	if err != nil {
		e.warn(err)
	}
}

// historyPath is below $XDG_STATE_HOME, or else where the system keeps a user's
// settings.
func historyPath() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) { // relative ones are to be ignored
		var err error
		if dir, err = os.UserConfigDir(); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "tidemark", "history"), nil
}
