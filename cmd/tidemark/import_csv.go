package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// csvImport reads a CSV file into one table.
type csvImport struct {
	open      func() (io.ReadCloser, error) // from the beginning, each time
	name      string                        // of the file, for messages
	size      int64                         // in bytes; 0 when not known
	table     string
	delimiter byte   // 0: to be guessed
	guessed   bool   // it was
	header    string // auto, yes, no
	null      string
	skip      int
	update    func(done, total int64)

	own       bool     // the transaction ends with the import
	later     []string // tables that it fills after this one
	postponed bool     // set by run: violated foreign keys are found when it ends
}

// run makes the table when it is missing and inserts every row. The caller's
// transaction decides whether they stay.
func (c *csvImport) run(ctx context.Context, q querier) (rows int64, err error) {
	t, err := readTable(ctx, q, "temp", c.table)
	if errors.Is(err, sql.ErrNoRows) {
		t, err = readTable(ctx, q, "main", c.table)
	}
	most := 0 // fields of a row
	if err == nil {
		most = len(t.columns)
	}
	if c.delimiter == 0 && (err == nil || errors.Is(err, sql.ErrNoRows)) {
		if err := c.guessDelimiter(most); err != nil {
			return 0, err
		}
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		if t, err = c.makeTable(ctx, q); err != nil {
			return 0, err
		}
	case err != nil:
		return 0, err
	default:
		c.table = t.name
	}
	r, f, err := c.reader()
	if err != nil {
		return 0, err
	}
	defer f.Close()
	first, err := c.record(r, 0)
	if errors.Is(err, io.EOF) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	order := make([]int, len(t.columns)) // column of each field
	for i := range order {
		order[i] = i
	}
	if c.hasHeader(t, first) {
		if order, err = c.matchHeader(t, first); err != nil {
			return 0, err
		}
		first = nil
	} else if len(first) != len(t.columns) {
		return 0, c.ragged(r, len(first), len(t.columns))
	}
	if err := c.postpone(ctx, q, t); err != nil {
		return 0, err
	}
	return c.insert(ctx, q, t, r, first, order)
}

// insert inserts the first row, where it is one, and the rest.
func (c *csvImport) insert(ctx context.Context, q querier, t *table, r *csvReader, row []field, order []int) (rows int64, err error) {
	into := &table{schema: t.schema, name: t.name, strict: t.strict}
	for _, i := range order {
		into.columns = append(into.columns, t.columns[i])
	}
	insert, err := q.PrepareContext(ctx, into.insertText())
	if err != nil {
		return 0, err
	}
	defer insert.Close()
	affinities := make([]affinity, len(into.columns))
	for i, col := range into.columns {
		affinities[i] = affinityOf(col.declared, t.strict)
	}
	values := make([]any, len(into.columns))
	for ; ; row = nil {
		if row == nil {
			if row, err = c.record(r, len(values)); errors.Is(err, io.EOF) {
				return rows, nil
			} else if err != nil {
				return rows, err
			}
		}
		for i, f := range row {
			values[i] = f.value(affinities[i], c.null)
		}
		if _, err := insert.ExecContext(ctx, values...); err != nil {
			return rows, fmt.Errorf("%s:%d: %w", c.name, r.start, err)
		}
		rows++
		c.update(r.read, c.size)
	}
}

// reader opens the file and skips what is to be skipped.
func (c *csvImport) reader() (*csvReader, io.Closer, error) {
	f, err := c.open()
	if err != nil {
		return nil, nil, err
	}
	var r *csvReader
	text := bufio.NewReaderSize(f, csvBuffer)
	if err = refuseEncoding(c.name, text); err == nil {
		r, err = newCSVReader(text, c.delimiter)
	}
	if err == nil {
		err = r.skip(c.skip)
	}
	if err != nil {
		_ = f.Close() // only read
		return nil, nil, c.located(err)
	}
	return r, f, nil
}

// record reads a row of n fields; 0 takes any number. An empty line is a row
// only where a row is one field.
func (c *csvImport) record(r *csvReader, n int) ([]field, error) {
	for {
		row, err := r.record()
		if err != nil {
			return nil, c.located(err)
		}
		if len(row) == 1 && row[0] == (field{}) && n > 1 {
			continue
		}
		for _, f := range row {
			if !utf8.ValidString(f.text) {
				return nil, c.located(&csvError{r.start, "bytes that are not UTF-8: convert the file first, as with iconv -f LATIN1 -t UTF-8", true})
			}
		}
		if n > 0 && len(row) != n {
			return nil, c.ragged(r, len(row), n)
		}
		return row, nil
	}
}

// located names the file and the line of an error.
func (c *csvImport) located(err error) error {
	var bad *csvError
	var refused *misuseError
	switch {
	case errors.As(err, &bad):
		return fmt.Errorf("%s%s: %w", c.name, bad.place(), err)
	case errors.Is(err, io.EOF), errors.As(err, &refused):
		return err
	}
	return fmt.Errorf("%s: %w", c.name, err)
}

// ragged refuses a row with too many fields or too few.
func (c *csvImport) ragged(r *csvReader, got, want int) error {
	return fmt.Errorf("%s:%d: the row has %d fields and not %d", c.name, r.start, got, want)
}

// hasHeader decides whether the first row holds names. Of a table that exists
// one known name is enough, and where there is no table no field may be a number.
func (c *csvImport) hasHeader(t *table, first []field) bool {
	if c.header != "auto" {
		return c.header == "yes"
	}
	if t != nil {
		for _, f := range first {
			if t.column(f.text) >= 0 {
				return true
			}
		}
		return false
	}
	return !slices.ContainsFunc(first, func(f field) bool { return numberText(f.text) })
}

// checkNames refuses names for the columns of a new table that cannot all be
// ones. A table may have a column without a name, but nobody means a line with
// one for a header without saying so.
func (c *csvImport) checkNames(first []field) error {
	seen := map[string]bool{}
	for _, f := range first {
		name := strings.ToLower(f.text)
		switch {
		case seen[name] && name != "":
			return misuse("%s: the first line names %s twice: change it, or use -header=no when it is a row", c.name, quoteName(f.text))
		case seen[name], name == "" && c.header == "auto":
			return misuse("%s: a field of the first line is empty, so it may be a header or a row: use -header=no when it is a row, or give every column a name", c.name)
		}
		seen[name] = true
	}
	return nil
}

// matchHeader finds the column of each name. Columns that the table fills by
// itself need not be there.
func (c *csvImport) matchHeader(t *table, header []field) (order []int, err error) {
	var extra, missing []string
	named := make([]bool, len(t.columns))
	for _, f := range header {
		i := t.column(f.text)
		switch {
		case i < 0:
			extra = append(extra, quoteName(f.text))
			continue
		case named[i]:
			return nil, misuse("%s: the header names column %s twice: change it, or use -header=no when it is a row", c.name, quoteName(f.text))
		}
		named[i] = true
		order = append(order, i)
	}
	for i, col := range t.columns {
		if !named[i] && !col.optional {
			missing = append(missing, quoteName(col.name))
		}
	}
	if extra == nil && missing == nil {
		return order, nil
	}
	var why []string
	if extra != nil {
		why = append(why, "names "+strings.Join(extra, ", ")+", which the table does not have")
	}
	if missing != nil {
		why = append(why, "lacks "+strings.Join(missing, ", ")+", which has to have a value")
	}
	return nil, misuse("%s: the header does not fit table %s: it %s; change the header, import into a new table, or use -header=no when the first line is a row",
		c.name, t.name, strings.Join(why, " and "))
}

// makeTable guesses types from every row and makes the table.
func (c *csvImport) makeTable(ctx context.Context, q querier) (*table, error) {
	r, f, err := c.reader()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	first, err := c.record(r, 0)
	if errors.Is(err, io.EOF) {
		return nil, misuse("%s has no rows to make table %s of: make the table first, or give a file with a header", c.name, c.table)
	}
	if err != nil {
		return nil, err
	}
	guesses := make([]typeGuess, len(first))
	names := make([]string, len(first))
	header := c.hasHeader(nil, first)
	if header {
		if err := c.checkNames(first); err != nil {
			return nil, err
		}
	}
	for i, f := range first {
		if names[i] = "c" + strconv.Itoa(i+1); header {
			names[i] = f.text
		} else {
			guesses[i].add(f, c.null)
		}
	}
	if header {
		c.header = "yes"
	} else {
		c.header = "no"
	}
	for {
		row, err := c.record(r, len(first))
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		for i, f := range row {
			guesses[i].add(f, c.null)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	for i := range names {
		names[i] = quoteName(names[i]) + " " + guesses[i].declared()
	}
	if _, err := q.ExecContext(ctx, "CREATE TABLE main."+quoteName(c.table)+"("+strings.Join(names, ", ")+")"); err != nil {
		return nil, fmt.Errorf("making table %s: %w", c.table, err)
	}
	return readTable(ctx, q, "main", c.table)
}
