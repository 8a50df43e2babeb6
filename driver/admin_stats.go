package driver

import (
	"maps"
	"slices"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// statRows are the rows of tidemark_stats: the engine's counters since it was
// opened, and where the log stands.
func statRows(c *conn) [][]row.Value {
	m := c.store.Metrics()
	var rows [][]row.Value
	add := func(name string, v row.Value) { rows = append(rows, []row.Value{row.TextValue(name), v}) }
	count := func(name string, n uint64) { add(name, row.IntValue(int64(n))) }
	count("head_lsn", uint64(m.Head))
	count("durable_lsn", uint64(m.Durable))
	count("commits", m.Commits)
	count("records", m.Records)
	count("bytes", m.LogBytes)
	count("synced", m.Synced)
	count("syncs", m.Syncs)
	add("mean_batch", row.RealValue(m.MeanBatch()))
	count("peak_batch", m.PeakBatch)
	count("rotations", m.Rotations)
	count("seals", m.Seals)
	count("publications", m.Publications)
	count("compactions", m.Compactions)
	count("compactions_shared", m.CompactionsShared)
	count("compacted_bytes", uint64(m.CompactedBytes))
	count("compact_us", uint64(m.CompactTime.Microseconds()))
	count("compact_pause_us", uint64(m.CompactPause.Microseconds()))
	count("writer_wait_us", uint64(m.WriterWait.Microseconds()))
	perMiB := 0.0
	if m.CompactedBytes > 0 {
		perMiB = float64(m.CompactTime.Microseconds()) / (float64(m.CompactedBytes) / (1 << 20))
	}
	add("compact_us_per_mib", row.RealValue(perMiB))
	count("segments_written", m.SegmentsWritten)
	count("segments_merged", m.SegmentsMerged)
	count("segment_bytes", uint64(m.SegmentBytes))
	count("index_us", uint64(m.IndexTime.Microseconds()))
	count("generations_retired", m.Retired)
	use := c.store.LogUse()
	count("log_used_bytes", uint64(use.Used))
	count("log_garbage_bytes", uint64(use.Garbage()))
	count("collected_files", m.CollectedFiles)
	count("collected_bytes", uint64(m.CollectedBytes))
	count("gc_freed_files", m.GCFreedFiles)
	count("gc_freed_bytes", uint64(m.GCFreedBytes))
	count("gc_kept_files", m.GCKeptFiles)
	count("gc_kept_bytes", uint64(m.GCKeptBytes))
	count("volatile_commits", m.VolatileCommits)
	count("memory_estimate", uint64(m.MemoryEstimate))
	add("memory_budget", positive(m.MemoryBudget))
	count("rows_dropped", m.RowsDropped)
	count("row_reads", m.Reads)
	count("row_folds", m.Folds)
	count("row_hops", m.Hops)
	count("past_tables_loaded", m.PastLoads)
	count("past_tables_dropped", m.PastDrops)
	count("past_memory", uint64(m.PastMemory))
	count("schema_projections", m.Projections)
	count("recovered_bytes", uint64(m.RecoveredBytes))
	count("dropped_bytes", uint64(m.DroppedBytes))
	return rows
}

// settingRows are the rows of tidemark_settings. The source is "dsn" for what
// this connection's configuration says, "process" for an engine key that another
// open of the same directory set, "store" for what was fixed at creation, and
// "default".
func settingRows(c *conn) [][]row.Value {
	var rows [][]row.Value
	add := func(name, value, source string) {
		rows = append(rows, []row.Value{row.TextValue(name), row.TextValue(value), row.TextValue(source)})
	}
	given, def := c.sh.given, Config{}.withDefaults()
	if c.sh.inst.memory {
		add("path", "", "default")
	} else {
		add("path", c.sh.inst.key, "dsn")
	}
	for _, k := range keys {
		value, source := k.get(&c.sh.cfg), "default"
		if k.engine {
			value = k.get(&c.sh.inst.cfg)
		}
		switch {
		case k.get(&given) != k.get(&Config{}):
			source = "dsn"
		case k.name == "memory_budget" && c.sh.inst.budget != k.name:
			source = c.sh.inst.budget
		case value != k.get(&def):
			source = "process"
		}
		add(k.name, value, source)
	}
	fixed := c.store.Settings()
	for _, name := range slices.Sorted(maps.Keys(fixed)) {
		i := slices.IndexFunc(rows, func(r []row.Value) bool { return r[0].Bytes() == name })
		if i < 0 {
			add(name, fixed[name], "store")
		} else if name == "shards" || name == "index_catchup" {
			rows[i] = []row.Value{row.TextValue(name), row.TextValue(fixed[name]), row.TextValue("store")}
		}
	}
	return rows
}
