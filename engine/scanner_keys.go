package engine

import "github.com/tidemarkdb/tidemark/engine/row"

const (
	// aheadMost bounds what is read ahead, in bytes.
	aheadMost = 64 << 10
	// aheadGap is how much of a window may be of no use, per row.
	aheadGap = 1 << 10
	// fetchAhead is what is read ahead of rows that are fetched one by one.
	fetchAhead = 8 << 10
)

// locate takes the locators of a block out of it.
func (s *Scanner) locate(buf []Entry) error {
	for i := range buf {
		p, err := parseLocator(string(buf[i].Rec))
		if err != nil {
			s.done, s.places = true, s.places[:0]
			return err
		}
		s.places = append(s.places, p)
		buf[i].Rec = ""
	}
	return nil
}

// Unloaded reports whether the rows of the last block have no records yet.
func (s *Scanner) Unloaded() bool { return len(s.places) > 0 }

// Load reads the records of the last block, if they were not read with it. buf
// is the block as NextIDs left it, or its first entries.
func (s *Scanner) Load(buf []Entry) error {
	if len(s.places) == 0 {
		return nil
	}
	src, def := s.table.src, s.table.def
	for i := range buf[:min(len(buf), len(s.places))] {
		p := s.places[i]
		if p.kind == filed && !s.ahead.covers(p) {
			s.readAhead(s.places[i:])
		}
		rec, err := src.fold(def, buf[i].Rowid, p, &s.ahead)
		if err != nil {
			return err
		}
		buf[i].Rec = rec
	}
	s.places = s.places[:0]
	return nil
}

// readAhead reads what the first of some places has in common with the ones
// after it: a piece of its file in which they lie side by side. Rows that were
// written one after the other then cost one read for many.
func (s *Scanner) readAhead(places []rowPlace) {
	first := places[0]
	from, to, n := first.off, first.off+int64(first.size), 1
	for _, p := range places[1:] {
		if p.kind != filed || p.slot != first.slot {
			break
		}
		lo, hi := min(from, p.off), max(to, p.off+int64(p.size))
		if hi-lo > aheadMost || hi-lo > int64(first.size)+int64(n)*(int64(p.size)+aheadGap) {
			break
		}
		from, to = lo, hi
		n++
	}
	if n > 1 {
		s.table.src.objects.ahead(&s.ahead, first.slot, from, int(to-from))
	}
}

// covers reports whether a frame lies in the window.
func (w *window) covers(p rowPlace) bool {
	return p.slot == w.slot && p.off >= w.base && p.off+int64(p.size) <= w.base+int64(len(w.buf))
}

// fetch reads the row of a locator. When it lies behind the one before it, the
// next one probably lies behind it.
func (s *Scanner) fetch(rowid int64, loc row.Record) (row.Record, error) {
	src := s.table.src
	p, err := parseLocator(string(loc))
	if err != nil {
		return "", err
	}
	last := s.after
	s.after = p
	if p.kind == filed && last.kind == filed && p.slot == last.slot && !s.ahead.covers(p) {
		if behind := p.off - last.off - int64(last.size); behind >= 0 && behind < aheadGap && p.size < fetchAhead {
			src.objects.ahead(&s.ahead, p.slot, p.off, fetchAhead)
		}
	}
	return src.fold(s.table.def, rowid, p, &s.ahead)
}
