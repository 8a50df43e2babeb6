package engine

import (
	"errors"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// A store is made without positions of indexes, is opened as it is, and can begin to
// maintain them before anything of it is compacted, with no way back.
func TestIndexCatchupMode(t *testing.T) {
	o := Options{FS: vfs.NewMem(), Dir: t.TempDir(), Create: true, NoCompaction: true, IndexCatchup: indexCatchupLegacy}
	open := func() *Store {
		t.Helper()
		s, err := Open(t.Context(), o)
		must(t, err)
		return s
	}
	reopen := func(mode, want string) {
		t.Helper()
		o.IndexCatchup = mode
		s := open()
		if got := s.Settings()["index_catchup"]; got != want {
			t.Errorf("opened with %q it is %q, want %q", mode, got, want)
		}
		must(t, s.Close())
	}
	refused := func(mode string, by func(error) bool) {
		t.Helper()
		bad := o
		bad.IndexCatchup = mode
		if s, err := Open(t.Context(), bad); !by(err) {
			t.Errorf("opened with %q: %v", mode, err)
			if err == nil {
				must(t, s.Close())
			}
		}
	}
	s := open()
	wait(t, s, update(t, s, all(createKeys("k", 3), put("k", 1, 1, "x", "y"))))
	must(t, s.Checkpoint(t.Context(), nil))
	must(t, s.Close())
	reopen("", indexCatchupLegacy)
	reopen(indexCatchupLegacy, indexCatchupLegacy)
	reopen(indexCatchupRequired, indexCatchupRequired)
	reopen(indexCatchupRequired, indexCatchupRequired)
	reopen("", indexCatchupRequired)
	refused(indexCatchupLegacy, func(err error) bool { return errors.Is(err, ErrIndexCatchup) })
	if s, err := Open(t.Context(), Options{Dir: "x", IndexCatchup: "never"}); err == nil {
		must(t, s.Close())
		t.Error("a mode that is none")
	}
	// What was compacted without positions is not validated.
	o = Options{FS: vfs.NewMem(), Dir: t.TempDir(), Create: true, NoCompaction: true, IndexCatchup: indexCatchupLegacy}
	s = open()
	wait(t, s, update(t, s, all(createKeys("k", 3), put("k", 1, 1, "x", "y"))))
	must(t, s.Compact(t.Context(), nil))
	state := dump(s.Durable())
	must(t, s.Close())
	refused(indexCatchupRequired, func(err error) bool {
		var e *catalog.Error
		return errors.As(err, &e) && e.Code == catalog.CodeIndex
	})
	o.IndexCatchup = ""
	s = open()
	if got := dump(s.Durable()); got != state {
		t.Errorf("%s\nwant:\n%s", got, state)
	}
	if st, err := s.cat.State(t.Context()); err != nil || len(st.Retained) == 0 || len(st.IndexState.CaughtUp) != 0 {
		t.Errorf("%d generations retained, positions %v, %v", len(st.Retained), st.IndexState.CaughtUp, err)
	}
	must(t, s.Close())
}
