package main

import (
	"errors"
	"io"
)

// guessRows is how many rows a delimiter is guessed from.
const guessRows = 20

// delimiters are those that are guessed; the first is taken in doubt.
var delimiters = []byte{',', ';', '\t', '|'}

// guessDelimiter finds the delimiter that alone cuts all of the first rows into
// the same number of fields, two at least and no more than most (0: any number).
// Where none does, or several do, it is a comma.
func (c *csvImport) guessDelimiter(most int) error {
	var fits []byte
	for _, d := range delimiters {
		c.delimiter = d
		ok, err := c.fits(most)
		if err != nil {
			return err
		}
		if ok {
			fits = append(fits, d)
		}
	}
	c.delimiter = delimiters[0]
	if len(fits) == 1 {
		c.delimiter = fits[0]
	}
	return nil
}

// fits reports whether the delimiter cuts the first rows alike.
func (c *csvImport) fits(most int) (bool, error) {
	r, f, err := c.reader()
	if err != nil {
		return false, notCSV(err)
	}
	defer f.Close()
	fields := 0
	for range guessRows {
		row, err := r.record()
		switch {
		case errors.Is(err, io.EOF):
			return fields > 1, nil
		case err != nil:
			return false, notCSV(err)
		case len(row) == 1 && row[0] == field{}:
			continue
		case fields == 0:
			fields = len(row)
		}
		if len(row) != fields || most > 0 && fields > most {
			return false, nil
		}
	}
	return fields > 1, nil
}

// notCSV leaves out what another delimiter may mend.
func notCSV(err error) error {
	var bad *csvError
	if errors.As(err, &bad) {
		return nil
	}
	return err
}
