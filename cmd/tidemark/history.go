package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// readHistory hands the history file to read. There need not be one.
func readHistory(path string, read func(io.Reader) (int, error)) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the history is not read: %w", err)
	}
	defer f.Close()
	if _, err := read(f); err != nil {
		return fmt.Errorf("the history is not read: %w", err)
	}
	return nil
}

// writeHistory replaces the history file with what write writes. Only its owner
// can read it: statements hold what tables hold.
func writeHistory(path string, write func(io.Writer) (int, error)) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("the history is not kept: %w", err)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "history-*") // readable by its owner only
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // has its final name by then, or failed
	if _, err := write(f); err != nil {
		_ = f.Close() // the first error tells more
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
