package driver

// The cache of texts that are run without Prepare.
const (
	maxCachedText = 4 << 10
	cacheSize     = 48
)

// stmtCache keeps compiled texts by their wording. A clock hand chooses what
// goes: an entry used since the hand last passed gets a second round.
type stmtCache struct {
	byText map[string]*stmt
	ring   []*stmt
	hand   int
}

// take returns a statement for the text that nobody else uses.
func (k *stmtCache) take(c *conn, text string) *stmt {
	s := k.byText[text]
	if s == nil || s.inUse {
		s = newStmt(c, text)
	}
	s.inUse, s.hit = true, true
	return s
}

// put gives a statement back. It may have been evicted meanwhile, or be a
// second one of its text.
func (k *stmtCache) put(s *stmt) {
	s.inUse = false
	if s.c.unusable() {
		return
	}
	switch known := k.byText[s.text]; {
	case known == s:
		return
	case known != nil || s.c.closed:
		s.finalize()
		return
	}
	if k.byText == nil {
		k.byText = map[string]*stmt{}
	}
	k.byText[s.text] = s
	if len(k.ring) < cacheSize {
		k.ring = append(k.ring, s)
		return
	}
	for k.ring[k.hand].hit {
		k.ring[k.hand].hit = false
		k.hand = (k.hand + 1) % len(k.ring)
	}
	old := k.ring[k.hand]
	delete(k.byText, old.text)
	if !old.inUse { // else whoever uses it gives it back
		old.finalize()
	}
	k.ring[k.hand] = s
	k.hand = (k.hand + 1) % len(k.ring)
}

// clear releases everything.
func (k *stmtCache) clear() {
	for _, s := range k.ring {
		s.finalize()
	}
	*k = stmtCache{}
}
