package engine

import "context"

// sealLoop seals the generations that were rotated away from, oldest first, and
// publishes the cuts they end at. A failure costs nothing but the seal or the
// publication, which the next open makes.
func (s *Store) sealLoop() {
	defer s.loops.Done()
	ctx := context.Background()
	for {
		g, c := s.nextSeal()
		if g == nil && c.lsn == 0 {
			return
		}
		if g == nil {
			err := s.publish(ctx, c)
			s.mu.Lock()
			s.pub.stuck = err
			s.chores.attempted()
			s.mu.Unlock()
			if err != nil {
				s.choreFailed(err)
			}
			continue
		}
		s.sealers.take()
		s.sealing.Lock() // waits for a running Check
		err := s.seal(ctx, g)
		s.sealing.Unlock()
		s.sealers.give()
		s.mu.Lock()
		if err != nil {
			s.chores.stuck = err
		} else {
			s.chores.sealing = s.chores.sealing[1:]
		}
		s.chores.attempted()
		s.mu.Unlock()
		if err != nil {
			s.choreFailed(err)
		}
	}
}

// manyCuts is how many cuts wait for seals to come to an end before one of them
// is published in between.
const manyCuts = 64

// nextSeal waits for a generation that can be sealed or a cut that can be
// published; neither means stop. Sealing goes first: a later cut publishes the
// earlier ones as well.
func (s *Store) nextSeal() (*generation, cut) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.chores
	for {
		if s.pipe.cause == nil {
			g := c.sealable(s.synced.Load().lsn)
			if g == nil || len(s.pub.cuts) >= manyCuts {
				if c, ok := s.readyCut(); ok {
					return nil, c
				}
			}
			if g != nil {
				return g, cut{}
			}
		}
		if c.stop {
			return nil, cut{}
		}
		c.seals.Wait()
	}
}

// sealable returns the oldest generation that nothing is appended to any more,
// if its last commit is synced.
func (c *chores) sealable(synced LSN) *generation {
	if c.stuck != nil || len(c.sealing) == 0 || c.sealing[0].info.LastLSN > synced {
		return nil
	}
	return c.sealing[0]
}
