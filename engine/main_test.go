package engine

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"sync/atomic"
	"testing"
)

// How much the loops over crashes and faults do. A test run does a tenth, a
// short one a hundredth of what is run by hand:
//
//	go test ./engine -run 'Loop' -timeout 1h -crash-images 100000 -crash-faults 20000
var (
	crashImages = flag.Int("crash-images", 0, "crash images for the loop of crashes to open (0: as many as fit a test run)")
	crashFaults = flag.Int("crash-faults", 0, "faults for the loop of faults to inject (0: as many as fit a test run)")
	crashImage  = flag.Int("crash-image", 0, "open only this image, or inject only this fault, of the program with seed -crash-seed")
)

// goal is what a loop has to reach.
func goal(byHand int, wanted int) int {
	switch {
	case *crashImage > 0:
		return 1
	case wanted > 0:
		return wanted
	case testing.Short():
		return byHand / 100
	}
	return byHand / 10
}

// totals of the whole run of the package.
var totals struct {
	images        atomic.Int64 // different crash images that a store was opened on
	fileFaults    atomic.Int64 // operations on files that were made to fail
	catalogFaults atomic.Int64 // commits of the catalog that were
}

func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(800) // a store in a test is small, and there are hundreds of thousands
	code := m.Run()
	if err := closeShelves(); err != nil {
		fmt.Println(err)
		code = max(code, 1)
	}
	if n := totals.images.Load(); n > 0 {
		fmt.Printf("crash images opened: %d; faults injected: %d on files, %d on the catalog\n",
			n, totals.fileFaults.Load(), totals.catalogFaults.Load())
	}
	os.Exit(code)
}
