package main

import (
	"context"
)

// runBench runs a benchmark that needs more than a Go benchmark can have: other
// processes, and limits on them.
func runBench(ctx context.Context, args []string, std streams) error {
	if len(args) > 0 && args[0] == "residency" {
		return runBenchResidency(ctx, args[1:], std)
	}
	flags := newFlags("bench")
	if helped, err := parseFlags(flags, args, "tidemark bench residency [flags]", std); helped || err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return misuse("unknown benchmark %s: use residency", flags.Arg(0))
	}
	return misuse("bench takes the name of a benchmark: use residency")
}
