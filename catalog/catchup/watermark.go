package catchup

// Watermarks returns, per shard, the newest generation that a query need not
// read because the base and every index it relies on have its rows. All indexes
// count, whatever the query uses them for, and one without a position holds
// everything back; their order says nothing, and one more can only
// lower a mark. A query that relies on none reads the base, so that what is
// compacted counts. A shard without progress excludes nothing and has no
// entry.
func Watermarks(compacted Progress, p Positions, relied []int64) Progress {
	marks := make(Progress, len(compacted))
	for shard, generation := range compacted {
		for _, index := range relied {
			generation = min(generation, p[index][shard])
		}
		marks[shard] = generation
	}
	return marks
}

// Retirable reports whether nothing needs the file of a generation any more:
// the base has its rows, and so has every index that a query may rely on. relied
// are those of all tables with a record in the generation. lagging is the first
// index that lacks it, 0 if it is the base.
func Retirable(shard int64, generation uint64, compacted Progress, p Positions, relied []int64) (ok bool, lagging int64) {
	if generation == 0 || compacted[shard] < generation {
		return false, 0
	}
	for _, index := range relied {
		if p[index][shard] < generation {
			return false, index
		}
	}
	return true, 0
}
