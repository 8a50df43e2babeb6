package engine

// formatFences are the fences of the format: which bytes pass as a frame.
var formatFences = []fencesOf{
	{"wal/frame.go", "wal", []fence{
		{"a checksum is of its place", `	binary.LittleEndian.PutUint64(b, uint64(off))`, `	binary.LittleEndian.PutUint64(b, 0)`, "TestGolden$|TestFindCommits|TestUserBytes"},
		{"a checksum is of its file", `crc32.Update(0, castagnoli, s[:])`, `crc32.Update(0, castagnoli, nil)`, "TestGolden$|TestUserBytes"},
	}},
	{"wal/scanner.go", "wal", []fence{
		{"checksums are compared", `	if checksum(s.seed, off, b[:prefix+length]) != crc {`, `	if checksum(s.seed, off, b[:prefix+length]) != crc && false {`, "TestFlipEveryBit"},
		{"checksums of long frames are compared", `		if sum != crc {`, `		if false {`, "TestLongFrames"},
		{"a length of zero ends the log", `	case length == 0:
		return s.fail(off, Tail)`, ``, "TestStopReasons|TestCutAtEveryByte"},
		{"a frame lies in its file", `	case size > left:
		return s.fail(off, Truncated)`, ``, "TestCutAtEveryByte|TestStopReasons"},
		{"a length is possible", `	case length-1 > MaxPayload:
		return s.fail(off, BadLength)`, ``, "TestStopReasons"},
		{"a kind is known", `	if !f.Kind.known() {
		return s.fail(off, BadKind)
	}
	for _, c := range b[`, `	for _, c := range b[`, "TestStopReasons"},
		{"padding is zero", `	for _, c := range b[prefix+length : size] {
		if c != 0 {`, `	for _, c := range b[prefix+length : size] {
		if false && c != 0 {`, "TestFlipEveryBit|TestStopReasons"},
		{"a failed read is no end of the log", `	s.stop = Stop{off, ReadFailed, err}`, `	s.stop = Stop{off, Tail, err}`, "TestReadErrors"},
	}},
	{"wal/find.go", "wal", []fence{
		{"the search looks at every place", `b, off = b[Align:], off+Align {`, `b, off = b[2*Align:], off+2*Align {`, "TestFindCommits"},
	}},
	{"wal/find.go", ".", []fence{
		{"the search goes on behind a bad frame", `				off += Align
				continue`, `				return`, "TestFlippedBits"},
		{"a close mark is evidence", `	if c.Kind == KindCloseMark {
		return c.CloseMark.LSN
	}
	return c.Commit.SyncedLSN`, `	return c.Commit.SyncedLSN`, "TestFlippedBits"},
		{"close marks are looked for", `k != KindCommit && k != KindCloseMark {`, `k != KindCommit {`, "TestFlippedBits|TestCutAtEveryByte"},
	}},
	{"wal/builder.go", "wal", []fence{
		{"a mark is of its place", `return b.salt ^ uint64(b.Offset())`, `return b.salt`, "TestGolden$|TestRoundTrip"},
		{"a commit claims earlier ones", `	if c.LSN == 0 || c.SyncedLSN >= c.LSN {`, `	if false {`, "TestBuilderRefuses"},
	}},
	{"wal/decode.go", "wal", []fence{
		{"a later format is refused", `	if h.Format = c.u32(); h.Format > Format {`, `	if h.Format = c.u32(); false {`, "TestReadHeader|TestDecodersRefuse"},
		{"a commit that claims itself is damage", `	if m.LSN == 0 || m.SyncedLSN >= m.LSN {`, `	if false {`, "TestDecodersRefuse"},
		{"a commit's mark is compared", `	if c.u64() != markOf(salt, f.Offset) {
		return Commit{}, corrupt(f, "wrong mark")
	}`, `	c.u64()`, "TestDecodersRefuse"},
		{"a close mark's mark is compared", `	if c.u64() != markOf(salt, f.Offset) {
		return CloseMark{}, corrupt(f, "wrong mark")
	}`, `	c.u64()`, "TestDecodersRefuse"},
		{"a delta points back", `	if d.Prev >= uint64(f.Offset) || d.Prev%Align != 0 {`, `	if false {`, "TestDecodersRefuse"},
		{"a footer is whole", `	s.Contributions = c.contributions()
	if !c.done() {`, `	s.Contributions = c.contributions()
	if false {`, "TestDecodersRefuse"},
	}},
}
