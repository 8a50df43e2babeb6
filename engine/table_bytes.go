package engine

import (
	"encoding/binary"

	"github.com/tidemarkdb/tidemark/engine/wal"
)

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

// addTo adds the sums to a map and returns their total.
func (b *tableBytes) addTo(m map[TableID]int64) (total int64) {
	if b.bytes > 0 {
		m[b.last] += b.bytes
	}
	total = b.bytes
	for t, n := range b.all {
		m[t] += n
		total += n
	}
	return total
}
