package engine

// segmentFences are the fences of the format of index segments: which bytes pass, and
// which entries are written and merged.
var segmentFences = []fencesOf{
	{"segment/frame.go", "segment", []fence{
		{"a segment's checksum is of its place", `	binary.LittleEndian.PutUint64(b[8:], uint64(off))`, ``, "TestGolden$|TestBlockElsewhere"},
		{"a segment's checksum is of its file", `	copy(b[:], s[:])`, ``, "TestGolden$|TestBlockElsewhere"},
		{"a segment's checksums are compared", `	case s.checksum(off, b[frameHead-1:]) != binary.LittleEndian.Uint32(b[4:]):`, `	case false:`, "TestFlipEveryBit"},
		{"a segment's frame has the length of the directory", `len(b) < frameHead || int64(binary.LittleEndian.Uint32(b)) != int64(len(b)-frameHead+1)`, `len(b) < frameHead`, "TestFlipEveryBit"},
		{"a segment's frame is of the kind that is read", `	case b[frameHead-1] != kind:`, `	case false:`, "TestFrameOfOtherKind"},
		{"a segment that ends early is damaged", `		return nil, corrupt(off+int64(got), "file ends before its extent")`, `		return nil, err`, "TestCutAtEveryByte"},
		{"damage of a segment names its object", `		c.Object = object`, ``, "TestFlipEveryBit"},
	}},
	{"segment/header.go", "segment", []fence{
		{"a newer segment is refused", `f > Format {`, `false {`, "TestNewerFormat"},
		{"a segment is of the store", `	case h.Store != want.Store:`, `	case false:`, "TestOtherSegment"},
		{"a segment is of the object", `	case h.Object != want.Object:`, `	case false:`, "TestOtherSegment"},
		{"a segment is of the kind", `	case h.Kind != want.Kind:`, `	case false:`, "TestOtherSegment"},
		{"a segment is of the index", `h.Table != want.Table || h.Index != want.Index`, `false`, "TestOtherSegment"},
		{"a segment covers what is wanted", `len(have) == 0 || have[0] != id`, `false`, "TestOtherSegment"},
		{"fragments are in order", `i > 0 && id <= h.Fragments[i-1]`, `false`, "TestWriterRefuses"},
	}},
	{"segment/varint.go", "segment", []fence{
		{"a number has its shortest form", `c == 0 && i > at || shift == 63 && c > 1`, `shift == 63 && c > 1`, "TestDecodersRefuse"},
	}},
	{"segment/writer.go", "segment", []fence{
		{"rows are written in order", `w.entries > 0 && e.Rowid <= w.lastRow`, `false`, "TestWriterRefuses"},
		{"keys are written in order", `w.entries > 0 && (n == len(key) || n < len(w.lastKey) && key[n] < w.lastKey[n])`, `w.entries > 0 && n == len(key)`, "TestWriterRefuses"},
		{"keys are written once", `w.entries > 0 && (n == len(key) || n < len(w.lastKey) && key[n] < w.lastKey[n])`, `w.entries > 0 && n < len(w.lastKey) && n < len(key) && key[n] < w.lastKey[n]`, "TestWriterRefuses"},
		{"keys of a block are bounded", `w.keys+len(key) <= BlockKeys`, `true`, "TestLongKeys"},
		{"a failed write ends a segment", `	w.err = err
	return err`, `	return err`, "TestWriterRefuses|TestWriteErrors"},
	}},
	{"segment/primary.go", "segment", []fence{
		{"an entry is behind the one before", `rowid > s.rowid != first && (d == 0) == first`, `true`, "TestDecodersRefuse"},
		{"a fragment is in the header", `f < uint64(fragments) &&`, `true &&`, "TestDecodersRefuse"},
		{"a place is coded in one way", `ok = ok && diff != 1`, `_ = diff`, "TestDecodersRefuse"},
		{"an offset is coded in one way", `ok = ok && diff != 0`, `_ = diff`, "TestDecodersRefuse"},
		{"a size is coded in one way", `size != uint64(s.size) &&`, `true &&`, "TestDecodersRefuse"},
		{"a frame has a size and a place", `s.size <= 0 || s.ordinal < 0 || s.ordinal > math.MaxUint32 || s.end < 0 || s.end > maxOffset-s.size`, `false`, "TestDecodersRefuse"},
	}},
	{"segment/secondary.go", "segment", []fence{
		{"a key is behind the one before", `more == 0 || n < uint64(len(prev)) && b[at] <= prev[n]`, `false`, "TestDecodersRefuse"},
		{"keys that are read are bounded", `uint64(len(keys))+n+more > BlockKeys`, `false`, "TestDecodersRefuse"},
		{"a key's fragment is in the header", `f == uint64(s.fragment) || f >= uint64(fragments) || ordinal > math.MaxUint32`, `false`, "TestDecodersRefuse"},
		{"a block ends with its entries", `	if at != len(b) {
		return at
	}`, ``, "TestDecodersRefuse"},
	}},
	{"segment/directory.go", "segment", []fence{
		{"blocks lie without gaps", `	case behind != f.directory:`, `	case false:`, "TestDirectoryRefused"},
		{"the directory has all entries", `	case entries != f.entries:`, `	case false:`, "TestDirectoryRefused"},
		{"blocks are in order of rows", `i > 0 && x.row <= d.blocks[i-1].row`, `false`, "TestDirectoryRefused"},
		{"blocks are in order of keys", `i > 0 && (more == 0 || same < uint64(len(sep)) && b[at] <= sep[same])`, `false`, "TestDirectoryRefused"},
		{"a separator is no longer than its block", `same+more > size`, `false`, "TestDirectoryRefused"},
		{"a footer points into the file", `f.directory < start || f.directory > at-frameHead`, `false`, "TestDirectoryRefused"},
	}},
	{"segment/iterator.go", "segment", []fence{
		{"a block begins as the directory says", `row != x.row`, `false`, "TestDirectoryRefused"},
		{"a block's rows are before the next one's", `(it.block == len(it.r.dir.blocks) || it.e.Rowid < it.r.dir.blocks[it.block].row)`, `true`, "TestDirectoryRefused"},
		{"a block's keys begin as the directory says", `!hasPrefix(it.b.bytes(0), d.seps[i])`, `false`, "TestDirectoryRefused"},
		{"a block's keys are before the next one's", `!separates(it.b.bytes(len(it.b.entries)-1), d.seps[i+1])`, `false`, "TestDirectoryRefused"},
		{"an iterator never goes back", `it.valid && it.e.Rowid >= rowid`, `false`, "TestPrimarySeek"},
		{"an iterator of keys never goes back", `it.valid && it.b.key(it.at-1) >= key`, `false`, "TestSecondarySeek"},
	}},
	{"segment/reader.go", "segment", []fence{
		{"a segment's digest is compared", `[32]byte(sum.Sum(nil)) != r.footer.digest`, `false`, "TestDigest"},
	}},
	{"segment/batch.go", "segment", []fence{
		{"dead entries are in no batch", `if m.live(fragments[e.Fragment], e.Ordinal) {`, `if m.live(fragments[e.Fragment], e.Ordinal) || true {`, "TestMergeBatches"},
		{"damage ends batches", `	m.err = x.s.err
	return false`, `	return false`, "TestMergeOfDamage"},
	}},
	{"segment/merge.go", "segment", []fence{
		{"dead entries are left out", `m.live == nil || m.live(x.e.Fragment, x.e.Ordinal)`, `true`, "TestMerge$"},
		{"two live entries of a row are damage", `top.p != nil && top.e.Rowid <= m.lastRow`, `top.p != nil && false`, "TestMergeFindsTwoLive"},
		{"two live entries of a key are damage", `top.s != nil && top.e.Key <= m.lastKey`, `top.s != nil && false`, "TestMergeFindsTwoLive"},
		{"segments that are merged are of one index", `h.Kind != first.Kind || h.Table != first.Table || h.Index != first.Index`, `false`, "TestMergeRefusesOtherIndexes"},
		{"damage ends a merge", `m.err != nil || len(m.heap) == 0`, `len(m.heap) == 0`, "TestMergeOfDamage"},
		{"a range of rows ends", `m.rg.to.set && e.Rowid >= m.rg.to.row`, `false`, "TestMerge$"},
		{"a range of keys ends", `m.rg.to.set && e.Key >= m.rg.to.key`, `false`, "TestMerge$"},
	}},
}
