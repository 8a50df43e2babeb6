package sqltests

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"testing"
)

var seedFlag = flag.Uint64("seed", 0, "seed of random tests; 0 chooses one and prints it")

// TestMain runs a child process's work when this binary was started as one.
func TestMain(m *testing.M) {
	if dir := os.Getenv("TIDEMARK_TEST_WRITERS"); dir != "" {
		if err := childWriters(dir, os.Getenv("TIDEMARK_TEST_COMPACT") != ""); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv("TIDEMARK_TEST_LOAD"); dir != "" {
		if err := childLoad(dir, os.Getenv("TIDEMARK_TEST_SCRIPT")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if text := os.Getenv("TIDEMARK_TEST_CHORE"); text != "" {
		var c chore
		err := json.Unmarshal([]byte(text), &c)
		if err == nil {
			err = childChore(c)
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
