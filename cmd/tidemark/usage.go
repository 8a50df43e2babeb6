package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
)

// newFlags makes the flags of a command, which prints nothing by itself.
func newFlags(name string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

// parseFlags reads a command's arguments, with flags before, between and behind
// the others. After -h it prints the usage and reports that this was all.
func parseFlags(flags *flag.FlagSet, args []string, usage string, std streams) (helped bool, err error) {
	switch err := parseAnywhere(flags, args); {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(std.out)
		fmt.Fprintln(std.out, "usage: "+usage)
		flags.PrintDefaults()
		return true, nil
	case err != nil:
		return false, misuse("%s: %v: use %s (tidemark %s -h tells more)", flags.Name(), err, usage, flags.Name())
	}
	return false, nil
}

// flagLike is what may be a flag. Names such as -.csv, and texts of SQL that begin
// with a comment, are arguments.
var flagLike = regexp.MustCompile(`(?s)^--?([A-Za-z][\w-]*)(=.*)?$`)

// parseAnywhere reads flags up to a --, wherever they stand; flag.FlagSet stops at
// the first argument that is none, and the rest, -force too, would be names of files.
func parseAnywhere(flags *flag.FlagSet, args []string) error {
	var rest []string
	for len(args) > 0 {
		m := flagLike.FindStringSubmatch(args[0])
		switch {
		case args[0] == "--":
			rest, args = append(rest, args[1:]...), nil
			continue
		case m == nil:
			rest, args = append(rest, args[0]), args[1:]
			continue
		}
		n := 1
		if f := flags.Lookup(m[1]); f != nil && m[2] == "" {
			if b, ok := f.Value.(interface{ IsBoolFlag() bool }); !ok || !b.IsBoolFlag() {
				n = min(2, len(args)) // its value
			}
		}
		if err := flags.Parse(args[:n]); err != nil {
			return err
		}
		args = args[n:]
	}
	return flags.Parse(append([]string{"--"}, rest...))
}
