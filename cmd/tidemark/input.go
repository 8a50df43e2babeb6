package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// inputFile is a file to import. What can be read only once, such as a pipe, is
// spooled: an import reads its input twice.
type inputFile struct {
	path    string // to open, as often as wanted
	name    string // for messages
	spooled bool
}

// openInput makes a file ready to be read. "-" is standard input.
func openInput(ctx context.Context, file string, std io.Reader) (*inputFile, error) {
	in := &inputFile{path: file, name: file}
	var from io.Reader
	switch {
	case file == "-":
		in.name, from = "standard input", std
	default:
		info, err := os.Stat(file)
		if err != nil {
			return nil, misuse("import: %v: name a file that can be read", err)
		}
		if info.Mode().IsRegular() {
			return in, nil
		}
		f, err := openReading(ctx, file)
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			return nil, misuse("import: %v: name a file that can be read, or - for standard input", err)
		}
		defer f.Close()
		from = f
	}
	path, err := spool(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.name, err)
	}
	in.path, in.spooled = path, true
	return in, nil
}

// close removes what was spooled.
func (in *inputFile) close() {
	if in.spooled {
		_ = os.Remove(in.path) // a temporary file
	}
}

// openReading opens a file. Opening a named pipe waits for its writer, for as
// long as the context lasts.
func openReading(ctx context.Context, file string) (*os.File, error) {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return nil, errors.New(file + " is a directory: name a file")
	}
	return await(ctx, func() (*os.File, error) { return os.Open(file) })
}

// await runs what cannot be ended and gives up waiting for it when the context
// ends.
func await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// spool copies what can be read only once into a temporary file.
func spool(ctx context.Context, r io.Reader) (path string, err error) {
	f, err := os.CreateTemp("", "tidemark-import-")
	if err != nil {
		return "", err
	}
	_, err = await(ctx, func() (int64, error) { return io.Copy(f, r) })
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error tells more
		return "", err
	}
	return f.Name(), nil
}

// refuseOwnFile keeps files of a store from being read as something else, and
// what is no file from being opened.
func refuseOwnFile(dir, file string) error {
	if file == "-" {
		return nil
	}
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return misuse("import: %v: name a file that can be read", err)
	case info.IsDir():
		return misuse("import: %s is a directory: name a file", file)
	}
	if own, err := os.Stat(filepath.Join(dir, "catalog.db")); err == nil && os.SameFile(own, info) {
		return misuse("import: %s is the store's own catalog: read it as schema catalog with tidemark sql, or with the sqlite3 shell", file)
	}
	if insideDir(dir, file) {
		return misuse("import: %s is one of the store's own files: name a file outside of %s", file, dir)
	}
	return nil
}

// refuseEncoding refuses text that is in another encoding than UTF-8, as far as
// its beginning tells. Without a mark, every second byte being zero gives UTF-16
// away.
func refuseEncoding(name string, r *bufio.Reader) error {
	head, err := r.Peek(64)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", name, err)
	}
	zero := func(first int) bool { // of the bytes from first on, every second one
		for i := first; i < len(head); i += 2 {
			if head[i] != 0 {
				return false
			}
		}
		return len(head) >= 4
	}
	encoding := ""
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(head, []byte("\x00\x00\xfe\xff")):
		encoding = "UTF-32"
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		encoding = "UTF-16"
	case zero(1) != zero(0):
		encoding = "UTF-16"
	default:
		return nil
	}
	return misuse("%s is in %s and not UTF-8: convert it first, as with iconv -f %s -t UTF-8", name, encoding, encoding)
}

// tableNameOf is the table that a file is imported into unless one is named. The
// name of a pipe or a device is its user's only where it ends in a format.
func tableNameOf(file string) (string, error) {
	base := filepath.Base(file)
	name := strings.TrimSuffix(base, filepath.Ext(base))
	info, err := os.Stat(file)
	if name == "" || name == base && err == nil && !info.Mode().IsRegular() {
		return "", misuse("import: the file name %s gives no name for a table: name a table after the file", base)
	}
	return name, nil
}
