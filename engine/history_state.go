package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// To open a history takes the headers and footers of its files, and its schema. The
// footers say how many rows each table has and what they add up to; the rows of a
// table are looked for when it is first used, see history_table.go. The schema is at
// the beginning of the base; changes of it behind that are in the log of the first
// shard, which is read as far as the last of them.

// pastState is what the tables of a history have in common. Nothing but the state and
// its tables may refer to it: it has the lease.
type pastState struct {
	s        *Store
	objects  *objects
	lease    *lease
	lsn      LSN
	base     []*pastFile
	segments []catalog.Segment
	logs     [][]*pastFile // by ordinal of the shard, in the order of commits
}

// pastFile is a file of a history.
type pastFile struct {
	*generation
	size int64
	seal wal.Seal
	want catalog.BaseFile // of a base file: what the catalog has of it
	bad  error            // why a base file cannot be read
}

// records is how many frames of a table a file has.
func (f *pastFile) records(table TableID) uint64 {
	for _, r := range f.seal.Records {
		if r.Table == uint64(table) {
			return r.Count
		}
	}
	return 0
}

// contribution is what a file adds to a table.
func (f *pastFile) contribution(table TableID) tally {
	for _, c := range f.seal.Contributions {
		if c.Table == uint64(table) {
			return tally{c.Rows, c.Sum}
		}
	}
	return tally{}
}

// openPast opens the state that a representation holds.
func (s *Store) openPast(ctx context.Context, o *objects, known *catalog.History) (*root, error) {
	shards, err := strconv.Atoi(s.settings["shards"])
	if err != nil {
		return nil, fmt.Errorf("engine: number of shards: %w", err)
	}
	st := &pastState{s: s, objects: o, lease: o.lease.Load(), lsn: LSN(known.LSN), logs: make([][]*pastFile, shards), segments: known.IndexState.Segments}
	if err := st.files(ctx, known); err != nil {
		return nil, err
	}
	schema, err := st.schema(ctx, known)
	if err != nil {
		return nil, err
	}
	counts, err := st.count(schema, known)
	if err != nil {
		return nil, err
	}
	state := &root{lsn: st.lsn, schema: schema, tables: make([]*Table, len(schema.tables)), objects: o, lease: st.lease, content: new(content)}
	for i, def := range schema.tables {
		if !def.Durable {
			state.tables[i] = newTable(def, o)
			continue
		}
		state.tables[i] = &Table{def: def, sum: counts[i].sum, past: &pastTable{state: st, def: def, count: counts[i]}}
	}
	o.lease.current.Store(nil) // from now on only the state and its tables have it
	return state, nil
}

// files looks at all files.
func (st *pastState) files(ctx context.Context, known *catalog.History) error {
	if err := baseIsOf(known.Base, known.BaseLSN); err != nil {
		return err
	}
	for i, c := range known.Base {
		log := newBaseLog(c)
		f := &pastFile{generation: log.generation, want: c}
		st.base = append(st.base, f)
		err := st.look(ctx, f, c.ByteExtent, c.IntegrityDigest, LSN(c.LSN))
		if err == nil {
			log.seal, log.end = &f.seal, f.size
			if len(c.Fragments) > 0 && c.Fragments[0].TableID == 0 {
				log.schema = c.Fragments[0].Rows // held against the file when it is read
			}
			if err = log.matches(); err != nil {
				err = &CorruptError{File: f.path, Offset: f.size, Reason: err.Error()}
			}
		}
		var damage *CorruptError
		if i > 0 && errors.As(err, &damage) {
			f.bad, err = err, nil // concerns the tables that have rows in it
		}
		if err != nil {
			return err
		}
	}
	for _, c := range known.Generations {
		ordinal, ok := known.ShardOrdinal[c.ShardID]
		if !ok || ordinal < 0 || ordinal >= int64(len(st.logs)) {
			return &CorruptError{File: catalog.FileName, Reason: fmt.Sprintf("shard %d has ordinal %d of %d", c.ShardID, ordinal, len(st.logs))}
		}
		f := &pastFile{generation: newGeneration(c)}
		if err := st.look(ctx, f, c.ByteExtent, c.IntegrityDigest, LSN(c.LastLSN)); err != nil {
			return err
		}
		f.info = sealedInfo(f.info, &c)
		log := st.logs[ordinal]
		first := max(f.info.FirstLSN, f.least)
		switch n := len(log); {
		case first <= LSN(known.BaseLSN), n > 0 && first <= log[n-1].info.LastLSN:
			return &CorruptError{File: f.path, Reason: fmt.Sprintf("commits from %d on behind others of a base up to %d, or of a file before", first, known.BaseLSN)}
		case n > 0 && log[n-1].info.Shard == f.info.Shard && log[n-1].epoch > f.epoch:
			return &CorruptError{File: f.path, Reason: fmt.Sprintf("writer epoch %d follows epoch %d", f.epoch, log[n-1].epoch)}
		}
		st.logs[ordinal] = append(log, f)
	}
	return nil
}

// look checks the header of a file and reads its footer.
func (st *pastState) look(ctx context.Context, f *pastFile, extent int64, digest [32]byte, last LSN) (err error) {
	if err := st.ended(ctx); err != nil {
		return err
	}
	defer func() {
		if cerr := f.closeRead(); err == nil && cerr != nil {
			err = fmt.Errorf("engine: closing %s: %w", f.path, cerr)
		}
	}()
	if err := st.s.open(f.generation, st.s.fs.OpenRead); err != nil {
		return err
	}
	f.size = f.allocated
	if f.size != extent {
		return &CorruptError{File: f.path, Offset: min(f.size, extent), Reason: fmt.Sprintf("%d bytes, sealed as %d", f.size, extent)}
	}
	fr, seal, err := wal.ReadFooter(f.file, f.size, f.salt)
	if err != nil {
		var bad *wal.CorruptError
		if errors.As(err, &bad) {
			return corruptIn(f.path, f.size, err)
		}
		return fmt.Errorf("engine: reading %s: %w", f.path, err)
	}
	if seal.Digest != digest || LSN(seal.LastLSN) != last {
		return &CorruptError{File: f.path, Offset: fr.Offset, Reason: fmt.Sprintf(
			"footer of commit %d and digest %x, sealed with %d and %x", seal.LastLSN, seal.Digest, last, digest)}
	}
	f.seal = seal
	st.objects.addSealed(f.generation)
	return nil
}

// ended is why nothing is read any more, or nil.
func (st *pastState) ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return st.s.closed()
}

// scan reads the frames of a file, behind its header, until stop.
func (st *pastState) scan(ctx context.Context, f *pastFile, frame func(wal.Frame) (stop bool, err error)) (err error) {
	if f.bad != nil {
		return f.bad
	}
	file, err := opened(f.path, st.s.fs.OpenRead)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := file.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("engine: closing %s: %w", f.path, cerr)
		}
	}()
	sc := wal.NewScanner(file, f.start, f.size, f.salt)
	for n := 0; ; n++ {
		if n%baseFlush == 0 {
			if err := st.ended(ctx); err != nil {
				return err
			}
		}
		fr, ok := sc.Next()
		if !ok {
			if stop := sc.Stop(); !stop.Clean() {
				return corruptOrRead(f.path, stop)
			}
			return &CorruptError{File: f.path, Offset: sc.Offset(), Reason: "the file ends before what its footer names"}
		}
		stop, err := frame(fr)
		if err != nil {
			return corruptIn(f.path, fr.Offset, err)
		}
		if stop {
			return nil
		}
	}
}

// schema reads the schema.
func (st *pastState) schema(ctx context.Context, known *catalog.History) (*Schema, error) {
	defs, want := newSchema(0, nil), uint64(known.SchemaVersion)
	if len(st.base) > 0 {
		var b baseSchema
		frames := int64(0)
		err := st.scan(ctx, st.base[0], func(fr wal.Frame) (bool, error) {
			m, err := wal.DecodeSchema(fr)
			if err != nil {
				return false, err
			}
			frames++
			if err := b.take(m); err != nil {
				return false, schemaDamage(fr.Offset, err)
			}
			return b.done(), nil
		})
		if err != nil {
			return nil, err
		}
		if rows := st.base[0].want.Fragments; len(rows) == 0 || rows[0] != (catalog.Fragment{Rows: frames}) {
			return nil, &CorruptError{File: st.base[0].path, Reason: fmt.Sprintf("a schema of %d frames, the catalog says %v", frames, rows)}
		}
		defs = b.schema()
	}
	for _, f := range st.logs[0] { // which has all changes
		if defs.version >= want || uint64(f.info.FirstLSN) > want {
			break
		}
		var err error
		if defs, err = st.changes(ctx, f, defs, want); err != nil {
			return nil, err
		}
	}
	if defs.version != want && st.restoredAt(LSN(want), known) {
		defs = defs.at(want)
	}
	if defs.version != want {
		return nil, &CorruptError{File: catalog.FileName, Reason: fmt.Sprintf(
			"world %d has schema %d, the files of representation %d give %d", known.WorldID, want, known.RepresentationID, defs.version)}
	}
	return defs, nil
}

// changes applies the schema changes of a file, up to a version.
func (st *pastState) changes(ctx context.Context, f *pastFile, defs *Schema, most uint64) (*Schema, error) {
	err := st.scan(ctx, f, func(fr wal.Frame) (bool, error) {
		switch fr.Kind {
		case wal.KindSchema:
			m, err := wal.DecodeSchema(fr)
			if err != nil {
				return false, err
			}
			c, version, err := decodeChange(m.Op, []byte(m.Body))
			if err != nil {
				return false, schemaDamage(fr.Offset, err)
			}
			if version < defs.version || version > most || version < uint64(f.info.FirstLSN) || version > uint64(f.info.LastLSN) {
				return false, damaged(fr.Offset, "schema version %d behind %d, of a world with %d", version, defs.version, most)
			}
			next, err := c.alter(defs, version)
			if err != nil {
				return false, damaged(fr.Offset, "%v", err)
			}
			defs = next
		case wal.KindCommit:
			c, err := wal.DecodeCommit(fr, f.salt)
			if err != nil {
				return false, err
			}
			return c.LSN >= most, nil
		case wal.KindSeal:
			return true, nil
		}
		return false, nil
	})
	return defs, err
}

// restoredAt reports whether a restore may have an LSN: no file has a commit of it.
func (st *pastState) restoredAt(lsn LSN, known *catalog.History) bool {
	for _, log := range st.logs {
		for _, f := range log {
			if f.info.FirstLSN <= lsn && lsn <= f.info.LastLSN {
				return false
			}
		}
	}
	return lsn > LSN(known.BaseLSN) && lsn <= st.lsn
}

// count adds up the footers, by slot of the schema, and holds the sum against the
// world. A base file that cannot be read leaves that to the reading of its tables.
func (st *pastState) count(schema *Schema, known *catalog.History) ([]tally, error) {
	counts, whole := make([]tally, len(schema.tables)), true
	add := func(table TableID, k tally) {
		if slot, ok := schema.slot(table); ok {
			counts[slot].rows += k.rows
			counts[slot].sum = counts[slot].sum.Add(k.sum)
		}
	}
	for _, f := range st.base {
		for i, x := range f.want.Fragments {
			if x.TableID == 0 {
				continue
			}
			live, summed := liveOf(&f.want, i)
			if f.bad == nil && x.Rows > 0 {
				var err error
				if live, err = liveIn(&f.want, TableID(x.TableID), f.contribution(TableID(x.TableID))); err != nil {
					return nil, &CorruptError{File: f.path, Offset: f.size, Reason: err.Error()}
				}
			}
			whole = whole && (f.bad == nil || summed)
			add(TableID(x.TableID), live)
		}
	}
	last := LSN(known.BaseLSN)
	for _, log := range st.logs {
		for _, f := range log {
			for _, c := range f.seal.Contributions {
				add(TableID(c.Table), tally{c.Rows, c.Sum})
			}
			last = max(last, f.info.LastLSN)
		}
	}
	rows, sum := int64(0), row.Sum{}
	for i, c := range counts {
		if c.rows < 0 {
			return nil, &CorruptError{File: catalog.FileName, Reason: fmt.Sprintf("table %q has %d rows at world %d", schema.tables[i].Name, c.rows, known.WorldID)}
		}
		rows, sum = rows+c.rows, sum.Add(c.sum)
	}
	if last != st.lsn && (known.SchemaVersion != known.LSN || !st.restoredAt(st.lsn, known)) {
		return nil, &CorruptError{File: catalog.FileName, Reason: fmt.Sprintf(
			"world %d is of commit %d, the files of representation %d end with %d", known.WorldID, known.LSN, known.RepresentationID, last)}
	}
	if whole && (rows != known.LiveCount || sum != sumOf(known.Fingerprint)) {
		return nil, &CorruptError{File: catalog.FileName, Reason: fmt.Sprintf(
			"world %d has %d rows and fingerprint %x, the files of representation %d give %d and %x",
			known.WorldID, known.LiveCount, sumOf(known.Fingerprint), known.RepresentationID, rows, sum)}
	}
	return counts, nil
}
