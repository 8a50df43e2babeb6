package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
)

// Payloads with a right CRC that the writer would not have written.
func TestDecodersRefuse(t *testing.T) {
	p := func(first int64, entries ...[]byte) []byte {
		return append(appendVarint(nil, first), bytes.Join(entries, nil)...)
	}
	one := []byte{0x07, 1} // the first of a block, of 8 bytes
	huge := binary.AppendUvarint(nil, math.MaxUint64)
	for name, x := range map[string]struct {
		body    []byte
		entries int
		fits    bool
	}{
		"an entry":                {p(1, one), 1, true},
		"two entries":             {p(1, one, []byte{0x1f}), 2, true},
		"no entry":                {p(1), 1, false},
		"a difference at first":   {p(1, []byte{0x17, 1}), 1, false},
		"no difference":           {p(1, one, []byte{0x0f}), 2, false},
		"behind the last row":     {p(math.MaxInt64, one, []byte{0x1f}), 2, false},
		"a huge difference":       {p(1, one, append([]byte{0xff}, huge...)), 2, false},
		"a row that wraps":        {p(1, one, append([]byte{0xff}, binary.AppendUvarint(nil, math.MaxUint64-15)...)), 2, false},
		"a long number":           {p(1, []byte{0x07, 0x81, 0}), 1, false},
		"a number that is cut":    {p(1, []byte{0x07, 0x81}), 1, false},
		"size 0":                  {p(1, []byte{0x07, 0}), 1, false},
		"no size":                 {p(1, []byte{0x0f}), 1, false},
		"the same size":           {p(1, one, []byte{0x17, 1}), 2, false},
		"a large size":            {p(1, append([]byte{0x07}, binary.AppendUvarint(nil, 1<<29)...)), 1, false},
		"the largest size":        {p(1, append([]byte{0x07}, binary.AppendUvarint(nil, 1<<29-1)...)), 1, true},
		"the next ordinal":        {p(1, one, []byte{0x1d, 2}), 2, false},
		"another ordinal":         {p(1, one, []byte{0x1d, 4}), 2, true},
		"a negative ordinal":      {p(1, one, []byte{0x1d, 1}), 2, false},
		"a huge ordinal":          {p(1, one, append([]byte{0x1d}, binary.AppendUvarint(nil, 2*math.MaxUint32+2)...)), 2, false},
		"an ordinal far off":      {p(1, one, append([]byte{0x1d}, huge...)), 2, false},
		"the next offset":         {p(1, one, []byte{0x1b, 0}), 2, false},
		"another offset":          {p(1, one, []byte{0x1b, 2}), 2, true},
		"a negative offset":       {p(1, one, []byte{0x1b, 3}), 2, false},
		"an offset far off":       {p(1, one, append([]byte{0x1b}, huge...)), 2, false},
		"another fragment":        {p(1, one, []byte{0x18, 3, 0, 0}), 2, true},
		"the same fragment":       {p(1, one, []byte{0x18, 0, 0, 0}), 2, false},
		"no such fragment":        {p(1, one, []byte{0x18, 4, 0, 0}), 2, false},
		"a fragment and its next": {p(1, one, []byte{0x1a, 3, 0, 0}), 2, false},
		"a fragment's huge place": {p(1, one, append([]byte{0x18, 3}, append(binary.AppendUvarint(nil, 1<<32), 0)...)), 2, false},
		"a frame at the end":      {p(1, one, append([]byte{0x18, 3, 0}, binary.AppendUvarint(nil, maxOffset)...)), 2, false},
	} {
		row, at := varint(x.body, 0)
		s, ok := primaryStart(row), true
		for i := 0; i < x.entries && ok; i++ {
			var e PrimaryEntry
			at, ok = s.decode(x.body, at, i == 0, 4, &e)
		}
		if ok != x.fits || ok && at != len(x.body) {
			t.Errorf("primary: %s: %v", name, ok)
		}
	}

	long := strings.Repeat("k", BlockKeys/2)
	s := func(parts ...string) []byte { return []byte(strings.Join(parts, "")) }
	more := func(n int) string { return string(binary.AppendUvarint(nil, uint64(n))) }
	for name, x := range map[string]struct {
		body    []byte
		entries uint64
		fits    bool
	}{
		"an entry":            {s("\x02\x01a\x02"), 1, true},
		"an empty key":        {s("\x02\x00\x02"), 1, true},
		"two entries":         {s("\x02\x01a\x02", "\x02\x01b\x02"), 2, true},
		"a longer key":        {s("\x02\x01a\x02", "\x06\x01b\x02"), 2, true},
		"the same key":        {s("\x02\x01a\x02", "\x06\x00\x02"), 2, false},
		"a key before":        {s("\x02\x01b\x02", "\x02\x01a\x02"), 2, false},
		"shared, not said":    {s("\x02\x01a\x02", "\x02\x02ab\x02"), 2, false},
		"more than there is":  {s("\x02\x01a\x02", "\x0a\x01b\x02"), 2, false},
		"shared at first":     {s("\x06\x01a\x02"), 1, false},
		"a key that is cut":   {s("\x02\x05a\x02"), 1, false},
		"a byte behind":       {s("\x02\x01a\x02\x00"), 1, false},
		"an entry too few":    {s("\x02\x01a\x02"), 2, false},
		"an entry too many":   {s("\x02\x01a\x02", "\x02\x01b\x02"), 1, false},
		"a negative ordinal":  {s("\x02\x01a\x01\x02"), 1, false},
		"a huge ordinal":      {s("\x02\x01a", more(2*math.MaxUint32+4)), 1, false},
		"another fragment":    {s("\x00\x01a\x03\x00"), 1, true},
		"the same fragment":   {s("\x00\x01a\x00\x00"), 1, false},
		"no such fragment":    {s("\x00\x01a\x04\x00"), 1, false},
		"its huge ordinal":    {s("\x00\x01a\x03", more(1<<32)), 1, false},
		"one long key":        {s("\x02", more(3*len(long)), long, long, long, "\x02"), 1, true},
		"as long as may be":   {s("\x02", more(len(long)-1), long[1:], "\x02", "\xfe", more(len(long)-1-63), "\x01k\x02"), 2, true},
		"keys that are large": {s("\x02", more(len(long)), long, "\x02", "\xfe", more(len(long)-63), "\x01k\x02"), 2, false},
	} {
		var b secondaryBlock
		if bad := b.decode(x.body, x.entries, 4); (bad < 0) != x.fits {
			t.Errorf("secondary: %s: %d", name, bad)
		}
	}
}

// forge returns a file of given frames, which have right CRCs.
func forge(h Header, dirAt int64, entries uint64, frames ...[]byte) []byte {
	file := h.append(make([]byte, frameHead), testSalt)
	sealFrame(testSalt, 0, frameHeader, file)
	for i, payload := range frames {
		kind := byte(frameEntries)
		if i == len(frames)-1 {
			kind = frameDirectory
			if dirAt == 0 {
				dirAt = int64(len(file))
			}
		}
		at := len(file)
		file = append(append(file, make([]byte, frameHead)...), payload...)
		sealFrame(testSalt, int64(at), kind, file[at:])
	}
	at := len(file)
	file = appendFooter(append(file, make([]byte, frameHead)...), footer{entries: entries, directory: dirAt})
	sealFrame(testSalt, int64(at), frameFooter, file[at:])
	return file
}

// Directories that are not of their blocks, with right CRCs.
func TestDirectoryRefused(t *testing.T) {
	row := func(id byte) []byte { return []byte{id << 1, 0x07, 1} } // a block of one row
	two := []byte{2 << 1, 0x07, 1, 0xff, 0}                         // of the rows 2 and 17
	ph, sh := testHeader(Primary), testHeader(Secondary)
	key := func(k string) []byte { return []byte("\x02" + string(byte(len(k))) + k + "\x02") }
	for name, x := range map[string]struct {
		h       Header
		entries uint64
		dirAt   int64
		frames  [][]byte
		fits    bool
	}{
		"no blocks":               {ph, 0, 0, [][]byte{{0}}, true},
		"a block":                 {ph, 1, 0, [][]byte{row(1), {1, 12, 1, 2}}, true},
		"two blocks":              {ph, 2, 0, [][]byte{row(1), row(9), {2, 12, 1, 2, 12, 1, 8}}, true},
		"a block too few":         {ph, 1, 0, [][]byte{row(1), row(9), {1, 12, 1, 2}}, false},
		"a block too many":        {ph, 1, 0, [][]byte{row(1), {2, 12, 1, 2, 12, 1, 8}}, false},
		"a byte behind":           {ph, 1, 0, [][]byte{row(1), {1, 12, 1, 2, 0}}, false},
		"another number":          {ph, 2, 0, [][]byte{row(1), {1, 12, 1, 2}}, false},
		"another number in it":    {ph, 2, 0, [][]byte{row(1), {1, 12, 2, 2}}, false},
		"no entries":              {ph, 0, 0, [][]byte{row(1), {1, 12, 0, 2}}, false},
		"another row":             {ph, 1, 0, [][]byte{row(1), {1, 12, 1, 4}}, false},
		"the same row":            {ph, 2, 0, [][]byte{row(1), row(1), {2, 12, 1, 2, 12, 1, 0}}, false},
		"a row behind":            {ph, 3, 0, [][]byte{two, row(17), {2, 14, 2, 4, 12, 1, 15}}, false},
		"a row before":            {ph, 3, 0, [][]byte{two, row(18), {2, 14, 2, 4, 12, 1, 16}}, true},
		"behind the file":         {ph, 0, 1 << 40, [][]byte{{0}}, false},
		"before the file":         {ph, 0, -5, [][]byte{{0}}, false},
		"in the header":           {ph, 0, 3, [][]byte{{0}}, false},
		"a key":                   {sh, 1, 0, [][]byte{key("b"), {1, 13, 1, 0, 0}}, true},
		"two keys":                {sh, 2, 0, [][]byte{key("b"), key("cd"), {2, 13, 1, 0, 0, 14, 1, 0, 1, 'c'}}, true},
		"a separator at first":    {sh, 1, 0, [][]byte{key("b"), {1, 13, 1, 0, 1, 'b'}}, false},
		"no separator":            {sh, 2, 0, [][]byte{key("b"), key("cd"), {2, 13, 1, 0, 0, 14, 1, 0, 0}}, false},
		"another key":             {sh, 2, 0, [][]byte{key("b"), key("dd"), {2, 13, 1, 0, 0, 14, 1, 0, 1, 'c'}}, false},
		"a key behind":            {sh, 2, 0, [][]byte{key("c"), key("cd"), {2, 13, 1, 0, 0, 14, 1, 0, 1, 'c'}}, false},
		"a long separator":        {sh, 2, 0, [][]byte{key("b"), key("cd"), {2, 13, 1, 0, 0, 14, 1, 0, 2, 'c', 'd'}}, false},
		"separators not in order": {sh, 3, 0, [][]byte{key("b"), key("c"), key("ca"), {3, 13, 1, 0, 0, 13, 1, 0, 1, 'c', 14, 1, 0, 1, 'c'}}, false},
	} {
		file := forge(x.h, x.dirAt, x.entries, x.frames...)
		r, err := Open(bytes.NewReader(file), int64(len(file)), x.h)
		var verify error
		if err == nil {
			if x.h.Kind == Primary {
				_, err = readPrimary(r.Primary(math.MinInt64))
			} else {
				_, err = readSecondary(r.Secondary())
			}
			verify = r.Verify(t.Context())
		}
		var c *CorruptError
		if x.fits != (err == nil) || err != nil && !errors.As(err, &c) {
			t.Errorf("%s: %v", name, err)
		}
		// The digest of a forged file is wrong in any case.
		if r != nil && !errors.As(verify, &c) {
			t.Errorf("%s: verified: %v", name, verify)
		}
	}

	// Seeking needs the order, so Open refuses another one.
	for name, b := range map[string][]byte{
		"the same row":  {2, 12, 1, 2, 12, 1, 0},
		"a row wraps":   append([]byte{2, 12, 1, 2, 12, 1}, binary.AppendUvarint(nil, math.MaxUint64)...),
		"an equal key":  {3, 13, 1, 0, 0, 13, 1, 0, 1, 'c', 14, 1, 1, 0},
		"a key before":  {3, 13, 1, 0, 0, 13, 1, 0, 1, 'c', 14, 1, 0, 1, 'b'},
		"a shared byte": {3, 13, 1, 0, 0, 13, 1, 0, 1, 'c', 14, 1, 0, 2, 'c', 'd'},
	} {
		kind := Primary
		if b[0] == 3 {
			kind = Secondary
		}
		var d directory
		if d.decode(b, kind, 100) {
			t.Errorf("directory: %s", name)
		}
	}

	// A separator is no longer than the block whose key it begins: what it says to share
	// would be memory that the file has not paid for.
	var d directory
	dir := func(size int) []byte {
		b := []byte{3, 13, 1, 0, 0}
		b = append(binary.AppendUvarint(b, 1<<20), 1, 0)
		b = append(binary.AppendUvarint(b, 1<<16), strings.Repeat("k", 1<<16)...)
		b = append(binary.AppendUvarint(b, uint64(size)), 1)
		return append(binary.AppendUvarint(b, 1<<16), 1, 'k')
	}
	if !d.decode(dir(1<<20), Secondary, 100) {
		t.Error("a long separator of a long block")
	}
	if d.decode(dir(20), Secondary, 100) {
		t.Error("a separator that is longer than its block")
	}
}

// Frames pass for what they are only.
func TestFrameOfOtherKind(t *testing.T) {
	b := append(make([]byte, frameHead), "payload"...)
	sealFrame(testSalt, 8, frameEntries, b)
	if p, err := openFrame(testSalt, 8, frameEntries, b); err != nil || string(p) != "payload" {
		t.Error(err)
	}
	if _, err := openFrame(testSalt, 8, frameDirectory, b); err == nil {
		t.Error("a block passes for a directory")
	}
}
