package engine

// positions knows the offset of each row's last record in the file that is
// replayed, which the deltas of that file refer to. Most files hold no delta,
// so what happened is only listed until the first question.
type positions struct {
	listed [][]rowPosition // in pieces, as an opList and for the same reason
	count  int
	known  map[rowKey]int64
}

type rowKey struct {
	table uint64
	rowid int64
}

type rowPosition struct {
	rowKey
	offset int64 // noPosition when the row ended
}

const noPosition = -1

// record notes a row's last record. No positions note nothing.
func (p *positions) record(table uint64, rowid, offset int64) {
	if p == nil {
		return
	}
	k := rowKey{table, rowid}
	switch {
	case p.known == nil:
		last := len(p.listed) - 1
		if last < 0 || len(p.listed[last]) == opChunk {
			p.listed = append(p.listed, make([]rowPosition, 0, opChunk))
			last++
		}
		p.listed[last] = append(p.listed[last], rowPosition{k, offset})
		p.count++
	case offset == noPosition:
		delete(p.known, k)
	default:
		p.known[k] = offset
	}
}

func (p *positions) forget(table uint64, rowid int64) { p.record(table, rowid, noPosition) }

// of returns the offset of a row's last record, 0 and false when the file has
// none of the row as it now is.
func (p *positions) of(table uint64, rowid int64) (int64, bool) {
	if p.known == nil {
		p.known = make(map[rowKey]int64, p.count)
		for _, piece := range p.listed {
			for _, l := range piece {
				p.record(l.table, l.rowid, l.offset)
			}
		}
		p.listed, p.count = nil, 0
	}
	offset, ok := p.known[rowKey{table, rowid}]
	return offset, ok
}
