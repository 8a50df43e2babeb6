package catalog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// pinner is another process: for each object that it is told of it pins, says how that
// went, and lets go when it is told to.
func pinner(dir string) error {
	ctx := context.Background()
	c, err := Open(ctx, Options{Dir: dir, ReadOnly: true, Pins: true})
	if err != nil {
		return err
	}
	self, err := ThisProcess()
	if err != nil {
		return err
	}
	s, err := c.OpenSession(ctx, self)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var representation, id int64
		if _, err := fmt.Sscan(in.Text(), &representation, &id); err != nil {
			return err
		}
		p, err := c.Pin(ctx, s.ID, representation, []int64{id})
		switch {
		case err == nil:
			fmt.Println("pinned")
		case errors.Is(err, ErrNotAcquirable):
			fmt.Println("refused")
			continue
		default:
			return err
		}
		if in.Scan() {
			err = c.Unpin(ctx, p.OwnerID)
		}
		if err != nil {
			return err
		}
		fmt.Println("free")
	}
	return errors.Join(c.CloseSession(ctx, s.ID), c.Close(ctx))
}

// TestPinAgainstClaimOfProcesses is TestPinAgainstClaim with the pins in another
// process: each time exactly one of the two wins.
func TestPinAgainstClaimOfProcesses(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 100
	}
	ctx := t.Context()
	c, st := newStore(t, Creation{})
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), "CATALOG_TEST_PINNER="+c.options.Dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	said := func() string {
		if !lines.Scan() {
			t.Fatalf("the other process ended: %v %s", cmd.Wait(), stderr.String())
		}
		return lines.Text()
	}
	if got := said(); got != "ready" {
		t.Fatal(got)
	}
	pins := 0
	for round := range rounds {
		id := orphan(t, c, int64(round))
		fmt.Fprintln(in, st.Timeline.RepresentationID, id)
		if round%2 == 1 { // who is faster changes
			for range round % 400 {
				one64(t, c, `SELECT 1`)
			}
		}
		claimed, err := c.Claim(ctx, []int64{id})
		if err != nil {
			t.Fatal(err)
		}
		pinned := said() == "pinned"
		if pinned == (len(claimed) == 1) {
			t.Fatalf("round %d: pinned %v, claimed %+v", round, pinned, claimed)
		}
		if !pinned {
			if err := c.Collected(ctx, []int64{id}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		pins++
		if n := collectAll(t, c); n != 0 {
			t.Fatalf("round %d: %d collected under the pin", round, n)
		}
		fmt.Fprintln(in, "free")
		if got := said(); got != "free" {
			t.Fatal(got)
		}
		if n := collectAll(t, c); n != 1 {
			t.Fatalf("round %d: %d collected after the pin", round, n)
		}
	}
	t.Logf("%d of %d rounds were the pin's", pins, rounds)
	if rounds >= 1000 && (pins == 0 || pins == rounds) {
		t.Errorf("there was no race: %d of %d rounds were the pin's", pins, rounds)
	}
	for _, view := range []string{"claim_closure_audit", "gc_intents", "reader_pins"} {
		if n := one64(t, c, `SELECT count(*) FROM `+view); n != 0 {
			t.Errorf("%d rows of %s", n, view)
		}
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the other process: %v %s", err, stderr.String())
	}
}
