package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/tidemarkdb/tidemark/catalog"
)

// GenerationInfo describes one file of the log.
type GenerationInfo struct {
	Shard      uint64
	Generation uint64
	Object     uint64
	File       string
	State      string // open, sealed or collected
	Records    uint64 // rows written and removed, and schema changes
	Bytes      int64  // without what is preallocated
	FirstLSN   LSN    // 0: no commit yet
	LastLSN    LSN
}

// committed notes a commit that ends at offset end.
func (i *GenerationInfo) committed(lsn LSN, records uint64, end int64) {
	if i.FirstLSN == 0 {
		i.FirstLSN = lsn
	}
	i.LastLSN = lsn
	i.Records += records
	i.Bytes = end
}

// GenerationInfos lists the generations, shard by shard in log order. Commits that are not
// durable yet are counted.
func (s *Store) GenerationInfos() []GenerationInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	infos := make([]GenerationInfo, len(s.gens))
	for i, g := range s.gens {
		infos[i] = g.info
	}
	slices.SortStableFunc(infos, func(a, b GenerationInfo) int { // ids of shards are in the order of ordinals
		return cmp.Or(cmp.Compare(a.Shard, b.Shard), cmp.Compare(a.Generation, b.Generation))
	})
	return infos
}

// ObjectClosure lists the object and all that it leads to in the catalog; see
// catalog.ObjectClosure. A store in memory has no objects.
func (s *Store) ObjectClosure(ctx context.Context, object int64) ([]catalog.Reached, error) {
	if s.opts.Memory {
		return nil, nil
	}
	if err := s.closed(); err != nil {
		return nil, err
	}
	list, err := s.cat.ObjectClosure(ctx, object)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	return list, nil
}

// TableInfo describes a table of a snapshot.
type TableInfo struct {
	Table    TableID
	Name     string
	Durable  bool
	Resident Resident
	MaxRows  int64 // 0 for no limit
	OnFull   OnFull
	Rows     int
	Indexes  []string

	ResidentBytes int64 // see Table.ResidentBytes
	LogBytes      int64 // see Store.LogBytes
}

// String is the spelling of the option.
func (r Resident) String() string {
	if r == ResidentKeys {
		return "keys"
	}
	return "all"
}

// TableInfos lists the tables of a snapshot in creation order.
func (s *Store) TableInfos(snap *Snapshot) []TableInfo {
	var infos []TableInfo
	for _, o := range snap.Schema().Objects() {
		if o.Kind != KindTable {
			continue
		}
		t := snap.Table(o.Table.ID)
		info := TableInfo{
			Table: o.Table.ID, Name: o.Table.Name, Durable: o.Table.Durable, Resident: o.Table.Resident, MaxRows: o.Table.MaxRows, OnFull: o.Table.OnFull, Rows: t.Len(),
			ResidentBytes: t.ResidentBytes(), LogBytes: s.LogBytes(o.Table.ID),
		}
		for _, ix := range o.Table.Indexes {
			info.Indexes = append(info.Indexes, ix.Name)
		}
		infos = append(infos, info)
	}
	return infos
}

// Settings are the options fixed when the store was made, by name.
func (s *Store) Settings() map[string]string { return s.settings }

// sealedInfo completes the description of a generation the catalog has sealed.
func sealedInfo(i GenerationInfo, c *catalog.Generation) GenerationInfo {
	i.State = catalog.GenerationSealed
	i.Records, i.Bytes = uint64(c.Records), c.ByteExtent
	i.FirstLSN, i.LastLSN = LSN(c.FirstLSN), LSN(c.LastLSN)
	return i
}
