package driver

import (
	"sync"
	"sync/atomic"
	"weak"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/vtab"
)

// textCache keeps what was read off texts and what was made of them, for all
// connections of an engine: an application prepares few texts many times.
type textCache struct {
	mu    sync.Mutex
	known map[string]*readText
}

// keptTexts is how many texts are kept, each at most maxCachedText long.
const keptTexts = 512

// readText is a text of one or more statements.
type readText struct {
	pieces []*readPiece
	params int
	named  bool
}

// readPiece is one statement of a text. Stmt is immutable.
type readPiece struct {
	stmt    *sqltext.Stmt
	numbers []int // see piece

	made     atomic.Pointer[madeText]
	returned atomic.Pointer[madeReturning]
}

// madeFor is what the making of a text depended on, while names mean objects of
// the store alone.
type madeFor struct {
	schema   weak.Pointer[engine.Schema] // an old one must not be kept
	to       place
	enforced bool
}

func (m *madeFor) holds(c *conn, p *piece, schema *engine.Schema) bool {
	return m.to == p.to && m.enforced == c.db.ForeignKeys && m.schema.Value() == schema
}

// madeText is the text that SQLite runs for a statement.
type madeText struct {
	madeFor
	text   string
	plans  []*vtab.Plan
	names  []string
	clause bool
}

// madeReturning is the text that evaluates a RETURNING clause, and what SQLite says
// of its columns; cols is nil when that is not known.
type madeReturning struct {
	madeFor
	text    string
	params  []sqltext.Param
	table   engine.TableID
	eachRow bool
	labels  []string
	cols    []column
}

// read returns what a text says.
func (k *textCache) read(text string) *readText {
	if len(text) > maxCachedText {
		return readTextOf(text)
	}
	k.mu.Lock()
	rt := k.known[text]
	k.mu.Unlock()
	if rt != nil {
		return rt
	}
	rt = readTextOf(text)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.known = map[string]*readText{}
	}
	for other := range k.known {
		if len(k.known) < keptTexts {
			break
		}
		delete(k.known, other) // any one
	}
	k.known[text] = rt
	return rt
}

func readTextOf(text string) *readText {
	rt := &readText{}
	for part := range sqltext.Statements(text) {
		rt.pieces = append(rt.pieces, &readPiece{stmt: sqltext.Parse(part)})
	}
	var numbering sqltext.Numbering
	for _, p := range rt.pieces {
		p.numbers = numbering.Map(p.stmt.Text)
	}
	rt.params, rt.named = numbering.High(), numbering.Named()
	if len(rt.pieces) == 1 {
		rt.pieces[0].numbers = nil
	}
	return rt
}

// keeps reports whether what is made of a piece's text may be kept: names mean
// objects of the store alone.
func (c *conn) keeps(p *piece) bool { return p.read != nil && !c.names.beside() }

// makingOf returns what the making of a piece's text depends on.
func (c *conn) makingOf(p *piece, schema *engine.Schema) madeFor {
	return madeFor{weak.Make(schema), p.to, c.db.ForeignKeys}
}

// make makes the text that SQLite is to run for a piece, unless that was done for
// the same schema before.
func (c *conn) make(p *piece, schema *engine.Schema) (*madeText, *planning, error) {
	ps := &planning{stmt: p.Stmt, schema: schema}
	keep := c.keeps(p)
	if keep {
		if m := p.read.made.Load(); m != nil && m.holds(c, p, schema) {
			return m, ps, nil
		}
	}
	text, err := c.rewrite(p.Stmt, p.to, schema, ps)
	if err == nil {
		err = c.checkGenerated(p, schema)
	}
	if err != nil {
		return nil, nil, err
	}
	m := &madeText{
		madeFor: c.makingOf(p, schema), text: text, plans: ps.plans, names: ps.names,
		clause: p.Or == sqltext.OnAbort || c.fails(p.Stmt, p.to, schema),
	}
	if keep && !ps.unsure {
		p.read.made.Store(m)
	}
	return m, ps, nil
}
