package catalog

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/jmoiron/sqlx"
)

// State is what recovery starts from, read in one snapshot and verified row by
// row against the stored digests.
type State struct {
	Timeline    Timeline
	Shards      []Shard      // by ordinal
	Generations []Generation // by shard ordinal, then generation, from any number on; collected ones included
	Base        []BaseFile   // of the head, in the order of the manifest
	BaseLSN     int64        // the state that Base holds, 0 without one
	// Inherited are the generations of the head that are of the shards of other
	// timelines, in the order of the manifest and all sealed: what a fork or a restore
	// took over. ShardOrdinal has their shards.
	Inherited    []Generation
	ShardOrdinal map[int64]int64
	// Retained are the generations of the head that its base contains and that are not
	// retired yet, in the order of the manifest, of whichever shards. They are never
	// replayed; an index that has not caught up reads them.
	Retained   []Generation
	IndexState IndexState
	Settings   map[string]string // shards, index_catchup, generation_size: as fixed at creation
}

// Timeline is a named head.
type Timeline struct {
	ID               int64
	OwnerID          int64
	Name             string
	Revision         int64
	WorldID          int64
	RepresentationID int64
	SchemaID         int64
	SchemaVersion    int64 // LSN of the schema the world was cut with
	LSN              int64 // last commit the world contains, 0: none
	LiveCount        int64
	Fingerprint      []byte
	CreatedAt        string
}

// Shard is one log of a timeline.
type Shard struct {
	ID                int64
	Ordinal           int64
	ParentShardID     int64 // 0: none
	ParentGeneration  int64
	WriterEpoch       int64
	CurrentGeneration int64
	ReplayFrom        int64 // first generation the head does not contain
	Revision          int64
}

// Generation is one file of a shard's log.
type Generation struct {
	ShardID    int64
	Generation int64
	ObjectID   int64
	Path       string // below the store directory, with forward slashes
	State      string // open, sealed or collected
	Attempt    [16]byte
	Registered bool // a blob stands for it
	InHead     bool // the head contains it; one below its shard's ReplayFrom need not be, after a restore

	// Of a sealed generation; zero while it is open.
	FirstLSN        int64
	LastLSN         int64 // FirstLSN-1 when it holds no commit
	Records         int64
	ByteExtent      int64
	ContentID       [32]byte
	IntegrityDigest [32]byte
	Fingerprint     []byte
}

// States of a generation's file.
const (
	GenerationOpen      = "open"
	GenerationSealed    = "sealed"
	GenerationCollected = "collected"
)

// FeatureIndexCatchup: catch-up positions are maintained and a missing one means
// "not caught up". It is in both feature words or in neither.
const FeatureIndexCatchup = 128

// knownFeatures are the feature bits this program understands.
const knownFeatures = FeatureIndexCatchup

// MainTimeline is the name of the timeline every store has.
const MainTimeline = "main"

// State reads and verifies the state of the main timeline.
func (c *Catalog) State(ctx context.Context) (State, error) { return c.StateOf(ctx, MainTimeline) }

// StateOf reads and verifies the state of one timeline.
func (c *Catalog) StateOf(ctx context.Context, timeline string) (State, error) {
	var s State
	err := c.read(ctx, "state", func(ctx context.Context, tx *sqlx.Tx) (err error) {
		s, err = readState(ctx, tx, timeline)
		return err
	})
	if err != nil {
		return State{}, err
	}
	return s, nil
}

func readState(ctx context.Context, q sqlx.QueryerContext, timeline string) (State, error) {
	info, err := readInfo(ctx, q)
	if err != nil {
		return State{}, err
	}
	if info == nil {
		return State{}, refuse(CodeUnfinished, "", "the store was never finished")
	}
	s := State{Settings: info.settings()}
	identity := info.identity()

	var heads []headRow
	if err := sqlx.SelectContext(ctx, q, &heads, headQuery+` WHERE t.name = ?`, timeline); err != nil {
		return State{}, err
	}
	if len(heads) == 0 {
		var named bool
		if err := sqlx.GetContext(ctx, q, &named, `SELECT EXISTS (SELECT 1 FROM timelines WHERE name = ?)`, timeline); err != nil {
			return State{}, err
		}
		if named {
			return State{}, refuse(CodeCorrupt, "", "the head of timeline %q has no world or representation", timeline)
		}
		if timeline == MainTimeline { // made with the store, and never dropped
			return State{}, refuse(CodeCorrupt, "", "timeline %q is missing", timeline)
		}
		return State{}, refuse(CodeUnknown, "", "no timeline %q", timeline)
	}
	if err := s.head(&heads[0], identity); err != nil {
		return State{}, err
	}
	if s.IndexState, err = readIndexState(ctx, q, identity, heads[0].IndexStateID); err != nil {
		return State{}, err
	}
	if err := s.shards(ctx, q, identity, info.Shards); err != nil {
		return State{}, err
	}
	if err := s.generations(ctx, q, identity); err != nil {
		return State{}, err
	}
	if err := s.manifest(ctx, q, &heads[0], identity); err != nil {
		return State{}, err
	}
	return s, nil
}

// forked tells whether the timeline was made of another one.
func (s *State) forked() bool {
	return slices.ContainsFunc(s.Shards, func(sh Shard) bool { return sh.ParentShardID != 0 })
}

func (s *State) head(h *headRow, identity [16]byte) error {
	if err := checkDigest("timeline", h.TimelineID, h.Digest, h.digest(identity)); err != nil {
		return err
	}
	if !h.Rooted {
		return refuse(CodeCorrupt, "", "the head of timeline %q is not rooted by its owner %d", h.Name, h.OwnerID)
	}
	s.Timeline = h.timeline()
	return nil
}

func (h *headRow) timeline() Timeline {
	return Timeline{
		ID: h.TimelineID, OwnerID: h.OwnerID, Name: h.Name, Revision: h.Revision,
		WorldID: h.WorldID, RepresentationID: h.RepresentationID,
		SchemaID: h.SchemaID, SchemaVersion: h.SchemaVersion, LSN: h.LSN,
		LiveCount: h.LiveCount, Fingerprint: h.Fingerprint, CreatedAt: h.CreatedAt,
	}
}

func (s *State) shards(ctx context.Context, q sqlx.QueryerContext, identity [16]byte, want int64) error {
	var rows []shardRow
	if err := sqlx.SelectContext(ctx, q, &rows, shardQuery+` WHERE timeline_id = ? ORDER BY ordinal`, s.Timeline.ID); err != nil {
		return err
	}
	if int64(len(rows)) != want {
		return refuse(CodeCorrupt, "", "timeline %q has %d shards, the store was made with %d", s.Timeline.Name, len(rows), want)
	}
	for i := range rows {
		r := &rows[i]
		if err := checkDigest("shard", r.ID, r.Digest, r.digest(identity)); err != nil {
			return err
		}
		if r.Ordinal != int64(i) {
			return refuse(CodeCorrupt, "", "timeline %q has no shard with ordinal %d", s.Timeline.Name, i)
		}
		s.Shards = append(s.Shards, Shard{
			ID: r.ID, Ordinal: r.Ordinal, ParentShardID: deref(r.ParentShardID), ParentGeneration: deref(r.ParentGeneration),
			WriterEpoch: r.WriterEpoch, CurrentGeneration: r.CurrentGeneration, ReplayFrom: r.ReplayFrom, Revision: r.Revision,
		})
	}
	return nil
}

func (s *State) generations(ctx context.Context, q sqlx.QueryerContext, identity [16]byte) error {
	for _, shard := range s.Shards {
		var rows []generationRow
		if err := sqlx.SelectContext(ctx, q, &rows, generationQuery+` WHERE g.shard_id = ? ORDER BY g.generation`, shard.ID); err != nil {
			return err
		}
		current := false
		for i := range rows {
			g, err := rows[i].verified(identity)
			if err != nil {
				return err
			}
			if i == 0 && g.Generation > shard.ReplayFrom {
				return refuse(CodeCorrupt, "", "shard %d has generations from %d, to be replayed are those from %d", shard.ID, g.Generation, shard.ReplayFrom)
			}
			if i > 0 && g.Generation != rows[i-1].Generation+1 {
				return refuse(CodeCorrupt, "", "shard %d has no generation %d", shard.ID, rows[i-1].Generation+1)
			}
			if g.State == GenerationCollected && g.Generation >= shard.ReplayFrom {
				return refuse(CodeCorrupt, "", "shard %d: generation %d is to be replayed and was collected", shard.ID, g.Generation)
			}
			current = current || g.Generation == shard.CurrentGeneration
			s.Generations = append(s.Generations, g)
		}
		if !current {
			return refuse(CodeCorrupt, "", "shard %d has no generation %d, its current one", shard.ID, shard.CurrentGeneration)
		}
	}
	return nil
}

// verified checks a row against its digest, its path and its object's state.
func (r *generationRow) verified(identity [16]byte) (Generation, error) {
	where := fmt.Sprintf("generation %d of shard", r.Generation)
	if err := checkDigest(where, r.ShardID, r.Digest, r.digest(identity)); err != nil {
		return Generation{}, err
	}
	if want := ObjectPath(r.ObjectID, KindKV); r.Path != want {
		return Generation{}, refuse(CodeCorrupt, "", "object %d has path %q, must be %q", r.ObjectID, r.Path, want)
	}
	sealed := r.ContentID != nil
	if sealed != (r.State != GenerationOpen) {
		return Generation{}, refuse(CodeCorrupt, "", "%s %d is %s, its object %d is %s", where, r.ShardID, r.State, r.ObjectID, r.ObjectState)
	}
	g := Generation{
		ShardID: r.ShardID, Generation: r.Generation, ObjectID: r.ObjectID, Path: r.Path, State: r.State,
		FirstLSN: deref(r.FirstLSN), LastLSN: deref(r.LastLSN), Records: deref(r.Records), ByteExtent: deref(r.ByteExtent),
		Fingerprint: r.Fingerprint, Registered: r.BlobID != nil,
	}
	copy(g.Attempt[:], r.Attempt)
	copy(g.ContentID[:], r.ContentID)
	copy(g.IntegrityDigest[:], r.IntegrityDigest)
	return g, nil
}

func deref(v *int64) int64 {
	if v == nil {
		return 0
	}
	return *v
}

func (i *infoRow) settings() map[string]string {
	return map[string]string{
		"shards":          strconv.FormatInt(i.Shards, 10),
		"index_catchup":   i.IndexCatchup,
		"generation_size": strconv.FormatInt(i.GenerationSize, 10),
	}
}
