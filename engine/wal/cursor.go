package wal

import "math"

// cursor reads a payload field by field. The first field that is cut off, or
// not as the Builder writes it, makes it bad; what is read after that is zero.
type cursor struct {
	s   string
	bad bool
}

func (c *cursor) fail() { *c = cursor{bad: true} }

func (c *cursor) take(n uint64) string {
	if n > uint64(len(c.s)) {
		c.fail()
		return ""
	}
	t := c.s[:n]
	c.s = c.s[n:]
	return t
}

func (c *cursor) u8() uint8 {
	if t := c.take(1); t != "" {
		return t[0]
	}
	return 0
}

func (c *cursor) u32() uint32 {
	t := c.take(4)
	if t == "" {
		return 0
	}
	return uint32(t[0]) | uint32(t[1])<<8 | uint32(t[2])<<16 | uint32(t[3])<<24
}

func (c *cursor) u64() uint64 {
	t := c.take(8)
	if t == "" {
		return 0
	}
	_ = t[7]
	return uint64(t[0]) | uint64(t[1])<<8 | uint64(t[2])<<16 | uint64(t[3])<<24 |
		uint64(t[4])<<32 | uint64(t[5])<<40 | uint64(t[6])<<48 | uint64(t[7])<<56
}

func (c *cursor) uvarint() uint64 {
	if len(c.s) > 0 && c.s[0] < 0x80 {
		v := uint64(c.s[0])
		c.s = c.s[1:]
		return v
	}
	return c.longUvarint()
}

func (c *cursor) longUvarint() uint64 {
	var v uint64
	for i := range len(c.s) {
		b := c.s[i]
		if i == 9 && b > 1 {
			break // more than 64 bits
		}
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			if b == 0 && i > 0 {
				break // not the shortest form
			}
			c.s = c.s[i+1:]
			return v
		}
	}
	c.fail()
	return 0
}

func (c *cursor) varint() int64 { return unzigzag(c.uvarint()) }

// count reads the length of a list whose elements take at least least bytes,
// so that a wrong one cannot ask for memory the payload does not justify.
func (c *cursor) count(least int) int {
	n := c.uvarint()
	if n > uint64(len(c.s)/least) || n > math.MaxInt32 {
		c.fail()
		return 0
	}
	return int(n)
}

// bytes reads a length and that many bytes, nil for none.
func (c *cursor) bytes() []byte {
	t := c.take(c.uvarint())
	if t == "" {
		return nil
	}
	return []byte(t)
}

// done reports whether everything was read and was good.
func (c *cursor) done() bool { return !c.bad && c.s == "" }
