package engine

// positionFences are those of bases that keep objects, and of what the catalog knows of
// indexes: their states, their positions, and the generations that they let go.
var positionFences = []fencesOf{
	{"../catalog/positions.go", "../catalog", []fence{
		{"positions are derived where they are maintained", `	if after.maintained() {`, `	if true {`, "TestLegacy"},
		{"an index that lacks something is looked at", `kept[index][shard] < generation`, `kept[index][shard] < 0*generation`, "TestIndexLifecycle"},
		{"what was lost is told", `			c.lost = append(c.lost, IndexPosition{l.Index, l.Shard, int64(l.From)})`, `			_ = l`, "TestWithdrawal"},
		{"a state that says the same is not written", `	if after.equal(&before) {`, `	if after.equal(&before) && false {`, "TestNothingToPublish"},
		{"what is proven is proven of what was read", `	if read == head.RepresentationID {`, `	if read != 0 {`, "TestReadRepresentation"},
		{"credit is what the version that was read has", `Compacted: progressOf(state.Compacted), Fragments: then}`, `Compacted: progressOf(append(state.Compacted, before.Compacted...)), Fragments: then}`, "TestReadRepresentation"},
		{"what was read has the fragments of the head", `			delete(then, table)`, `			_ = table`, "TestRewrittenFragments"},
		{"what a restore undid proves nothing", `			delete(then, table)`, `			delete(then, -table)`, "TestReadBeforeARestore"},
		{"a fragment without a live row needs no segment", `x.Rows > 0 && f.Live[j].Rows == 0`, `x.Rows < 0`, "TestDeadFragments"},
		{"a table of dead rows has fragments", `			live[table] = b`, `			_ = b`, "TestDeadFragments"},
		{"a table with a live row is proven by that", `		if live[table] == nil {`, `		if b != nil {`, "TestDeadFragments"},
		{"rows that are written elsewhere end a position", `			x.Fragments = roaring64.AndNot(x.Fragments, gone)`, `			_ = x`, "TestRewrittenFragments"},
		{"what is kept ends no position", `return e.ObjectID == f.ObjectID }) {`, `return e.ObjectID == 0*f.ObjectID }) {`, "TestIndexLifecycle"},
		{"a fragment without a row ends no position", `			if f.Live[j].Rows > 0 {`, `			if f.Live[j].Rows >= 0 {`, "TestRewrittenFragments"},
		{"a state before is not changed", `	s.Segments = slices.Clone(s.Segments)
`, ``, "TestRewrittenFragments"},
		{"an index that was dropped leaves the state", `		if relied[s.Segments[i].IndexRef] {`, `		if relied != nil {`, "TestWithdrawal"},
		{"a definition that ended is none", `		if i.Until == 0 && tables[i.TableID] {`, `		if tables[i.TableID] {`, "TestWithdrawal"},
		{"an index leaves with its table", `		if i.Until == 0 && tables[i.TableID] {`, `		if i.Until == 0 {`, "TestDroppedTables"},
		{"a table that was dropped has no index", `		if t.Until == 0 && t.Durable {`, `		if t.Durable {`, "TestDroppedTables"},
	}},
	{"../catalog/retirement.go", "../catalog", []fence{
		{"without positions nothing is retired", `	if !c.state.maintained() || len(merged) == 0 {`, `	if len(merged) == 0 {`, "TestLegacyRetiresNothing"},
		{"an index holds a generation", `		if !ok || !sound ||`, `		if !ok && false || !sound ||`, "TestIndexLifecycle"},
		{"a table without an index holds a generation", `		if !ok || !sound ||`, `		if !ok || !sound && false ||`, "TestHeld"},
		{"what rows are read from is not retired", ` || slices.Contains(u.Held, e.ObjectID) {`, ` {`, "TestHeld"},
		{"what is retired is told", `		c.retired = append(c.retired, gone)`, `		_ = gone`, "TestIndexLifecycle"},
		{"a table that was dropped holds nothing", ` AND until_version IS NULL AND`, ` AND`, "TestDroppedTables"},
		{"a generation of unknown tables may have all", `		return !ok || slices`, `		return ok && slices`, "TestHeld"},
		{"indexes of other tables hold nothing", `		return !ok || slices`, `		return !ok || ok || slices`, "TestIndexLifecycle"},
	}},
	{"../catalog/index_update.go", "../catalog", []fence{
		{"an index is relied on once", `relied[r.IndexID]; twice {`, `relied[r.IndexID]; twice && false {`, "TestIndexRefusals"},
		{"segments are of what is relied on", `; !ok || table != x.TableID {`, `; !ok && table != table {`, "TestIndexRefusals"},
		{"an index has one list", `		if seen[x.IndexID] {`, `		if false {`, "TestIndexRefusals"},
		{"nothing is not published", `	if c.state.ID == before.ID && len(c.retired) == 0 {`, `	if false {`, "TestNothingToPublish"},
		{"retiring is something", `	if c.state.ID == before.ID && len(c.retired) == 0 {`, `	if c.state.ID == before.ID {`, "TestNothingToPublish"},
		{"a segment is named once", `			if named[ref.ObjectID] {`, `			if false {`, "TestIndexRefusals"},
		{"segments do not overlap", `			if all.Intersects(s.Fragments) {`, `			if false {`, "TestIndexRefusals"},
		{"an object is a segment", `	case row == nil:`, `	case row == nil && false:`, "TestIndexRefusals"},
		{"a segment is of its index", `	case row.IndexID != index.IndexID || row.TableID != index.TableID:`, `	case false:`, "TestIndexRefusals"},
		{"a new segment is rooted", `	case !inHead && !row.Rooted:`, `	case false:`, "TestIndexRefusals"},
		{"a segment stands for what it was sealed over", `; !more.IsEmpty() {`, `; more == nil {`, "TestIndexRefusals"},
		{"the tables of a generation have their digest", `		if err := checkDigest("tables of generation object", id, spans[id].Tables, tablesDigest(id, found[id])); err != nil {`, `		if err := error(nil); err != nil {`, "TestTamperedIndexes"},
	}},
	{"../catalog/index_state_rows.go", "../catalog", []fence{
		{"an index state has its digest", `	if err := checkDigest("index state", id, r.Digest, r.digest(identity)); err != nil {`, `	if err := error(nil); err != nil {`, "TestTamperedIndexes"},
		{"feature words are known", `unknown != 0 {`, `unknown < 0 {`, "TestHalfSet"},
		{"feature words agree", `	if _, err := catchup.Maintained(reader, writer); err != nil {`, `	if _, err := catchup.Maintained(reader, reader); err != nil {`, "TestHalfSet"},
		{"a segment of a state is sealed", `		case row.State != stateSealed:`, `		case false:`, "TestTamperedIndexes"},
		{"a state has its segments", `		case row == nil:
			return IndexState{}, refuse`, `		case row == nil:
			continue
		case false:
			return IndexState{}, refuse`, "TestTamperedIndexes"},
		{"a state that is in use stays", `id); err != nil || used {`, `id); err != nil {`, "TestIndexPublicationChangesNoRow"},
		{"fragments are a part of what a state says", ` && a.Fragments.Equals(b.Fragments)
`, `
`, "TestProgressAlone"},
		{"progress is a part of what a state says", ` && slices.Equal(s.Compacted, o.Compacted)`, ``, "TestProgressAlone"},
		{"positions are a part of what a state says", ` && slices.Equal(s.CaughtUp, o.CaughtUp)`, ``, "TestProgressAlone"},
	}},
	{"../catalog/live.go", "../catalog", []fence{
		{"a base says what is live of every fragment", `	if len(e.live) != len(f.Fragments) {`, `	if false {`, "TestLiveRows"},
		{"no deleted row is beyond its fragment", `; last >= rows {`, `; last < 0 {`, "TestLiveRows"},
		{"live rows are what is not deleted", `	if live.Rows != rows-gone {`, `	if false {`, "TestIncrementalRefusals"},
		{"a sum has its length", `	if live.Sum != nil && len(live.Sum) != sumBytes {`, `	if false {`, "TestLiveRows"},
		{"a vector ends with its bytes", `	if n != int64(len(text)) || b.IsEmpty() {`, `	if b.IsEmpty() {`, "TestLiveRows"},
		{"an empty vector is none", `	if n != int64(len(text)) || b.IsEmpty() {`, `	if n != int64(len(text)) {`, "TestLiveRows"},
		{"an entry's digest is over its vectors", `	for _, b := range [][]byte{l.Sum, l.Deleted} {`, `	for _, b := range [][]byte{l.Sum} {`, "TestTamperedIndexes"},
		{"what is live of shared objects is told", `				entries[i].live = e.live`, `				_ = e`, "TestSharedMergeOfWholeBases"},
	}},
	{"../catalog/segments.go", "../catalog", []fence{
		{"a segment is an index object", `		case row.Kind != KindIndex:`, `		case false:`, "TestSealSegment"},
		{"a segment that nothing roots is not sealed", `		case !row.Rooted:`, `		case false:`, "TestSealSegment"},
		{"a segment covers fragments of its table", `; n != want {`, `; n > want {`, "TestSealSegment"},
		{"a segment is not sealed anew", `r.Entries != s.Entries || !r.fragments.Equals(s.Fragments) {`, `false {`, "TestSealSegment"},
		{"a sealed segment has its digest", `		if err := checkDigest("segment", r.ObjectID, r.Digest, r.digest(identity)); err != nil {`, `		if err := error(nil); err != nil {`, "TestTamperedIndexes"},
	}},
	{"../catalog/activation.go", "../catalog", []fence{
		{"an activation is done once", `state.maintained() {`, `state.maintained() && false {`, "TestActivation"},
		{"progress was validated before it counts", `		if len(state.Compacted) > 0 {`, `		if false {`, "TestLegacy"},
		{"readers know that positions are maintained", `	state.ReaderFeatures |= FeatureIndexCatchup
`, ``, "TestActivation"},
		{"writers know that positions are maintained", `	state.WriterFeatures |= FeatureIndexCatchup
`, ``, "TestActivation"},
	}},
	{"../catalog/compact.go", "../catalog", []fence{
		{"a base names each shard once", `		if shards[g.ShardID] {`, `		if false {`, "TestIncrementalRefusals"},
		{"a base names each object once", `		if seen[o.ObjectID] {`, `		if false {`, "TestIncrementalRefusals"},
		{"a step goes forward", `next[i].Generation >= s.Generation {`, `next[i].Generation > s.Generation {`, "TestIncrementalRefusals"},
		{"a step does not go back", `next[i].Generation >= s.Generation {`, `next[i].Generation == s.Generation {`, "TestIncrementalRefusals"},
		{"a step is to a generation of the head", `		if !has[s] {`, `		if !has[s] && false {`, "TestIncrementalRefusals"},
		{"what a base contains has a step", `		case !covered && first <= b.LSN:`, `		case false:`, "TestUncoveredEmptyGeneration|TestIncrementalRefusals"},
		{"what a step covers is retained", `		if incremental {
			now.merged`, `		if incremental && false {
			now.merged`, "TestIndexLifecycle"},
		{"a new object is not behind a kept one", `			if place >= 0 {`, `			if false {`, "TestIncrementalRefusals"},
		{"a base begins with a new object", `		case i == 0:`, `		case false:`, "TestIncrementalRefusals"},
		{"kept objects are in their order", `		case kept <= place:`, `		case false:`, "TestIncrementalRefusals"},
		{"a base says what is live of its objects", `	if len(o.Live) != len(rows) || `, `	if `, "TestIncrementalRefusals"},
		{"no row comes back", `		if before != nil && (deleted == nil || roaring.AndNot(before, deleted).GetCardinality() > 0) {`, `		if before != nil && false {`, "TestIncrementalRefusals"},
		{"the same rows have the same sum", `live.Sum != nil && !bytes.Equal(was.Live[i].Sum, live.Sum) {`, `live.Sum == nil {`, "TestIncrementalRefusals"},
		{"fragments add up to their object", `	if known && !bytes.Equal(sum, o.Sum) {`, `	if false {`, "TestIncrementalRefusals"},
		{"a base that keeps objects is not shared", `len(c.entries) == len(now.bases) && len`, `len`, "TestSharedMergeOfWholeBases"},
	}},
	{"../catalog/manifest.go", "../catalog", []fence{
		{"a base longer than a page is read to its end", `		if len(next) < chunkEntries {`, `		if true {`, "TestReadBaseEntries"},
		{"generations are no entries of a base", `			if next[i].Role != roleBase {`, `			if false {`, "TestReadBaseEntries"},
	}},
}
