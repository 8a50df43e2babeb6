package engine

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"sync/atomic"
	"testing"
)

// How much the loops over crashes and faults do. A test run takes a sample, a
// short one a smaller one, of what is run by hand:
//
//	go test ./engine -run Loop -timeout 2h -crash-images 60000 -crash-faults 20000
//
// opens 100,000 images and more, since it opens two behind each fault. -crash-every 1
// makes the other loops complete. The sample is drawn with -crash-seed, has every
// kind of operation, and each loop says how many it took of how many.
var (
	crashSeed   = flag.Uint64("crash-seed", 1, "seed of the random programs, crash images and faults")
	crashEvery  = flag.Int("crash-every", 0, "open every n-th crash image (0: as many as fit a test run)")
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
		return byHand / 200
	}
	return byHand / 60
}

// loopTotals are of the whole run of the package.
var loopTotals struct {
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
	if n := loopTotals.images.Load(); n > 0 {
		fmt.Printf("crash images opened: %d; faults injected: %d on files, %d on the catalog\n",
			n, loopTotals.fileFaults.Load(), loopTotals.catalogFaults.Load())
		fmt.Printf("repeat the sample with -crash-seed %d, take another with another one\n", *crashSeed)
	}
	os.Exit(code)
}

// sharded thins more when there are several shards, which have more files and
// so more operations.
func sharded(normal, shards int) int {
	if shards > 1 {
		normal *= 4
	}
	return thinned(normal)
}

// sparse thins a program of many more in a test run, so that its small sample comes
// from several programs.
func sparse(normal int) int {
	if *crashImages == 0 && *crashFaults == 0 && !testing.Short() {
		normal *= 6
	}
	return thinned(normal)
}

// thinned is how many images to leave out: normal is for a test run.
func thinned(normal int) int {
	if *crashEvery > 0 {
		return *crashEvery
	}
	if testing.Short() {
		return 10 * normal
	}
	return 3 * normal // TestCrashLoop opens thousands
}
