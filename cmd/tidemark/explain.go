package main

import (
	"database/sql"
	"fmt"
	"io"
)

// planStep is a row of EXPLAIN QUERY PLAN.
type planStep struct {
	id, parent int64
	detail     string
}

// printPlan prints the rows of EXPLAIN QUERY PLAN as sqlite3 does: as a tree,
// each step under the one it belongs to.
func printPlan(rows *sql.Rows, w io.Writer) error {
	var steps []planStep
	_, err := scanRows(rows, func(values []any) error {
		id, _ := values[0].(int64)
		parent, _ := values[1].(int64)
		steps = append(steps, planStep{id, parent, listText(values[3])})
		return nil
	})
	if err != nil || len(steps) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(w, "QUERY PLAN"); err != nil {
		return err
	}
	return printSteps(w, steps, 0, "", 0)
}

// maxPlanDepth ends the recursion, whatever the rows say.
const maxPlanDepth = 1000

// printSteps prints the children of a step.
func printSteps(w io.Writer, steps []planStep, parent int64, indent string, depth int) error {
	var children []planStep
	for _, s := range steps {
		if s.parent == parent && s.id != parent {
			children = append(children, s)
		}
	}
	for i, c := range children {
		branch, below := "|--", "|  "
		if i == len(children)-1 {
			branch, below = "`--", "   "
		}
		if _, err := fmt.Fprintln(w, indent+branch+c.detail); err != nil {
			return err
		}
		if depth < maxPlanDepth {
			if err := printSteps(w, steps, c.id, indent+below, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
