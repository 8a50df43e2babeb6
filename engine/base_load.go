package engine

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// A replay begins with the base, if the head has one: its rows come before all
// commits, and the log goes on behind the commit that it is the state of.

// openBase opens the files of the base and checks their headers.
func (r *recovery) openBase(state *catalog.State) error {
	s := r.s
	for _, c := range state.Base {
		f := newBaseLog(c)
		s.base = append(s.base, newBaseFile(&f.want, f.generation))
		if err := s.open(f.generation, s.fs.OpenRead); err != nil {
			return err
		}
		r.base = append(r.base, f)
		s.objects.addSealed(f.generation) // the handle is closed when the open ends
	}
	r.from = LSN(state.BaseLSN)
	return nil
}

// baseLog is a base file during recovery.
type baseLog struct {
	logFile
	want   catalog.BaseFile
	schema int64 // schema frames
}

func newBaseLog(c catalog.BaseFile) *baseLog {
	g := newBaseGeneration(c.ObjectID, c.Path)
	g.info.State, g.info.Bytes = catalog.GenerationSealed, c.ByteExtent
	return &baseLog{logFile: logFile{generation: g}, want: c}
}

// loadBase replays the base.
func (r *recovery) loadBase() error {
	if len(r.base) == 0 {
		return nil
	}
	var schema baseSchema
	p := r.replay
	p.pos = nil // no delta refers to a base's records, and no two are of one row
	for _, f := range r.base {
		p.slot = f.slot
		if err := r.baseFile(f, &schema); err != nil {
			return err
		}
	}
	p.lsn, p.pos = r.from, new(positions)
	r.last = r.from
	for _, l := range r.shards {
		l.cut = max(l.cut, r.from)
	}
	r.claim(r.from)
	return r.compareHead()
}

// baseFile replays one file of the base and holds its footer against what was
// replayed, and against the catalog.
func (r *recovery) baseFile(f *baseLog, schema *baseSchema) error {
	sc := wal.NewScanner(f.file, f.start, f.allocated, f.salt)
	for n := 0; f.seal == nil; n++ {
		fr, ok := sc.Next()
		if !ok {
			f.stop = sc.Stop()
			if f.stop.Clean() {
				return &CorruptError{File: f.path, Offset: f.stop.Offset, Reason: "no footer in a file of the base"}
			}
			return corruptOrRead(f.path, f.stop)
		}
		if r.ended != nil && n%baseFlush == 0 {
			if err := r.ended(); err != nil {
				return err
			}
		}
		if err := r.baseFrame(f, schema, fr); err != nil {
			return corruptIn(f.path, fr.Offset, err)
		}
		f.end = fr.End()
	}
	r.read += f.end
	if err := f.matches(); err != nil {
		return &CorruptError{File: f.path, Offset: f.end, Reason: err.Error()}
	}
	if err := r.replay.baseEnd(f.seal); err != nil {
		return corruptIn(f.path, f.end, err)
	}
	return nil
}

func (r *recovery) baseFrame(f *baseLog, schema *baseSchema, fr wal.Frame) error {
	p := r.replay
	switch fr.Kind {
	case wal.KindSchema:
		m, err := wal.DecodeSchema(fr)
		if err != nil {
			return err
		}
		if schema.done() {
			return damaged(fr.Offset, "a schema behind the schema of the base")
		}
		f.schema++
		if err := schema.take(m); err != nil {
			return schemaDamage(fr.Offset, err)
		}
		if schema.done() {
			p.begin(schema.schema())
		}
		return nil
	case wal.KindPut:
		if !schema.done() {
			return damaged(fr.Offset, "a row before the schema")
		}
		r.sizes.frame(fr.Kind, []byte(fr.Payload[:min(len(fr.Payload), binary.MaxVarintLen64)]), fr.End()-fr.Offset)
		m, err := wal.DecodePut(fr)
		if err != nil {
			return err
		}
		p.size = uint32(fr.End() - fr.Offset)
		return p.baseRow(m, fr.Offset)
	case wal.KindSeal:
		if !schema.done() {
			return damaged(fr.Offset, "a footer before the schema")
		}
		m, err := wal.DecodeSeal(fr)
		if err != nil {
			return err
		}
		f.seal = &m
		return nil
	}
	return damaged(fr.Offset, "a %s in a base", fr.Kind)
}

// matches compares a file with what the catalog has of it.
func (f *baseLog) matches() error {
	w := &f.want
	found := []catalog.Fragment{}
	if f.schema > 0 {
		found = append(found, catalog.Fragment{Rows: f.schema})
	}
	for _, x := range f.seal.Records {
		found = append(found, catalog.Fragment{TableID: int64(x.Table), Rows: int64(x.Count)})
	}
	switch {
	case f.end != w.ByteExtent || f.allocated != w.ByteExtent:
		return fmt.Errorf("the footer ends at %d of %d bytes, the file was sealed as %d", f.end, f.allocated, w.ByteExtent)
	case f.seal.Digest != w.IntegrityDigest:
		return fmt.Errorf("digest %x, sealed %x", f.seal.Digest, w.IntegrityDigest)
	case int64(f.seal.LastLSN) != w.LSN || int64(f.least) != w.LSN:
		return fmt.Errorf("header and footer are of commits %d and %d, the catalog says %d", f.least, f.seal.LastLSN, w.LSN)
	case !slices.Equal(found, w.Fragments):
		return fmt.Errorf("fragments %v, the catalog says %v", found, w.Fragments)
	}
	return nil
}
