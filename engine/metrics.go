package engine

import (
	"fmt"
	"time"
)

// Metrics are counters since Open and the present positions of the log.
type Metrics struct {
	Head    LSN // newest appended commit
	Durable LSN // newest synced commit

	Commits   uint64 // appended
	Records   uint64 // of those commits
	LogBytes  uint64 // of those commits
	Synced    uint64 // commits made durable
	Syncs     uint64 // rounds of syncing; several commits share one
	PeakBatch uint64 // most commits one round made durable

	Rotations   uint64
	Seals       uint64
	Projections uint64 // of the schema into the catalog

	Publications uint64 // of cuts as the timeline's head

	Compactions    uint64
	CompactedBytes int64         // written by them
	CompactTime    time.Duration // that they took
	CompactPause   time.Duration // the longest that one kept writers waiting at once
	WriterWait     time.Duration // that writers were held back by compactions that could not keep up
	CollectedFiles uint64        // removed, since nothing needs them any more
	CollectedBytes int64
	GCFreedFiles   uint64 // those of them that jobs of kind gc removed
	GCFreedBytes   int64
	GCKeptFiles    uint64 // that the last of these jobs left
	GCKeptBytes    int64

	CompactionsShared uint64 // of Compactions: those that adopted the base of another timeline

	SegmentsWritten uint64        // of indexes, published
	SegmentsMerged  uint64        // that these took the place of
	SegmentBytes    int64         // of those written
	IndexTime       time.Duration // that index jobs took, also those of compactions
	Retired         uint64        // generations that a publication left out

	VolatileCommits uint64 // of transactions that wrote only volatile tables

	MemoryEstimate int64 // bytes that the tables take, as of Head
	MemoryBudget   int64 // that they may take, 0 for any

	RowsDropped uint64 // by on_full=drop_oldest, in commits

	// Of resident=keys tables: rows read from the log, the deltas on the way to
	// their whole records, and all records read, also ones that turned out bad.
	Folds uint64
	Hops  uint64
	Reads uint64

	// Of branch points: tables that were loaded, and let go of for want of memory;
	// what those in memory take.
	PastLoads  uint64
	PastDrops  uint64
	PastMemory int64

	RecoveredBytes int64 // read at open
	DroppedBytes   int64 // of unsynced tails, at open
}

// MeanBatch is the number of commits an average sync made durable.
func (m Metrics) MeanBatch() float64 {
	if m.Syncs == 0 {
		return 0
	}
	return float64(m.Synced) / float64(m.Syncs)
}

// String is one line.
func (m Metrics) String() string {
	return fmt.Sprintf("head=%d durable=%d commits=%d records=%d log_bytes=%d syncs=%d batch mean=%.2f peak=%d rotations=%d seals=%d publications=%d compactions=%d collected=%d",
		m.Head, m.Durable, m.Commits, m.Records, m.LogBytes, m.Syncs, m.MeanBatch(), m.PeakBatch, m.Rotations, m.Seals, m.Publications, m.Compactions, m.CollectedFiles)
}

// Metrics returns the counters as of now.
func (s *Store) Metrics() Metrics {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.stats
	m.Folds, m.Hops, m.Reads = s.objects.folds.Load(), s.objects.hops.Load(), s.objects.reads.Load()
	head := s.head.Load()
	m.Head, m.Durable = head.lsn, s.synced.Load().lsn
	m.MemoryEstimate, m.MemoryBudget = head.memory, s.opts.MemoryBudget
	m.WriterWait = time.Duration(s.brakes.waited.Load())
	s.histories.measure(&m)
	return m
}

func (m *Metrics) appended(records uint64, bytes int64) {
	m.Commits++
	m.Records += records
	m.LogBytes += uint64(bytes)
}

func (m *Metrics) synced(commits int) {
	m.Syncs++
	m.Synced += uint64(commits)
	m.PeakBatch = max(m.PeakBatch, uint64(commits))
}
