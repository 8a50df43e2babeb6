package engine

// prepareFences are those of indexes that are made beside writers.
var prepareFences = []fencesOf{
	{"index_prepare.go", ".", []fence{
		{"an index that is prepared comes up to the head", `for range followRounds {`, `for range 0 * followRounds {`, "TestPreparedBesideWriters"},
		{"what is written last is in an index", `	_, err := p.follow(context.Background(), t)
	made`, `	err := error(nil)
	made`, "TestPreparedBesideWriters|TestPreparedUnique"},
		{"a closed store prepares nothing", `	case s.refusal() != nil:
		return nil, s.refusal()
`, ``, "TestPreparedAtClose"},
		{"a prepared index ends with its context", `	case ctx.Err() != nil:
		return nil, ctx.Err()
`, ``, "TestPreparedIsCancelled"},
		{"rows are read until the context ends", `errors.Join(ctx.Err(), s.refusal())`, `s.refusal()`, "TestPreparedIsCancelled"},
		{"entries are put in order until the context ends", `asked.Add(1)%1024 != 0 || ctx.Err() == nil`, `asked.Add(1) > 0`, "TestPreparedIsCancelled"},
		{"an index follows until the context ends", `			err = ctx.Err()
`, ``, "TestPreparedIsCancelled"},
		{"there is memory for an index", `if need > room+tree.Slack(1, need) {`, `if need < 0 {`, "TestPreparedBudget"},
		{"memory that was freed counts", `	if tx.memory+need <= tx.budget {
		return nil
	}
`, ``, "TestPreparedBudgetFreed"},
		{"who has the lock is not waited for", `	if errors.Is(err, ErrBusy) {
		return nil
	}
`, ``, "TestPreparedBudget$"},
		{"twins of the snapshot are counted", `			equal.Add(1)
`, ``, "TestPreparedUnique"},
		{"twins that appear are counted", `			p.twins++
`, ``, "TestPreparedUnique"},
		{"twins that go do not count", `			p.twins--
`, ``, "TestPreparedUnique"},
		{"NULL has no twin", `!p.ix.Unique || null`, `!p.ix.Unique`, "TestPreparedUnique"},
		{"twins are refused", `case p.twins > 0:`, `case p.twins < 0:`, "TestPreparedUnique"},
		{"an entry of a row that was changed goes", `if !p.tree.Delete(p.was) {`, `if p.tree.Len() == 0 {`, "TestPreparedBesideWriters"},
		{"a prepared index is of one definition", `to == nil || to.def != p.table.def`, `to == nil`, "TestPreparedIsOutdated"},
		{"an index does not follow most rows", `changed > most {`, `changed < 0 && most > 0 {`, "TestPreparedIsOutdated"},
		{"locators are no rows", `t.src == nil || stored == ""`, `t.src != nil || stored == ""`, "TestPreparedBesideWriters|TestPreparedFollowsMoves"},
		{"a prepared index is of one table", `p.table.def.ID != t.def.ID || `, ``, "TestPreparedIsOutdated"},
		{"a prepared index is the one that is wanted", ` || !p.ix.sameEntries(ix)`, ``, "TestPreparedIsOutdated"},
		{"a prepared index is used once", `	p.tree = nil
`, ``, "TestPreparedIsOutdated"},
	}},
	{"tree/diff.go", "tree", []fence{
		{"what trees have in common is passed over", `b != nil && *a == *b:`, `b != nil && *a == *b && d.steps < 0:`, "TestDiff"},
		{"rows that are the same do not differ", `before != after && !d.f`, `!d.f`, "TestDiff"},
		{"a row of both trees differs once", `a.l.head(a.at) <= b.l.head(b.at)`, `a.l.head(a.at) < b.l.head(b.at)`, "TestDiff"},
		{"a row of both trees has two records", `b.l.head(b.at) <= a.l.head(a.at)`, `b.l.head(b.at) < a.l.head(a.at)`, "TestDiff"},
	}},
	{"../driver/ddl.go", "../driver", []fence{
		{"an index is made before the lock is taken", `ready, err := c.prepareIndex(ctx, p.Stmt)`, `ready, err := (*engine.PreparedIndex)(nil), error(nil)`, "TestCreateIndexUnique"},
		{"an index that was made is used", `		c.reads.etx.UseIndex(ready)
`, `		_ = ready
`, "TestCreateIndexIsUsed"},
		{"beside open rows an index is made under the lock", `c.reads.active > 0 || `, ``, "TestCreateIndexInTransaction"},
	}},
}
