package main

import (
	"context"
	"slices"
	"strings"
)

// nameCache holds the names a user may want to complete, until the schema
// changes.
type nameCache struct {
	known bool
	names []string
}

func (c *nameCache) forget() { *c = nameCache{} }

// complete returns what a line may become. An editor cannot show an error here:
// names that cannot be read are left out.
func (s *shell) complete(ctx context.Context, line string) []string {
	if !s.names.known {
		names, err := s.schemaNames(ctx, `type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'`)
		if err == nil {
			columns, err := s.column(ctx, `SELECT DISTINCT c.name FROM pragma_table_list AS t, pragma_table_xinfo(t.name, t.schema) AS c
				WHERE t.schema <> 'catalog' AND t.name NOT LIKE 'sqlite!_%' ESCAPE '!'`)
			if err == nil {
				s.names.known = true
				for _, n := range names {
					s.names.names = append(s.names.names, n.name)
				}
				s.names.names = append(s.names.names, columns...)
			}
		}
	}
	return completions(line, s.names.names)
}

// completions completes the last word of a line: a dot command at its beginning,
// else a name or a keyword in the case it was begun in. Names come first.
func completions(line string, names []string) (lines []string) {
	if strings.HasPrefix(line, ".") && !strings.Contains(line, " ") {
		for _, c := range dotCommands() {
			if strings.HasPrefix(c.name, line) {
				lines = append(lines, c.name)
			}
		}
		return lines
	}
	start := len(line)
	for start > 0 && isWordByte(line[start-1]) {
		start--
	}
	word, head := line[start:], line[:start]
	quoted := false
	if n := strings.LastIndexByte(head, '"'); n >= 0 && strings.Count(head, `"`)%2 == 1 {
		// Within a quoted name the word begins at the quote.
		word, head, quoted = line[n+1:], line[:n], true
	}
	if word == "" && !quoted {
		return nil
	}
	add := func(text string) {
		if full := head + text; !slices.Contains(lines, full) {
			lines = append(lines, full)
		}
	}
	for _, name := range names {
		if len(name) >= len(word) && strings.EqualFold(name[:len(word)], word) {
			if quoted {
				add(quoteName(name))
			} else {
				add(nameText(name))
			}
		}
	}
	if quoted || strings.HasPrefix(line, ".") {
		return lines
	}
	for _, k := range sqlKeywords {
		if strings.HasPrefix(k, strings.ToUpper(word)) {
			if word == strings.ToLower(word) {
				k = strings.ToLower(k)
			}
			add(k)
		}
	}
	return lines
}
