package main

import "strings"

// txState follows the statements that begin and end a transaction, so that a
// prompt can show one without asking the store.
type txState struct {
	begun      bool
	savepoints []string // of the transaction, the outermost first
}

// open reports whether a transaction is open.
func (t *txState) open() bool { return t.begun || len(t.savepoints) > 0 }

// after takes note of a statement that succeeded.
func (t *txState) after(s statement) {
	name := func(i int) string {
		if s.head[i] == "TRANSACTION" && i+1 < len(s.head) && s.head[i+1] != "" {
			i++
		}
		return s.head[i]
	}
	switch s.head[0] {
	case "BEGIN":
		t.begun = true
	case "COMMIT", "END":
		*t = txState{}
	case "SAVEPOINT":
		t.savepoints = append(t.savepoints, name(1))
	case "RELEASE":
		i := 1
		if s.head[i] == "SAVEPOINT" && s.head[2] != "" {
			i = 2
		}
		t.cut(s.head[i], false)
	case "ROLLBACK":
		for i, w := range s.head {
			if w != "TO" {
				continue
			}
			if i+2 < len(s.head) && s.head[i+1] == "SAVEPOINT" && s.head[i+2] != "" {
				i++
			}
			if i+1 < len(s.head) {
				t.cut(s.head[i+1], true)
			}
			return
		}
		*t = txState{}
	}
}

// cut ends the savepoints after the last one of a name, and that one too unless
// it is kept. Quoted names are all seen as one, which is near enough for a
// prompt.
func (t *txState) cut(name string, keep bool) {
	for i := len(t.savepoints) - 1; i >= 0; i-- {
		if strings.EqualFold(t.savepoints[i], name) {
			if keep {
				i++
			}
			t.savepoints = t.savepoints[:i]
			return
		}
	}
}
