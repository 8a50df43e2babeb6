package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// dotCommand is one of the shell's own commands.
type dotCommand struct {
	name  string
	usage string
	about string
	least int // arguments it needs
	most  int // and takes; -1 for any number
	run   func(s *shell, ctx context.Context, args []string) error
}

// dotCommands lists them all. It is a function because .help is one of them.
func dotCommands() []dotCommand {
	return []dotCommand{
		{".bail", "on|off", "stop at the first error", 1, 1, setSwitch(func(s *shell) *bool { return &s.bail })},
		{".changes", "on|off", "show how many rows a statement changed", 1, 1, setSwitch(func(s *shell) *bool { return &s.changes })},
		{".databases", "", "list the attached files", 0, 0, (*shell).showDatabases},
		{".dump", "[TABLE…]", "write tables as SQL; TABLE may be a LIKE pattern", 0, -1, (*shell).dotDump},
		{".echo", "on|off", "print statements before they run", 1, 1, setSwitch(func(s *shell) *bool { return &s.echo })},
		{".exit", "[CODE]", "leave, with an exit status", 0, 1, quit},
		{".explain", "[on|off|auto]", "plans before each statement, as rows, or as a tree when asked for", 0, 1, setExplain},
		{".headers", "on|off", "print column names", 1, 1, setHeaders},
		{".help", "[NAME]", "show this, or one command", 0, 1, (*shell).help},
		{".import", "FILE TABLE [--csv|--tsv] [--skip N] [--header auto|yes|no]", "read a csv file into a table", 2, -1, (*shell).dotImport},
		{".indexes", "[TABLE]", "list indexes; TABLE may be a LIKE pattern", 0, 1, (*shell).showIndexes},
		{".mode", "[MODE [TABLE]]", "set how rows are printed: " + strings.Join(modes, ", "), 0, 2, (*shell).dotMode},
		{".nullvalue", "TEXT", "print NULL as TEXT", 1, 1, func(s *shell, _ context.Context, args []string) error {
			s.null = args[0]
			return nil
		}},
		{".once", "FILE", "write the next result to a file", 1, 1, (*shell).dotOnce},
		{".output", "[FILE]", "write results to a file, or to the screen again", 0, 1, (*shell).dotOutput},
		{".quit", "[CODE]", "leave, with an exit status", 0, 1, quit},
		{".read", "FILE", "run a file of statements and dot commands", 1, 1, (*shell).dotRead},
		{".schema", "[NAME]", "show CREATE statements; NAME may be a LIKE pattern", 0, 1, (*shell).showSchema},
		{".separator", "COLUMN [ROW]", "set what is printed between columns and after rows", 1, 2, func(s *shell, _ context.Context, args []string) error {
			s.separator = args[0]
			if len(args) > 1 {
				s.rowEnd = args[1]
			}
			return nil
		}},
		{".show", "", "show the settings", 0, 0, (*shell).showSettings},
		{".tables", "[PATTERN]", "list tables and views", 0, 1, (*shell).showTables},
		{".timer", "on|off", "show how long statements take", 1, 1, setSwitch(func(s *shell) *bool { return &s.timer })},
		{".width", "[N…]", "set widths of columns; 0 fits, negative aligns right, none resets", 0, -1, setWidths},
	}
}

// dot runs a dot command.
func (s *shell) dot(ctx context.Context, line string) error {
	if s.echo {
		fmt.Fprintln(s.out, line)
	}
	args, err := dotArguments(line)
	if err != nil {
		return err
	}
	c, err := findDot(args[0])
	if err != nil {
		return err
	}
	if args = args[1:]; len(args) < c.least || c.most >= 0 && len(args) > c.most {
		return fmt.Errorf("usage: %s", strings.TrimSpace(c.name+" "+c.usage))
	}
	ctx, stop := s.interruptible(ctx)
	defer stop()
	return c.run(s, ctx, args)
}

// findDot finds a command by its name or a beginning that only it has.
func findDot(name string) (dotCommand, error) {
	var found []dotCommand
	for _, c := range dotCommands() {
		if c.name == name {
			return c, nil
		}
		if len(name) > 1 && strings.HasPrefix(c.name, name) {
			found = append(found, c)
		}
	}
	switch len(found) {
	case 0:
		return dotCommand{}, fmt.Errorf("unknown command %s: .help lists the commands", name)
	case 1:
		return found[0], nil
	}
	names := make([]string, len(found))
	for i, c := range found {
		names[i] = c.name
	}
	return dotCommand{}, fmt.Errorf("%s may be %s: .help lists the commands", name, strings.Join(names, ", "))
}

// dotArguments cuts a line into words. A word may be quoted: '…' as it is, "…"
// with the escapes of C.
func dotArguments(line string) (args []string, err error) {
	for i := 0; i < len(line); {
		switch c := line[i]; c {
		case ' ', '\t', '\r':
			i++
		case '\'', '"':
			end := i + 1
			for end < len(line) && line[end] != c {
				if c == '"' && line[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(line) {
				return nil, fmt.Errorf("%c is not closed", c)
			}
			word := line[i+1 : end]
			if c == '"' {
				word = unescape(word)
			}
			args, i = append(args, word), end+1
		default:
			end := i
			for end < len(line) && !strings.ContainsRune(" \t\r", rune(line[end])) {
				end++
			}
			args, i = append(args, unescapeBare(line[i:end])), end
		}
	}
	return args, nil
}

// unescape reads the escapes of C that a separator needs.
func unescape(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`, `\'`, `'`, `\0`, "\x00").Replace(s)
}

// unescapeBare reads a word of escapes alone, such as \t: elsewhere a backslash
// without quotes belongs to a path.
func unescapeBare(s string) string {
	if strings.HasPrefix(s, `\`) && len(s) <= 4 && len(s)%2 == 0 {
		return unescape(s)
	}
	return s
}

// help lists the commands, or tells of one.
func (s *shell) help(_ context.Context, args []string) error {
	var rows [][]string
	for _, c := range dotCommands() {
		if len(args) == 0 || strings.TrimPrefix(args[0], ".") == c.name[1:] {
			rows = append(rows, []string{strings.TrimSpace(c.name + " " + c.usage), c.about})
		}
	}
	if len(rows) == 0 {
		return fmt.Errorf("unknown command %s: .help lists the commands", args[0])
	}
	writeAligned(s.out, rows, "")
	return nil
}

// quit ends the session. A status that is asked for is the status, whatever
// failed before.
func quit(_ *shell, _ context.Context, args []string) error {
	if len(args) == 0 {
		return errQuit
	}
	code, err := strconv.Atoi(args[0])
	if err != nil || code < 0 || code > 255 {
		return fmt.Errorf("%s is no exit status: use a number from 0 to 255", args[0])
	}
	return &exitCode{code}
}

// setHeaders is a switch that the modes leave alone from then on.
func setHeaders(s *shell, ctx context.Context, args []string) error {
	err := setSwitch(func(s *shell) *bool { return &s.headers })(s, ctx, args)
	s.headersSet = s.headersSet || err == nil
	return err
}

// maxWidth bounds what .width takes.
const maxWidth = 10000

func setWidths(s *shell, _ context.Context, args []string) error {
	widths := make([]int, len(args))
	for i, arg := range args {
		n, err := strconv.Atoi(arg)
		if err != nil || n < -maxWidth || n > maxWidth {
			return fmt.Errorf("%s is no width: use whole numbers", arg)
		}
		widths[i] = n
	}
	s.columnWidths = widths
	return nil
}

// setSwitch makes a command that turns something on or off.
func setSwitch(of func(*shell) *bool) func(*shell, context.Context, []string) error {
	return func(s *shell, _ context.Context, args []string) error {
		switch strings.ToLower(args[0]) {
		case "on", "yes", "true", "1":
			*of(s) = true
		case "off", "no", "false", "0":
			*of(s) = false
		default:
			return fmt.Errorf("%s is not legal: use on or off", args[0])
		}
		return nil
	}
}

func setExplain(s *shell, _ context.Context, args []string) error {
	if len(args) == 0 {
		args = []string{"on"}
	}
	switch args[0] {
	case "on", "off", "auto":
		s.explain = args[0]
		return nil
	}
	return fmt.Errorf("%s is not legal: use on, off or auto", args[0])
}

// dotMode sets or shows the mode.
func (s *shell) dotMode(_ context.Context, args []string) error {
	if len(args) == 0 {
		_, err := fmt.Fprintln(s.out, "current output mode: "+s.mode)
		return err
	}
	return s.setMode(args)
}

// maxRead bounds files that read one another.
const maxRead = 25

// errReadDepth says that .read went round in a circle.
var errReadDepth = errors.New("files read one another more than 25 deep")
