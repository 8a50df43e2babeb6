package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends what does not end by itself
	status := run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(status)
}

// streams are what a command reads and writes.
type streams struct {
	in  io.Reader
	out io.Writer
	err io.Writer
}

// command is one subcommand. Its error decides the exit status.
type command struct {
	name  string
	usage string // arguments
	about string
	run   func(ctx context.Context, args []string, std streams) error
}

var commands = []command{
	{"sql", "[flags] DIR 'stmt; …'|-", "run statements, print rows as sqlite3 does", runSQL},
	{"shell", "[flags] DIR", "read and run statements and dot commands", runShell},
	{"import", "[flags] DIR FILE.csv|.tsv|.sql|.db|- [TABLE [FILE TABLE]…]", "read a file of another program", runImport},
	{"export", "[flags] DIR OUT.db|.sql|.csv|- [TABLE…]", "write a SQLite file, a script or a table", runExport},
	{"inspect", "[flags] DIR", "show tables, generations, objects and pins", runInspect},
	{"check", "DIR", "read every byte of a store and report what is wrong", runCheck},
	{"checkpoint", "DIR", "end the log files: sealed, and the head of the timeline", runCheckpoint},
	{"compact", "DIR", "rewrite the log: one record per row", runCompact},
	{"branch", "[-d] DIR [NAME]", "list the branch points, make one of the present state, or delete one", runBranch},
	{"migrate", "DIR FOLDER [up|down|status]", "apply an application's migrations, undo the newest, or list them", runMigrate},
	{"gc", "[-n] DIR", "remove files that nothing needs, or say which these are", runGC},
	{"backup", "DIR DEST", "write a backup of a store to a new directory", runBackup},
	{"restore", "BACKUP DIR", "make a store of a backup, every byte verified", runRestore},
	{"slt", "[flags] FILE…", "run sqllogictest scripts", runSLT},
	{"bench", "residency [flags]", "compare resident=all, resident=keys and plain SQLite under limits of memory", runBench},
	{"demo", "[DIR]", "fill a store, kill its writers, show what is left", runDemo},
}

// run executes one command line and returns the exit status.
func run(ctx context.Context, args []string, std streams) int {
	if len(args) == 0 {
		return report(ctx, misuse("no command: use %s", commandNames()), std)
	}
	name, args := args[0], args[1:]
	switch name {
	case "help", "-h", "-help", "--help":
		if len(args) > 0 {
			name, args = args[0], []string{"-h"}
			break
		}
		printUsage(std.out)
		return statusDone
	case demoWriter:
		return report(ctx, runDemoWriter(ctx, args, std), std)
	case residencyWorker:
		return report(ctx, runResidencyWorker(ctx, std), std)
	}
	for _, c := range commands {
		if c.name == name {
			return report(ctx, c.run(ctx, args, std), std)
		}
	}
	return report(ctx, misuse("unknown command %s: use %s", name, commandNames()), std)
}

// commandNames lists the commands that work.
func commandNames() string {
	names := make([]string, len(commands))
	for i, c := range commands {
		names[i] = c.name
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// printUsage describes every command.
func printUsage(w io.Writer) {
	fmt.Fprintln(w, "usage: tidemark command [arguments]")
	fmt.Fprintln(w)
	var rows [][]string
	for _, c := range commands {
		rows = append(rows, []string{"tidemark " + c.name + " " + c.usage, c.about})
	}
	writeAligned(w, rows, "  ")
	fmt.Fprintln(w)
	fmt.Fprintln(w, "exit status: 0 done, 1 failed, 2 refused or misused, 74 an I/O error stopped the engine")
}
