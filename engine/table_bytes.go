package engine

import (
	"encoding/binary"

	"github.com/tidemarkdb/tidemark/engine/wal"
)

// What a tree takes per entry beside the bytes of record or key: its head and
// slot in a leaf that is nearly full (rows) or three quarters full (entries),
// and what the leaf's bytes have to spare.
const (
	rowOverhead   = 16
	entryOverhead = 24
	sizeSamples   = 256
)

// ResidentBytes estimates the memory of the table's rows and indexes, from a
// sample of the records and keys.
func (t *Table) ResidentBytes() int64 {
	total := estimate(t.rows.Len(), rowOverhead, func(i int) int {
		_, rec, _ := t.rows.GetAt(i)
		return len(rec)
	})
	for _, ix := range t.indexes {
		total += estimate(ix.Len(), entryOverhead, func(i int) int {
			key, _ := ix.GetAt(i)
			return len(key)
		})
	}
	return total
}

// estimate extrapolates the size of n entries from evenly spaced ones.
func estimate(n int, overhead int64, size func(i int) int) int64 {
	if n == 0 {
		return 0
	}
	samples := min(n, sizeSamples)
	sum := int64(0)
	for k := range samples {
		sum += int64(size(int(int64(k) * int64(n) / int64(samples))))
	}
	return int64(n)*overhead + sum*int64(n)/int64(samples)
}

// LogBytes returns how many bytes of the log are records of a table, also of
// rows that were changed or removed since. Commits that are not durable yet
// are counted.
func (s *Store) LogBytes(id TableID) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logBytes[id]
}

// tableBytes adds up the sizes of the row frames in a run of frames, by table.
type tableBytes struct {
	last  TableID // of the run of frames of one table
	bytes int64
	all   map[TableID]int64 // of the other tables
}

func (b *tableBytes) add(table TableID, size int64) {
	if table != b.last {
		b.flush()
		b.last = table
	}
	b.bytes += size
}

func (b *tableBytes) flush() {
	if b.bytes == 0 {
		return
	}
	if b.all == nil {
		b.all = make(map[TableID]int64)
	}
	b.all[b.last] += b.bytes
	b.bytes = 0
}

// frames adds what a transaction appends.
func (b *tableBytes) frames(frames []byte) {
	for len(frames) > 0 {
		length := int64(binary.LittleEndian.Uint32(frames))
		size := wal.FrameSize(int(length - 1))
		b.frame(wal.Kind(frames[8]), frames[9:8+length], size)
		frames = frames[size:]
	}
}

// frame adds one frame. Its table is the first field of every row record.
func (b *tableBytes) frame(kind wal.Kind, payload []byte, size int64) {
	switch kind {
	case wal.KindPut, wal.KindDelta, wal.KindTombstone:
		if table, n := binary.Uvarint(payload[:min(len(payload), binary.MaxVarintLen64)]); n > 0 {
			b.add(TableID(table), size)
		}
	}
}

// addTo adds the sums to a map.
func (b *tableBytes) addTo(m map[TableID]int64) {
	if b.bytes > 0 {
		m[b.last] += b.bytes
	}
	for t, n := range b.all {
		m[t] += n
	}
}
