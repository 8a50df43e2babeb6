package sqltests

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestRandomSelects draws schemas with rows and asks random SELECTs of them;
// the rows must be those of plain SQLite. Whatever a plan by an index, a list
// or an order gets wrong shows here. A failure prints how to repeat it; more
// are run with -rapid.checks.
func TestRandomSelects(t *testing.T) {
	ctx := context.Background()
	native, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer native.Close()
	oracle, err := native.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer oracle.Close()
	s := Open(t, "")
	ours, err := s.DB.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	queries, rows, failed := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		g := &selectGen{t: rt}
		var schema []string
		run := func(text string) {
			schema = append(schema, text+";\n")
			_, werr := oracle.ExecContext(ctx, text)
			_, gerr := ours.ExecContext(ctx, text)
			if code(werr) != code(gerr) {
				rt.Fatalf("%s%v here, %v natively", strings.Join(schema, ""), gerr, werr)
			}
		}
		for i := range 3 {
			run(fmt.Sprint("DROP TABLE IF EXISTS t", i))
		}
		schema = nil
		for i := range 3 {
			run("BEGIN")
			for _, text := range g.table(fmt.Sprint("t", i)) {
				run(text)
			}
			run("COMMIT")
		}
		for range 20 {
			text, exact, ordered := g.query()
			args := g.used(text)
			want, werr := modelRows(ctx, oracle, text, args...)
			got, gerr := modelRows(ctx, ours, text, args...)
			queries, rows = queries+1, rows+len(want)
			if code(werr) != code(gerr) {
				rt.Fatalf("%s%s; %#v\n%v here, %v natively", strings.Join(schema, ""), text, args, gerr, werr)
			}
			if werr != nil {
				failed++
			}
			for _, list := range [][]string{want, got} {
				if !exact {
					for i := range list {
						list[i] = canonical(list[i])
					}
				}
				if !ordered {
					slices.Sort(list)
				}
			}
			if !slices.Equal(want, got) {
				rt.Fatalf("%s%s; %#v\nhere     %q\nnatively %q", strings.Join(schema, ""), text, args, got, want)
			}
		}
	})
	t.Logf("%d queries with %d rows, %d errors", queries, rows, failed)
	if failed*20 > queries {
		t.Errorf("%d of %d queries are not valid", failed, queries)
	}
}

// canonical makes equal what some collation or comparison has for equal: which
// of several equal values stands for all is not promised.
func canonical(line string) string {
	fields := strings.Split(line, "|")
	for i, f := range fields {
		switch kind, number, _ := strings.Cut(f, ":"); {
		case kind == "float64":
			if n, err := strconv.ParseFloat(number, 64); err == nil && n == float64(int64(n)) {
				fields[i] = fmt.Sprint("int64:", int64(n))
			}
		case strings.HasPrefix(f, `"`):
			fields[i] = strings.ToLower(strings.ReplaceAll(f, ` "`, `"`))
		}
	}
	return strings.Join(fields, "|")
}
