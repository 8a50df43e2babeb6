package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/tidemarkdb/tidemark/driver"
)

const shellUsage = "tidemark shell [-bail] [-echo] [-headers] [-mode MODE] " + openFlags + " DIR"

// runShell reads statements and dot commands from standard input: with a line
// editor on a terminal, else up to the end.
func runShell(ctx context.Context, args []string, std streams) error {
	flags := newFlags("shell")
	s := &shell{std: std, explain: "auto", format: defaultFormat()}
	flags.BoolVar(&s.bail, "bail", false, "stop at the first error")
	flags.BoolVar(&s.echo, "echo", false, "print what is run")
	headers := flags.Bool("headers", false, "print column names")
	mode := flags.String("mode", "list", "how rows are printed")
	var as openAs
	as.addTo(flags)
	if helped, err := parseFlags(flags, args, shellUsage, std); helped || err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return misuse("shell takes one argument, the store's directory; it was given %d: use %s", flags.NArg(), shellUsage)
	}
	if err := s.setMode([]string{*mode}); err != nil {
		return misuse("shell: %v", err)
	}
	if *headers {
		s.headers, s.headersSet = true, true
	}
	s.dir = flags.Arg(0)
	s.interactive = isTerminal(std.in) && isTerminal(std.out)
	if s.interactive {
		// Ctrl-C ends a statement here, not the program, which SIGTERM does.
		s.interrupts = make(chan os.Signal, 1)
		signal.Notify(s.interrupts, os.Interrupt)
		defer signal.Stop(s.interrupts)
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM)
		defer stop()
	}
	err := withStoreOrMemory(ctx, s.dir, as, std, func(db *sql.DB) error {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		s.conn = conn
		defer func() { _ = s.conn.Close() }() // closing the store reports
		return s.session(ctx)
	})
	if err != nil && s.interactive && ctx.Err() == nil {
		return &sessionError{err}
	}
	return err
}

// shell is one session on one connection, so that transactions, temporary tables
// and PRAGMAs last.
type shell struct {
	std         streams
	conn        *sql.Conn
	dir         string
	interactive bool

	format
	echo, bail, timer, changes bool
	explain                    string // auto: plans as a tree; on: before each statement, too; off: as rows

	out     *bufio.Writer // where results go
	outFile *os.File      // of .output and .once
	once    bool          // outFile is for one statement
	onceSet bool          // by the command that ends now

	interrupts chan os.Signal // of a terminal

	tx      txState
	reading []os.FileInfo // the files of .read, the outermost first
	failed  error
	names   *nameCache
}

// errQuit ends a session.
var errQuit = errors.New("quit")

// lineSource is where a session reads its lines from.
type lineSource interface {
	// readLine returns a line without its end, or io.EOF, or errInterrupted
	// when the line was given up.
	readLine(prompt string) (string, error)
}

// errInterrupted says that Ctrl-C was typed.
var errInterrupted = errors.New("interrupted")

// session runs all of standard input.
func (s *shell) session(ctx context.Context) error {
	s.names = &nameCache{}
	s.out = bufio.NewWriter(s.std.out)
	defer s.closeOutput()
	var source lineSource = &endingLines{ctx: ctx, source: newStreamLines(s.std.in)}
	name := ""
	if s.interactive {
		editor := newEditor(func(line string) []string { return s.complete(ctx, line) }, s.warn)
		defer editor.close()
		source = &endingLines{ctx: ctx, source: editor, interrupts: s.interrupts, interrupted: func() {
			fmt.Fprint(s.std.out, "\n"+s.prompt(false))
		}}
		fmt.Fprintf(s.out, "Tidemark shell on %s\nEnter .help for the dot commands, .quit or Ctrl-D to leave.\n", s.dir)
		_ = s.out.Flush() // a prompt follows
	}
	err := s.process(ctx, source, name)
	var code *exitCode
	if errors.As(err, &code) {
		return errors.Join(s.out.Flush(), err)
	}
	if errors.Is(err, errQuit) {
		err = nil
	}
	if err == nil && !s.interactive {
		err = s.failed
	}
	if flushErr := s.out.Flush(); err == nil {
		err = flushErr
	}
	return err
}

// process runs the lines of a source. It returns errQuit, or an error that ends
// the session; others were printed.
func (s *shell) process(ctx context.Context, source lineSource, name string) error {
	var scan statementScanner
	var text strings.Builder // what is not run yet
	var whole bool           // text holds a whole statement
	line, first := 0, 1
	run := func() error {
		statements := splitScript(text.String())
		scan, whole = statementScanner{}, false
		text.Reset()
		for _, st := range statements {
			if err := s.fail(ctx, s.run(ctx, st), name, first+st.line-1); err != nil {
				return err
			}
		}
		return nil
	}
	for {
		read, err := source.readLine(s.prompt(!scan.empty()))
		line++
		switch {
		case errors.Is(err, errInterrupted):
			scan, whole = statementScanner{}, false
			text.Reset()
			continue
		case errors.Is(err, io.EOF):
			return run()
		case err != nil:
			return err
		}
		if scan.empty() && !whole {
			text.Reset()
			first = line
			if strings.HasPrefix(read, ".") {
				if err := s.fail(ctx, s.dot(ctx, strings.TrimSpace(read)), name, line); err != nil {
					return err
				}
				continue
			}
		}
		text.WriteString(read + "\n")
		for _, c := range []byte(read + "\n") {
			if scan.step(c) {
				scan, whole = statementScanner{}, true
			}
		}
		if whole && scan.empty() {
			if err := run(); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return errInterrupted // the rest of the script is not run
		}
	}
}

// prompt shows whether a statement goes on and whether a transaction is open.
func (s *shell) prompt(goesOn bool) string {
	switch {
	case goesOn:
		return "     ...> "
	case s.tx.open():
		return "tidemark*> "
	}
	return "tidemark> "
}

// fail prints an error and decides whether the session goes on.
func (s *shell) fail(ctx context.Context, err error, file string, line int) error {
	if flushErr := s.flush(); err == nil {
		err = flushErr
	}
	var code *exitCode
	if err == nil || errors.Is(err, errQuit) || errors.Is(err, errFindings) || errors.As(err, &code) {
		return err
	}
	if errors.Is(err, context.Canceled) || ctx.Err() != nil {
		err = interrupted(err)
	}
	if ctx.Err() != nil {
		return err // the session ends, and says so
	}
	where := ""
	switch {
	case file != "":
		where = fmt.Sprintf("%s:%d: ", file, line)
	case !s.interactive:
		where = fmt.Sprintf("near line %d: ", line)
	}
	fmt.Fprintf(s.std.err, "Error: %s%s\n", where, oneLine(err.Error()))
	// It was printed; what is left to say is the exit status.
	switch {
	case errors.Is(err, driver.ErrPoisoned):
		s.failed = errors.Join(errFindings, driver.ErrPoisoned)
	case s.failed == nil:
		s.failed = errFindings
	}
	if s.bail {
		return s.failed
	}
	return nil
}

// warn tells of something that does not matter much.
func (s *shell) warn(err error) { fmt.Fprintf(s.std.err, "Warning: %v\n", err) }
