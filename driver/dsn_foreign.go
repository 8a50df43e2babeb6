package driver

import (
	"slices"
	"strings"
)

// translate turns the spellings of other SQLite drivers into keys of ours. It
// returns an empty key for what has no meaning here and may be ignored: how a
// file would be journalled, cached or locked. A request that would change what
// statements mean, and is not offered, is refused: ignoring it would be worse.
func translate(name, value string) (key, val string, err error) {
	switch name {
	case "_pragma":
		return translatePragma(value)
	case "_busy_timeout", "_timeout":
		return "busy_timeout", value, nil
	case "_sync", "_synchronous":
		return "sync", syncWord(value), nil
	case "_txlock":
		if value == "exclusive" {
			value = "immediate"
		}
		return "txlock", value, nil
	case "_foreign_keys", "_fk":
		return "foreign_keys", onOff(value), nil
	case "_loc", "_timezone":
		if value == "auto" {
			value = "Local"
		}
		return "time_zone", value, nil
	case "_time_format", "_time_integer_format":
		return "time_format", value, nil
	case "cache", "_texttotime", "_mutex":
		return "", "", nil
	}
	if pragma, ok := strings.CutPrefix(name, "_"); ok && slices.Contains(ignoredPragmas, longPragma(pragma)) {
		return "", "", nil
	}
	return name, value, nil
}

// translatePragma reads the value of _pragma: name(value) or name=value.
func translatePragma(text string) (key, val string, err error) {
	name, value, _ := strings.Cut(strings.TrimSpace(text), "=")
	if n, v, ok := strings.Cut(text, "("); ok {
		name, value = n, strings.TrimSuffix(strings.TrimSpace(v), ")")
	}
	name = strings.ToLower(strings.TrimSpace(name))
	value = strings.Trim(strings.TrimSpace(value), `'"`)
	switch {
	case name == "busy_timeout":
		return "busy_timeout", value, nil
	case name == "foreign_keys":
		return "foreign_keys", onOff(value), nil
	case name == "synchronous":
		return "sync", syncWord(value), nil
	case slices.Contains(ignoredPragmas, name):
		return "", "", nil
	}
	return "", "", newError("open", ErrMisuse,
		"_pragma=%s is not legal: use busy_timeout(…), foreign_keys(…) or synchronous(…) (%s are accepted and ignored), and run other pragmas as statements",
		text, strings.Join(ignoredPragmas, ", "))
}

// ignoredPragmas concern files that SQLite would keep; Tidemark keeps its own.
var ignoredPragmas = []string{
	"auto_vacuum", "cache_size", "cache_spill", "journal_mode", "journal_size_limit", "locking_mode", "mmap_size",
	"optimize", "page_size", "secure_delete", "temp_store", "threads", "wal_autocheckpoint",
}

// longPragma undoes the short names that mattn/go-sqlite3 has for some.
func longPragma(name string) string {
	switch name {
	case "journal":
		return "journal_mode"
	case "locking":
		return "locking_mode"
	case "vacuum":
		return "auto_vacuum"
	}
	return name
}

// syncWord is the value of sync that keeps what a synchronous promises; another
// word stays, to be refused with its name.
func syncWord(v string) string {
	switch strings.ToLower(v) {
	case "0", "off", "false", "no":
		return "off"
	case "1", "normal", "on", "true", "yes":
		return "normal"
	case "2", "full", "3", "extra":
		return "full"
	}
	return v
}

// onOff reads SQLite's spellings of a boolean; another word stays, to be
// refused with its name.
func onOff(v string) string {
	switch strings.ToLower(v) {
	case "1", "on", "true", "yes":
		return "on"
	case "0", "off", "false", "no":
		return "off"
	}
	return v
}
