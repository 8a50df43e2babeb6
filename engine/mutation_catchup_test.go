package engine

// catchupFences are those of how indexes catch up with compaction.
var catchupFences = []fencesOf{
	{"../catalog/catchup/derive.go", "../catalog/catchup", []fence{
		{"a changed index keeps nothing", `ok && unchanged(was, segments) {`, `ok || len(was) == 0 {`, "TestDerive"},
		{"an index that was dropped in between is another one", `ok && unchanged(was, segments) {`, `(ok || !ok) && unchanged(was, segments) {`, "TestDerive"},
		{"an index earns by proof", `ok && proven(segments, table, read) {`, `ok && table > 0 {`, "TestDerive"},
		{"an index of no known table proves nothing", `ok && proven(segments, table, read) {`, `(ok || !ok) && proven(segments, table, read) {`, "TestDerive$"},
		{"only indexes that are left have positions", `range after {`, `range before {`, "TestDerive"},
		{"a position is kept", `			kept = prior[index]
`, ``, "TestDerive"},
		{"nothing is lowered that is kept", `max(kept[shard], earned[shard])`, `earned[shard]`, "TestDerive"},
		{"what is earned raises", `max(kept[shard], earned[shard])`, `kept[shard]`, "TestDerive"},
		{"no shard has the position of another", `max(kept[shard], earned[shard])`, `max(kept[min(shard, 100)], earned[shard])`, "TestDerive"},
		{"no position is beyond what is compacted", `		generation := min(max(kept[shard], earned[shard]), compacted)
`, `		generation := max(kept[shard], earned[shard])
		_ = compacted
`, "TestDerive"},
		{"only shards that were compacted have positions", `	for shard, compacted := range committed {
		generation`, `	for shard, compacted := range kept {
		generation`, "TestDerive"},
		{"an index without positions has no entry", `		if generation == 0 {
			continue
		}
`, ``, "TestDerive$"},
		{"credit ends at the version that was read", `min(read.Compacted[shard], compacted)`, `compacted`, "TestDerive"},
		{"without a version there is no proof", `read == nil || read.Fragments[table] == nil || read.Fragments[table].IsEmpty()`, `read != nil && (read.Fragments[table] == nil || read.Fragments[table].IsEmpty())`, "TestDerive"},
		{"a table without a fragment proves nothing", `|| read.Fragments[table].IsEmpty() {`, `{`, "TestDerive"},
		{"an unknown segment proves nothing", `		if s.Fragments == nil {
			return false
		}
		missing`, `		if s.Fragments == nil {
			continue
		}
		missing`, "TestDerive"},
		{"every fragment is spanned", `return missing.IsEmpty()`, `return len(segments) > 0 && missing.GetCardinality() < read.Fragments[table].GetCardinality()`, "TestDerive"},
		{"all segments count", `		missing.AndNot(s.Fragments)
`, `		if missing.AndNot(s.Fragments); true {
			break
		}
`, "TestDerive"},
		{"one segment more is a change", `	if len(before) != len(after) {
		return false
	}
	byObject`, `	after = after[:min(len(before), len(after))]
	byObject`, "TestDerive"},
		{"the order of segments is none", `slices.SortedFunc(slices.Values(after), byObject)`, `after`, "TestDerive"},
		{"an object says which segment", `a.Object != b.Object || (a`, `(a`, "TestDerive"},
		{"unknown is the same as unknown only", `(a.Fragments == nil) != (b.Fragments == nil) {`, `a.Fragments == nil || b.Fragments == nil {`, "TestDerive"},
		{"a segment that was narrowed is another one", `a.Fragments == nil || a.Fragments.Equals(b.Fragments)`, `true`, "TestDerive"},
		{"an advance is one over what is there", `exceeds(Derive(segments, segments, tables, prior, head.Compacted, &head), prior)`, `!Equal(Derive(segments, segments, tables, prior, head.Compacted, &head), prior)`, "TestWouldAdvance"},
	}},
	{"../catalog/catchup/positions.go", "../catalog/catchup", []fence{
		{"a half of the feature is none", `(reader^writer)&Feature != 0`, `reader&writer == Feature<<1`, "TestMaintained"},
		{"no position is a position of zero", `generation > b[index][shard]`, `generation >= b[index][shard]`, "TestNotStoredAgain"},
		{"equal is not lower", `!exceeds(a, b) && !exceeds(b, a)`, `!exceeds(a, b)`, "TestNotStoredAgain"},
		{"what was narrowed is withdrawn", `if !slices.Contains(indexes, index) {`, `if len(indexes) >= 0 {`, "TestDerive"},
		{"what was lowered is lost", `to < from`, `to == 0`, "TestLost"},
	}},
	{"../catalog/catchup/watermark.go", "../catalog/catchup", []fence{
		{"a scan excludes what is compacted", `marks[shard] = generation`, `if len(relied) > 0 {
			marks[shard] = generation
		}`, "TestWatermarks"},
		{"every index counts", `for _, index := range relied {
			generation =`, `for _, index := range relied[:min(1, len(relied))] {
			generation =`, "TestWatermarks"},
		{"no position holds back", `min(generation, p[index][shard])`, `min(generation, max(p[index][shard], 1))`, "TestWatermarks"},
		{"only what is compacted is retired", `generation == 0 || compacted[shard] < generation`, `generation == 0`, "TestRetirable"},
		{"there is no generation zero", `generation == 0 || compacted`, `compacted`, "TestRetirable"},
		{"every index has what is retired", `return false, index
`, `continue
`, "TestRetirable"},
	}},
}
