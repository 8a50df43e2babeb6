package slt

import "testing"

// A hash line names the number of values and their MD5.
func TestHashLine(t *testing.T) {
	n, h, ok := hashLine("30 values hashing to 3c13dee48d9356ae19af2515e05e6b54")
	if n != 30 || h != "3c13dee48d9356ae19af2515e05e6b54" || !ok {
		t.Fatal(n, h, ok)
	}
	if _, _, ok := hashLine("30 values hashing to 3c13"); ok {
		t.Fatal("short hash accepted")
	}
}
