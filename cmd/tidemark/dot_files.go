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
	if len(s.reading) >= maxRead {
		return errReadDepth
	}
	if err := s.checkInput(args[0]); err != nil {
		return err
	}
	f, err := openReading(ctx, args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	lines := newStreamLines(f)
	if info.Mode().IsRegular() { // a pipe is read as its lines come
		if err := refuseEncoding(args[0], lines.r); err != nil {
			return err
		}
	}
	s.reading = append(s.reading, info)
	defer func() { s.reading = s.reading[:len(s.reading)-1] }()
	return s.process(ctx, &endingLines{ctx: ctx, source: lines}, args[0])
}

// dotOutput sends results to a file from here on.
func (s *shell) dotOutput(ctx context.Context, args []string) error {
	if err := s.closeOutput(); err != nil {
		return err
	}
	if len(args) == 0 || args[0] == "stdout" {
		return nil
	}
	if err := s.checkOutput(args[0]); err != nil {
		return err
	}
	f, err := await(ctx, func() (*os.File, error) { return os.Create(args[0]) })
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
	c := &csvImport{header: "auto", update: func(int64, int64) {}} // the delimiter of a .csv file is guessed
	switch {
	case s.mode == "tabs", strings.HasSuffix(strings.ToLower(args[0]), ".tsv"):
		c.delimiter = '\t'
	case s.mode == "csv":
		c.delimiter = ','
	case s.mode == "list" && len(s.separator) == 1 && !strings.HasSuffix(strings.ToLower(args[0]), ".csv"):
		c.delimiter = s.separator[0]
	case !strings.HasSuffix(strings.ToLower(args[0]), ".csv"):
		c.delimiter = ','
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
	if names[1] == "" {
		return errors.New("the name of the table is empty: name one")
	}
	if err := s.checkInput(names[0]); err != nil {
		return err
	}
	in, err := openInput(ctx, names[0], s.std.in)
	if err != nil {
		return err
	}
	defer in.close()
	c.name, c.table = names[0], names[1]
	c.open = func() (io.ReadCloser, error) { return os.Open(in.path) }
	c.own = !inTransaction(ctx, s.conn)
	err = c.explained(inSavepoint(ctx, s.conn, func() error {
		_, err := c.run(ctx, s.conn)
		return err
	}))
	s.names.forget()
	if err != nil {
		s.afterError(ctx)
	}
	return err
}

// checkInput refuses what cannot be read as a file: a command's output, the
// lines of the session itself, and the file that results go to.
func (s *shell) checkInput(file string) error {
	if strings.HasPrefix(file, "|") {
		return fmt.Errorf("%s: the output of a command is not read: name a file or a named pipe", file)
	}
	if file == "-" {
		return errors.New("the shell reads its own lines from standard input: name a file")
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil // opening it says why
	}
	if isFile(s.std.in, info) {
		return fmt.Errorf("%s is where the shell reads its own lines from: name another file", file)
	}
	if s.outFile != nil && isFile(s.outFile, info) && info.Mode().IsRegular() {
		return fmt.Errorf("%s is where results go: end that with .output, or name another file", file)
	}
	return nil
}

// checkOutput refuses what results would spoil: the store, and what is being
// read.
func (s *shell) checkOutput(file string) error {
	if strings.HasPrefix(file, "|") {
		return fmt.Errorf("%s: results do not go to a command: name a file or a named pipe, or pipe what tidemark prints", file)
	}
	info, err := os.Stat(file)
	if err == nil && info.Mode().IsRegular() {
		own := isFile(s.std.in, info)
		for _, reading := range s.reading {
			own = own || os.SameFile(reading, info)
		}
		if own {
			return fmt.Errorf("%s is being read: name another file", file)
		}
	}
	return refuseStoreFile("output", s.dir, file)
}

// isFile reports whether a stream is a file.
func isFile(stream any, info os.FileInfo) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	own, err := f.Stat()
	return err == nil && os.SameFile(own, info)
}
