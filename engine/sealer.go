package engine

import "context"

// sealLoop seals the generations that were rotated away from, oldest first. A
// failure costs nothing but the seal, which the next open makes.
func (s *Store) sealLoop() {
	defer s.loops.Done()
	ctx := context.Background()
	for {
		g := s.nextSeal()
		if g == nil {
			return
		}
		s.sealing.Lock() // waits for a running Check
		err := s.seal(ctx, g)
		s.sealing.Unlock()
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

// nextSeal waits for a generation that can be sealed; nil means stop.
func (s *Store) nextSeal() *generation {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.chores
	for {
		if s.pipe.cause == nil {
			if g := c.sealable(s.synced.Load().lsn); g != nil {
				return g
			}
		}
		if c.stop {
			return nil
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
