package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestExplain: every object is garbage or has a reason, as the views say.
func TestExplain(t *testing.T) {
	ctx := t.Context()
	c, l, s, p := pinned(t)
	b, err := c.CreateBranchPoint(ctx, "b", l.stateNow().Timeline)
	if err != nil {
		t.Fatal(err)
	}
	job, err := c.StartJob(ctx, "compact", "")
	if err != nil {
		t.Fatal(err)
	}
	reserved, err := c.ReserveObject(ctx, job.ID)
	if err != nil {
		t.Fatal(err)
	}
	lost, claimed := orphan(t, c, 1), orphan(t, c, 2)
	if _, err := c.Claim(ctx, []int64{claimed}); err != nil {
		t.Fatal(err)
	}
	quarantined := orphan(t, c, 3)
	edit(t, c.options.Dir, objectUpdate(quarantined, "state = 'quarantined'"))

	garbage, kept, err := c.Explain(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := idsOf(garbage); !slices.Equal(got, []int64{claimed, lost}) {
		t.Errorf("garbage %v, want %d and %d", got, claimed, lost)
	}
	if list, err := c.Garbage(ctx, 100); err != nil || !slices.Equal(idsOf(list), idsOf(garbage)) {
		t.Errorf("garbage is %v, explained %v, %v", idsOf(list), idsOf(garbage), err)
	}
	now := l.stateNow()
	timeline := Retainer{now.Timeline.OwnerID, "timeline", MainTimeline, fmt.Sprintf("representation %d", now.Timeline.RepresentationID)}
	branch := Retainer{b.OwnerID, "branch_point", "b", timeline.Via}
	reader := func(via string, id int64) Retainer {
		return Retainer{p.OwnerID, "reader", fmt.Sprintf("session %d of pid 7", s.ID), fmt.Sprintf("%s %d", via, id)}
	}
	current := now.Generations[2].ObjectID
	want := map[int64][]Retainer{
		now.Base[0].ObjectID:        {timeline, branch},
		now.Generations[0].ObjectID: {reader("representation", p.RepresentationID)},
		now.Generations[1].ObjectID: {reader("object", p.Objects[0])},
		current: {{now.Timeline.OwnerID, "timeline", MainTimeline, fmt.Sprintf("object %d", current)},
			{OwnerKind: "log", Via: "the generation that a shard goes on in"}},
		reserved.ObjectID: {{job.owner(t, c), "job", fmt.Sprintf("compact %d", job.ID), fmt.Sprintf("object %d", reserved.ObjectID)}},
		quarantined:       {{OwnerKind: "quarantine", Via: "nothing has proven what became of it"}},
	}
	for _, k := range kept {
		got, expected := slices.Clone(k.Reasons), want[k.ID]
		byText := func(a, b Retainer) int { return strings.Compare(a.String(), b.String()) }
		slices.SortFunc(got, byText)
		slices.SortFunc(expected, byText)
		if !slices.Equal(got, expected) {
			t.Errorf("object %d stays for %v, want %v", k.ID, got, expected)
		}
		if rooted := one64(t, c, fmt.Sprintf(`SELECT %d IN (SELECT object_id FROM reachable_objects)`, k.ID)) == 1; rooted != k.Rooted {
			t.Errorf("object %d: rooted %v, the view says %v", k.ID, k.Rooted, rooted)
		}
	}
	if len(kept) != len(want) {
		t.Errorf("%d objects stay, want %d", len(kept), len(want))
	}
	if text := branch.String(); text != "branch_point b, through "+timeline.Via {
		t.Error(text)
	}
}

// owner of a job.
func (j Job) owner(t *testing.T, c *Catalog) int64 {
	t.Helper()
	return one64(t, c, fmt.Sprintf(`SELECT owner_id FROM jobs WHERE job_id = %d`, j.ID))
}

// TestExplainOverEdges: a dependency of what is retained is retained through it.
func TestExplainOverEdges(t *testing.T) {
	f := newFixture(t)
	_ = f.db.Close()
	c, err := Open(t.Context(), Options{Dir: f.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	edit(t, f.dir, fmt.Sprintf(`INSERT INTO owner_blobs VALUES (%d, %d)`, fixOwner, fixIndexBlob))
	_, kept, err := c.Explain(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := Retainer{fixOwner, "timeline", MainTimeline, fmt.Sprintf("blob %d", fixIndexBlob)}
	seen := 0
	for _, k := range kept {
		if k.ID == fixIndexObject || k.ID == fixSealed {
			seen++
			if !slices.Contains(k.Reasons, want) {
				t.Errorf("object %d stays for %v", k.ID, k.Reasons)
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d of two objects stay", seen)
	}
	if list, err := c.Garbage(t.Context(), 100); err != nil || slices.Contains(idsOf(list), fixIndexObject) {
		t.Errorf("%v, %v", idsOf(list), err)
	}
}
