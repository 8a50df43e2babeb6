package row

import "strings"

// Collation is one of SQLite's built-in orders of TEXT.
type Collation uint8

// The collations. They matter for TEXT only; BLOBs are always compared by
// bytes.
const (
	Binary Collation = iota // by bytes
	NoCase                  // ASCII letters without case
	RTrim                   // by bytes, trailing spaces ignored
)

// CollationByName returns the collation of that name, in any case (of ASCII,
// as all of SQLite's names).
func CollationByName(name string) (Collation, bool) {
	for _, c := range [...]Collation{Binary, NoCase, RTrim} {
		if compareNoCase(name, c.String()) == 0 {
			return c, true
		}
	}
	return Binary, false
}

// String returns the collation's SQL name.
func (c Collation) String() string {
	switch c {
	case NoCase:
		return "NOCASE"
	case RTrim:
		return "RTRIM"
	}
	return "BINARY"
}

// lower folds ASCII capitals and nothing else.
var lower = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
		if 'A' <= i && i <= 'Z' {
			t[i] += 'a' - 'A'
		}
	}
	return t
}()

// compareText orders two texts.
func compareText(a, b string, c Collation) int {
	switch c {
	case NoCase:
		return compareNoCase(a, b)
	case RTrim:
		a, b = trimSpaces(a), trimSpaces(b)
	}
	return strings.Compare(a, b)
}

// compareNoCase is SQLite's NOCASE, which reads C strings: a NUL in both texts
// at the same place ends the comparison, and then only their lengths count.
func compareNoCase(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		x, y := lower[a[i]], lower[b[i]]
		if x != y {
			if x < y {
				return -1
			}
			return 1
		}
		if x == 0 {
			break
		}
	}
	switch {
	case len(a) < len(b):
		return -1
	case len(a) > len(b):
		return 1
	}
	return 0
}

// trimSpaces drops trailing 0x20, no other white space.
func trimSpaces(s string) string {
	n := len(s)
	for n > 0 && s[n-1] == ' ' {
		n--
	}
	return s[:n]
}
