package engine

// opChunk is how many operations one piece of the list holds.
const opChunk = 1024

// opList is the list of a transaction's operations. It grows by pieces: a
// slice that grows by copying itself costs a long transaction several times
// the memory traffic of its operations.
type opList struct {
	chunks [][]op // all but the last are full
	n      int
}

func (l *opList) len() int { return l.n }

// at returns operation i, valid until the list is cut before it.
func (l *opList) at(i int) *op { return &l.chunks[i/opChunk][i%opChunk] }

func (l *opList) append(o op) {
	i := l.n / opChunk
	if i == len(l.chunks) {
		size := opChunk
		if i == 0 {
			size = 8 // most transactions are short
		}
		l.chunks = append(l.chunks, make([]op, 0, size))
	}
	l.chunks[i] = append(l.chunks[i], o)
	l.n++
}

// last returns the newest operation.
func (l *opList) last() *op { return l.at(l.n - 1) }

// pop removes the last operation and lets go of its records.
func (l *opList) pop() {
	l.n--
	c := &l.chunks[l.n/opChunk]
	last := len(*c) - 1
	(*c)[last] = op{}
	*c = (*c)[:last]
}
