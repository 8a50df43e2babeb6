package main

import (
	"errors"
	"flag"
	"net/url"
	"regexp"
	"strings"

	"github.com/tidemarkdb/tidemark/driver"
)

// openAs is how a command that reads opens a store, by its flags.
type openAs struct {
	readOnly     bool
	timeline, at string
}

// openFlags are the flags of openAs, in a usage.
const openFlags = "[-ro] [-timeline NAME] [-at BRANCHPOINT]"

// addTo adds the flags to a command's.
func (o *openAs) addTo(flags *flag.FlagSet) {
	flags.BoolVar(&o.readOnly, "ro", false, "only read, beside the process that has the store open")
	flags.Func("timeline", "the timeline `name` to work on (default main)", named(&o.timeline))
	flags.Func("at", "read the store as it was at a `branchpoint`", named(&o.at))
}

// named takes the value of a flag, but not an empty one, as an unset variable gives it:
// it would stand for main, or for now.
func named(to *string) func(string) error {
	return func(value string) error {
		if value == "" {
			return errors.New("the name is empty")
		}
		*to = value
		return nil
	}
}

// config is the configuration of a directory, which mode tells whether to make.
func (o openAs) config(dir, mode string) driver.Config {
	if o.readOnly {
		mode = "ro"
	}
	return driver.Config{Path: dir, Mode: mode, Timeline: o.timeline, At: o.at}
}

// flagsOf spells the keys of a DSN that commands have flags for, "" for none.
func flagsOf(query string) string {
	var flags strings.Builder
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if plain, err := url.PathUnescape(value); err == nil {
			value = plain
		}
		switch {
		case name == "mode" && value == "ro":
			flags.WriteString(" -ro")
		case name == "timeline" || name == "at":
			flags.WriteString(" -" + name + " " + shellWord(value))
		}
	}
	return flags.String()
}

var plainWord = regexp.MustCompile(`^[\w./@%+:,][\w./@%+:,-]*$`)

// shellWord quotes what a shell would take apart.
func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
