package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/tidemarkdb/tidemark/catalog"
)

// Values of Options.IndexCatchup and of the setting index_catchup.
const (
	indexCatchupRequired = "required"
	indexCatchupLegacy   = "legacy"
)

// ErrIndexCatchup: the positions of indexes are maintained or not, and the other was
// asked for.
var ErrIndexCatchup = errors.New("engine: another way to keep positions of indexes")

// catchupMode is how a timeline keeps the positions of its indexes.
func catchupMode(state *catalog.State) string {
	if state.IndexState.ReaderFeatures&catalog.FeatureIndexCatchup != 0 {
		return indexCatchupRequired
	}
	return indexCatchupLegacy
}

// settleCatchup brings a timeline and Options.IndexCatchup together before it is
// recovered: it activates what is asked for, or refuses.
func (s *Store) settleCatchup(ctx context.Context, state *catalog.State) (catalog.State, error) {
	have, want := catchupMode(state), s.opts.IndexCatchup
	switch {
	case want == "" || want == have:
		return *state, nil
	case want == indexCatchupLegacy:
		return *state, fmt.Errorf("%w: index_catchup is legacy, timeline %q maintains them, and that has no way back", ErrIndexCatchup, state.Timeline.Name)
	case s.opts.ReadOnly:
		return *state, fmt.Errorf("%w: index_catchup is required, timeline %q does not maintain them: open it for writing once", ErrIndexCatchup, state.Timeline.Name)
	}
	if _, err := s.cat.ActivateIndexCatchup(ctx, state.Timeline.Name); err != nil {
		return *state, fmt.Errorf("engine: %w", err)
	}
	return s.cat.StateOf(ctx, state.Timeline.Name)
}

// settingsOf are the settings of a store as a timeline of it has them.
func settingsOf(state *catalog.State) map[string]string {
	settings := maps.Clone(state.Settings)
	settings["index_catchup"] = catchupMode(state)
	return settings
}
