package row

// SQLite's varint: big endian, seven bits a byte, the high bit says that more
// follow; the ninth byte, if there is one, gives all its eight bits.

// varintLen returns the length of v's shortest encoding.
func varintLen(v uint64) int {
	n := 1
	for v >= 0x80 && n < 9 {
		v >>= 7
		n++
	}
	return n
}

// putVarint writes v to the start of b and returns the length.
func putVarint(b []byte, v uint64) int {
	if v < 0x80 {
		b[0] = byte(v)
		return 1
	}
	if v >= 1<<56 {
		b[8] = byte(v)
		v >>= 8
		for i := 7; i >= 0; i-- {
			b[i] = byte(v) | 0x80
			v >>= 7
		}
		return 9
	}
	n := varintLen(v)
	for i := n - 1; i >= 0; i-- {
		b[i] = byte(v) | 0x80
		v >>= 7
	}
	b[n-1] &= 0x7f
	return n
}

// varint reads one varint from the start of s. The length is 0 when s ends
// too early.
func varint(s string) (v uint64, n int) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if i == 8 {
			return v<<8 | uint64(c), 9
		}
		v = v<<7 | uint64(c&0x7f)
		if c < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}
