package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// dotRead runs a file as if it was typed.
func (s *shell) dotRead(ctx context.Context, args []string) error {
	if s.depth >= maxRead {
		return errReadDepth
	}
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	s.depth++
	defer func() { s.depth-- }()
	return s.process(ctx, newStreamLines(f), args[0])
}

// dotOutput sends results to a file from here on.
func (s *shell) dotOutput(_ context.Context, args []string) error {
	if err := s.closeOutput(); err != nil {
		return err
	}
	if len(args) == 0 || args[0] == "stdout" {
		return nil
	}
	f, err := os.Create(args[0])
	if err != nil {
		return err
	}
	s.outFile, s.out = f, bufio.NewWriter(f)
	return nil
}

// dotOnce sends the result of the next statement or command to a file.
func (s *shell) dotOnce(ctx context.Context, args []string) error {
	if err := s.dotOutput(ctx, args); err != nil {
		return err
	}
	s.once = s.outFile != nil
	s.onceSet = true
	return nil
}

// flush shows what was printed, and ends .once after the statement it was for.
func (s *shell) flush() error {
	if s.once && !s.onceSet {
		return s.closeOutput()
	}
	s.onceSet = false
	return s.out.Flush()
}

// closeOutput ends .output and .once.
func (s *shell) closeOutput() error {
	err := s.out.Flush()
	if s.outFile != nil {
		if closeErr := s.outFile.Close(); err == nil {
			err = closeErr
		}
		s.outFile, s.out = nil, bufio.NewWriter(s.std.out)
	}
	s.once, s.onceSet = false, false
	return err
}

// dotDump writes tables as a script. Outside of a transaction it makes one, so
// that all tables are of one moment.
func (s *shell) dotDump(ctx context.Context, args []string) error {
	d := &dump{q: s.conn, w: s.out, update: func(int64, int64) {}, note: func(format string, args ...any) {
		fmt.Fprintf(s.out, "/* %s */\n", oneLine(fmt.Sprintf(format, args...)))
	}}
	for _, pattern := range args {
		names, err := s.column(ctx, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE ? AND name NOT LIKE 'sqlite!_%' ESCAPE '!'`, pattern)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			return fmt.Errorf("there is no table %s", pattern)
		}
		d.only = append(d.only, names...)
	}
	return inSavepoint(ctx, s.conn, func() error { return d.run(ctx) })
}

// dotImport reads a csv file into a table, all of it or nothing.
func (s *shell) dotImport(ctx context.Context, args []string) error {
	c := &csvImport{header: "auto", update: func(int64, int64) {}, delimiter: ','}
	switch {
	case s.mode == "tabs", strings.HasSuffix(strings.ToLower(args[0]), ".tsv"):
		c.delimiter = '\t'
	case s.mode == "list" && len(s.separator) == 1 && !strings.HasSuffix(strings.ToLower(args[0]), ".csv"):
		c.delimiter = s.separator[0]
	}
	var names []string
	for i := 0; i < len(args); i++ {
		value := func() string {
			if i++; i < len(args) {
				return args[i]
			}
			return ""
		}
		switch arg := args[i]; strings.Replace(arg, "--", "-", 1) {
		case "-csv":
			c.delimiter = ','
		case "-tsv":
			c.delimiter = '\t'
		case "-skip":
			n, err := strconv.Atoi(value())
			if err != nil || n < 0 {
				return errors.New("--skip takes a number of lines")
			}
			c.skip = n
		case "-header":
			if c.header = value(); c.header != "auto" && c.header != "yes" && c.header != "no" {
				return errors.New("--header takes auto, yes or no")
			}
		default:
			if strings.HasPrefix(arg, "-") {
				return fmt.Errorf("option %s is not known: use --csv, --tsv, --skip N or --header auto|yes|no", arg)
			}
			names = append(names, arg)
		}
	}
	if len(names) != 2 {
		return errors.New("usage: .import FILE TABLE [--csv|--tsv] [--skip N] [--header auto|yes|no]")
	}
	c.name, c.table = names[0], names[1]
	c.open = func() (io.ReadCloser, error) { return os.Open(names[0]) }
	err := inSavepoint(ctx, s.conn, func() error {
		_, err := c.run(ctx, s.conn)
		return err
	})
	s.names.forget()
	if err != nil {
		s.afterError(ctx)
	}
	return err
}
