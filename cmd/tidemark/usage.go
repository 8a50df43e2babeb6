package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// newFlags makes the flags of a command, which prints nothing by itself.
func newFlags(name string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

// parseFlags reads a command's arguments. After -h it prints the usage and
// reports that this was all.
func parseFlags(flags *flag.FlagSet, args []string, usage string, std streams) (helped bool, err error) {
	switch err := flags.Parse(args); {
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
