package catalog

import (
	"context"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"
)

// KeptGeneration is a generation whose file is still there, with the reason in one
// sentence.
type KeptGeneration struct {
	Timeline   string `db:"timeline"` // of its shard
	ShardID    int64  `db:"shard_id"`
	Ordinal    int64  `db:"ordinal"` // of the shard
	Generation int64  `db:"generation"`
	ObjectID   int64  `db:"object_id"`
	Why        string `db:"-"`
}

// keptRow is a generation with what decides about it in its own timeline.
type keptRow struct {
	KeptGeneration
	State       string `db:"state"`
	ObjectState string `db:"object_state"`
	Current     int64  `db:"current_generation"`
	ReplayFrom  int64  `db:"replay_from"`
	OwnerID     int64  `db:"owner_id"` // of the timeline
	InHead      bool   `db:"in_head"`
	Retirable   bool   `db:"retirable"`
	HeadWhy     string `db:"why"`
}

const keptQuery = `SELECT t.name AS timeline, s.shard_id, s.ordinal, g.generation, g.object_id, g.state, o.state AS object_state, s.current_generation, s.replay_from, t.owner_id,
		r.object_id IS NOT NULL AS in_head, coalesce(r.retirable, 0) AS retirable, coalesce(r.why, '') AS why
	FROM generations g JOIN shards s ON s.shard_id = g.shard_id JOIN timelines t ON t.timeline_id = s.timeline_id JOIN objects o ON o.object_id = g.object_id
	LEFT JOIN (SELECT * FROM retirable_generations) r ON r.timeline = t.name AND r.object_id = g.object_id
	WHERE g.state <> 'collected' ORDER BY t.name, s.ordinal, g.generation`

// KeptGenerations lists the generations whose files are there, by timeline, shard and
// number, and says in one sentence each why it is. What a process has open and reads
// from memory it knows itself.
func (c *Catalog) KeptGenerations(ctx context.Context) ([]KeptGeneration, error) {
	var list []KeptGeneration
	err := c.read(ctx, "kept-generations", func(ctx context.Context, tx *sqlx.Tx) error {
		list = nil
		var rows []keptRow
		if err := tx.SelectContext(ctx, &rows, keptQuery); err != nil {
			return err
		}
		g, err := readGraph(ctx, tx)
		if err != nil {
			return err
		}
		reasons, err := g.retainers(ctx, tx)
		if err != nil {
			return err
		}
		for i := range rows {
			r := &rows[i]
			r.Why = r.sentence(reasons)
			list = append(list, r.KeptGeneration)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// sentence says what keeps a generation: its own timeline before all others.
func (r *keptRow) sentence(reasons []reason) string {
	switch {
	case r.Generation == r.Current:
		return "the log goes on in it"
	case r.Generation > r.Current:
		return "the log will go on in it"
	case r.Generation >= r.ReplayFrom:
		return "the head does not contain it yet: it is to be replayed"
	case r.InHead:
		return "the head has it: " + r.HeadWhy
	case r.ObjectState == stateClaimed:
		return "it is claimed, and its file is about to go"
	}
	var others []string
	seen := make(map[string]bool)
	for i := range reasons {
		if !reasons[i].reaches.Contains(uint64(r.ObjectID)) {
			continue
		}
		if text := reasons[i].words(); !seen[text] {
			seen[text] = true
			others = append(others, text)
		}
	}
	if len(others) == 0 {
		return "nothing needs it any more: the next collection removes it"
	}
	return "its timeline has let go of it, and it is still needed by " + strings.Join(others, " and ")
}

// words name a retainer in a sentence.
func (r *Retainer) words() string {
	switch r.OwnerKind {
	case "timeline":
		return fmt.Sprintf("timeline %q", r.Name)
	case "branch_point":
		return fmt.Sprintf("branch point %q", r.Name)
	case "reader":
		return "a pin of " + r.Name
	case "job":
		return "job " + r.Name
	case "cache":
		return "a base " + r.Name
	case "recovery":
		return "a publication under way"
	case ownerQuarantine:
		return "whoever finds out about it: it is in quarantine"
	}
	return r.OwnerKind + " " + r.Name
}
