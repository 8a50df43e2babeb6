package sqltests

import (
	"fmt"
	"strings"
)

// metaStates are the states that plain SQLite committed and that the store may
// show after a crash, the newest last.
type metaStates struct {
	plain   *metaPlain
	run     *metaRun
	list    []metaState
	version int64 // of the file, as the looker-on sees it
}

type metaState struct {
	dump  string
	image map[string][]byte
}

// note adds the state if there was a commit since the last one.
func (s *metaStates) note() error {
	var version int64
	if err := s.run.watch.QueryRowContext(s.run.ctx, "PRAGMA data_version").Scan(&version); err != nil {
		return err
	}
	if len(s.list) > 0 && version == s.version {
		return nil
	}
	s.version = version
	dump, err := s.run.committed()
	if err != nil {
		return err
	}
	image, err := s.plain.image()
	if err != nil {
		return err
	}
	s.list = append(s.list, metaState{dump, image})
	return nil
}

// newSchema reports whether the newest commit changed the schema.
func (s *metaStates) newSchema() bool {
	n := len(s.list)
	if n < 2 {
		return false
	}
	schema := func(dump string) string {
		text, _, _ := strings.Cut(dump, metaDumps()[1])
		return text
	}
	return schema(s.list[n-1].dump) != schema(s.list[n-2].dump)
}

// trim leaves the newest state: it is not lost any more.
func (s *metaStates) trim() { s.list = s.list[len(s.list)-1:] }

// find returns the newest state that shows the dump, or -1.
func (s *metaStates) find(dump string) int {
	for i := len(s.list) - 1; i >= 0; i-- {
		if s.list[i].dump == dump {
			return i
		}
	}
	return -1
}

// goTo opens plain SQLite again in one of the states, the only one from then on.
func (s *metaStates) goTo(at int) error {
	last := at == len(s.list)-1
	s.list = s.list[at : at+1]
	if err := s.run.close(); err != nil {
		return fmt.Errorf("plain SQLite: %w", err)
	}
	if !last {
		if err := s.plain.restore(s.list[0].image); err != nil {
			return err
		}
	}
	if err := s.run.open(); err != nil {
		return fmt.Errorf("plain SQLite: %w", err)
	}
	err := s.run.watch.QueryRowContext(s.run.ctx, "PRAGMA data_version").Scan(&s.version)
	return err
}

// differs shows how a dump is not the newest state.
func (s *metaStates) differs(dump string) string {
	here, natively := unequalLines(dump, s.list[len(s.list)-1].dump)
	return fmt.Sprintf("\nhere     %s\nnatively %s", here, natively)
}
