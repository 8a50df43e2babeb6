package driver

import (
	"net/url"
	"path/filepath"
	"strings"
)

// ParseDSN reads a data source name: a path with optional ?key=value&…, or the
// same in the form of a file: URI. The parser is strict: an unknown key, a key
// given twice and a value that is not legal are errors that name it and what is
// legal. Treat a DSN as trusted input: it names files.
//
// A plain path is taken as it is up to the first "?"; in the file: form "%"
// escapes are decoded, so that a path may hold a question mark (%3F), and what
// follows "#" is ignored, as in SQLite. Values are decoded in both forms.
func ParseDSN(dsn string) (Config, error) {
	var c Config
	path, query, _ := strings.Cut(dsn, "?")
	if rest, ok := strings.CutPrefix(path, "file:"); ok {
		if before, _, cut := strings.Cut(path, "#"); cut {
			rest, query = strings.TrimPrefix(before, "file:"), ""
		}
		query, _, _ = strings.Cut(query, "#")
		var err error
		if path, err = uriPath(rest); err != nil {
			return Config{}, err
		}
	}
	c.Path = path
	if err := c.parseQuery(query); err != nil {
		return Config{}, err
	}
	if err := c.Validate(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// uriPath decodes what follows "file:".
func uriPath(s string) (string, error) {
	if rest, ok := strings.CutPrefix(s, "//"); ok {
		authority, path, _ := strings.Cut(rest, "/")
		if authority != "" && authority != "localhost" {
			return "", newError("open", ErrCantOpen, "invalid uri authority: %s: only file:///path and file://localhost/path name a file", authority)
		}
		s = "/" + path
	}
	path, err := url.PathUnescape(s)
	if err != nil {
		return "", newError("open", ErrMisuse, "path %q: %w", s, err)
	}
	if strings.ContainsRune(path, 0) {
		return "", newError("open", ErrMisuse, "path %q holds a NUL", s)
	}
	if len(path) > 2 && path[0] == '/' && filepath.VolumeName(path[1:]) != "" {
		path = path[1:] // file:///C:/dir
	}
	return path, nil
}

// parseQuery reads the pairs behind the "?".
func (c *Config) parseQuery(query string) error {
	seen := map[string]spelling{} // by key of ours
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, err := url.PathUnescape(rawName)
		if err != nil {
			return newError("open", ErrMisuse, "key %q: %w", rawName, err)
		}
		value, err := url.PathUnescape(rawValue)
		if err != nil {
			return newError("open", ErrMisuse, "value of key %s: %w", name, err)
		}
		given := spelling{name: name, text: name + "=" + value}
		key, value, err := translate(name, value)
		if err != nil {
			return err
		}
		if key == "" {
			continue
		}
		if first, ok := seen[key]; ok {
			if key == "sync" && (first.name != key || name != key) {
				// A DSN that serves other drivers, too, says it for each of them.
				if first.value == value {
					continue
				}
				return newError("open", ErrMisuse, "%s and %s contradict each other: leave one out", first.text, given.text)
			}
			if first.name == name {
				return newError("open", ErrMisuse, "key %s is given twice", name)
			}
			return newError("open", ErrMisuse, "key %s is given twice, as %s and as %s", key, first.name, name)
		}
		given.value = value
		seen[key] = given
		if err := c.setKey(key, value); err != nil {
			return err
		}
	}
	return nil
}

// spelling is how a DSN gave a key.
type spelling struct {
	name, text string // the key and the pair as they were written
	value      string // in our words
}

// setKey sets one field from the text of its key.
func (c *Config) setKey(name, value string) error {
	k, ok := findKey(name)
	switch {
	case name == "path":
		return newError("open", ErrMisuse, "key path is not legal in a DSN: the path stands before the ?")
	case !ok:
		e := newError("open", ErrMisuse, "unknown key %s: the keys are %s", name, keyNames())
		e.Hint = "a ? that belongs to the path is written %3F, in the form file:path"
		return e
	}
	if err := k.check(k, value); err != nil {
		return err
	}
	return k.set(c, value)
}
