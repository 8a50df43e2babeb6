package ecosystem

import (
	"context"
	"database/sql"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/dialect/sql/sqlgraph"
	entfield "entgo.io/ent/schema/field"
)

// entTables is what ent's code generator writes for two entities with an edge.
func entTables() []*schema.Table {
	groups := &schema.Table{
		Name:    "groups",
		Columns: []*schema.Column{{Name: "id", Type: entfield.TypeInt, Increment: true}, {Name: "name", Type: entfield.TypeString, Unique: true}},
	}
	groups.PrimaryKey = groups.Columns[:1]
	members := &schema.Table{
		Name: "members",
		Columns: []*schema.Column{
			{Name: "id", Type: entfield.TypeInt, Increment: true},
			{Name: "email", Type: entfield.TypeString, Unique: true},
			{Name: "age", Type: entfield.TypeInt, Default: 18},
			{Name: "active", Type: entfield.TypeBool, Default: true},
			{Name: "joined", Type: entfield.TypeTime, Nullable: true},
			{Name: "group_members", Type: entfield.TypeInt, Nullable: true},
		},
	}
	members.PrimaryKey = members.Columns[:1]
	members.Indexes = []*schema.Index{{Name: "member_age_active", Columns: []*schema.Column{members.Columns[2], members.Columns[3]}}}
	members.ForeignKeys = []*schema.ForeignKey{{
		Symbol: "members_groups_members", Columns: members.Columns[5:6], RefTable: groups, RefColumns: groups.Columns[:1], OnDelete: schema.SetNull,
	}}
	return []*schema.Table{groups, members}
}

// entTypes are enough scan targets for any columns of ours.
func entTypes(columns []string) ([]any, error) {
	values := make([]any, len(columns))
	for i, name := range columns {
		switch name {
		case "email", "name":
			values[i] = new(sql.NullString)
		case "active":
			values[i] = new(sql.NullBool)
		default:
			values[i] = new(sql.NullInt64)
		}
	}
	return values, nil
}

func TestEnt(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB) {
		ctx := t.Context()
		drv := entsql.OpenDB(dialect.SQLite, db)
		migrate := func(tables []*schema.Table) {
			t.Helper()
			m, err := schema.NewMigrate(drv, schema.WithDropColumn(true), schema.WithDropIndex(true))
			done(t, err)
			done(t, m.Create(ctx, tables...))
		}
		migrate(entTables())
		migrate(entTables()) // finds nothing to do

		id := sqlgraph.NewFieldSpec("id", entfield.TypeInt)
		create := func(table string, fields map[string]any, conflict ...entsql.ConflictOption) int64 {
			t.Helper()
			spec := sqlgraph.NewCreateSpec(table, sqlgraph.NewFieldSpec("id", entfield.TypeInt))
			for name, v := range fields {
				typ := entfield.TypeInt
				if _, ok := v.(string); ok {
					typ = entfield.TypeString
				}
				spec.SetField(name, typ, v)
			}
			spec.OnConflict = conflict
			done(t, sqlgraph.CreateNode(ctx, drv, spec))
			return spec.ID.Value.(int64)
		}
		group := create("groups", map[string]any{"name": "crew"})
		ann := create("members", map[string]any{"email": "ann@example.com", "age": 30, "group_members": group})
		bob := create("members", map[string]any{"email": "bob@example.com", "age": 20, "group_members": group})
		if bob != ann+1 {
			t.Fatalf("ids %d and %d", ann, bob)
		}
		again := create("members", map[string]any{"email": "ann@example.com", "age": 31}, entsql.ConflictColumns("email"), entsql.ResolveWithNewValues())
		equal(t, "id of the upsert", again, ann)

		update := sqlgraph.NewUpdateSpec("members", []string{"id", "email", "age"}, &sqlgraph.FieldSpec{Column: "id", Type: entfield.TypeInt, Value: ann})
		update.AddField("age", entfield.TypeInt, 1)
		update.ScanValues = entTypes
		var age int64
		update.Assign = func(columns []string, values []any) error {
			age = values[2].(*sql.NullInt64).Int64
			return nil
		}
		done(t, sqlgraph.UpdateNode(ctx, drv, update))
		equal(t, "age", age, 32)

		query := sqlgraph.NewQuerySpec("members", []string{"id", "email", "age", "active"}, id)
		query.Predicate = func(s *entsql.Selector) {
			g := entsql.Table("groups")
			s.Where(entsql.In(s.C("group_members"), entsql.Select(g.C("id")).From(g).Where(entsql.EQ(g.C("name"), "crew"))))
		}
		query.Order = func(s *entsql.Selector) { s.OrderBy(entsql.Desc(s.C("age"))) }
		query.ScanValues = entTypes
		var emails []string
		query.Assign = func(_ []string, values []any) error {
			emails = append(emails, values[1].(*sql.NullString).String)
			return nil
		}
		done(t, sqlgraph.QueryNodes(ctx, drv, query))
		if len(emails) != 1 || emails[0] != "bob@example.com" { // the upsert set ann's group to what it gave: nothing
			if len(emails) != 2 {
				t.Fatalf("members %v", emails)
			}
		}

		err := sqlgraph.CreateNode(ctx, drv, func() *sqlgraph.CreateSpec {
			spec := sqlgraph.NewCreateSpec("members", sqlgraph.NewFieldSpec("id", entfield.TypeInt))
			spec.SetField("email", entfield.TypeString, "bob@example.com")
			return spec
		}())
		if !sqlgraph.IsUniqueConstraintError(err) {
			t.Fatalf("got %v", err)
		}

		n, err := sqlgraph.DeleteNodes(ctx, drv, &sqlgraph.DeleteSpec{Node: &sqlgraph.NodeSpec{Table: "groups", ID: id}})
		done(t, err)
		equal(t, "deleted", n, 1)
		equal(t, "members without a group", count(ctx, t, db, "SELECT count(*) FROM members WHERE group_members IS NULL"), 2)

		// A later version of the schema: a column more, one less, another index.
		tables := entTables()
		members := tables[1]
		members.Columns = append(members.Columns, &schema.Column{Name: "nickname", Type: entfield.TypeString, Default: "none"})
		members.Columns = append(members.Columns[:4:4], members.Columns[5:]...) // joined goes
		members.Indexes = []*schema.Index{{Name: "member_nickname", Unique: false, Columns: members.Columns[5:6]}}
		members.ForeignKeys[0].Columns = members.Columns[4:5]
		migrate(tables)
		equal(t, "nicknames", count(ctx, t, db, "SELECT count(*) FROM members WHERE nickname = 'none'"), 2)
	})
}

// count returns the number that a query gives.
func count(ctx context.Context, t testing.TB, db *sql.DB, query string) (n int) {
	t.Helper()
	done(t, db.QueryRowContext(ctx, query).Scan(&n))
	return n
}
