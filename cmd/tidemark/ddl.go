package main

import "strings"

// sqlToken is a word, a quoted name or text, or one character of a statement.
type sqlToken struct {
	text       string
	start, end int
}

// sqlTokens cuts a statement, leaving out space and comments.
func sqlTokens(src string) (tokens []sqlToken) {
	for i := 0; i < len(src); {
		c, end := src[i], i+1
		switch {
		case c <= ' ':
			i++
			continue
		case strings.HasPrefix(src[i:], "--"):
			i = past(src, i, "\n")
			continue
		case strings.HasPrefix(src[i:], "/*"):
			i = past(src, i+2, "*/")
			continue
		case c == '[':
			end = past(src, i, "]")
		case c == '\'' || c == '"' || c == '`':
			end = past(src, i+1, string(c))
			for end < len(src) && src[end] == c {
				end = past(src, end+1, string(c))
			}
		case isWordByte(c):
			for end < len(src) && isWordByte(src[end]) {
				end++
			}
		}
		tokens = append(tokens, sqlToken{src[i:end], i, end})
		i = end
	}
	return tokens
}

// past returns the position after the next end, from i on.
func past(src string, i int, end string) int {
	if i < len(src) {
		if j := strings.Index(src[i:], end); j >= 0 {
			return i + j + len(end)
		}
	}
	return len(src)
}

// is reports whether a token is a word that is not quoted.
func (t sqlToken) is(word string) bool { return strings.EqualFold(t.text, word) }

// plainDDL turns CREATE VIRTUAL TABLE x USING tidemark(columns, options) into
// the CREATE TABLE that means the same to SQLite, and returns the options, which
// have no meaning there. A table of another module is returned as it is, with
// the module's name.
func plainDDL(ddl string) (plain string, options []string, module string) {
	tokens := sqlTokens(ddl)
	if len(tokens) < 5 || !tokens[0].is("CREATE") || !tokens[1].is("VIRTUAL") {
		return ddl, nil, ""
	}
	name, using := 3, 3
	for using < len(tokens)-1 && !tokens[using].is("USING") {
		using++
	}
	if tokens[3].is("IF") && using > 6 {
		name = 6
	}
	module = tokens[min(using+1, len(tokens)-1)].text
	if !strings.EqualFold(module, "tidemark") || using+2 >= len(tokens) || tokens[using+2].text != "(" {
		return ddl, nil, module
	}
	var columns []string
	depth, first := 0, using+3
	for i := first; i < len(tokens); i++ {
		switch t := tokens[i].text; {
		case t == "(":
			depth++
		case t == ")" && depth > 0:
			depth--
		case (t == "," || t == ")") && depth == 0:
			if arg := tokens[first:i]; len(arg) == 3 && arg[1].text == "=" {
				options = append(options, strings.ToLower(arg[0].text+"="+arg[2].text))
			} else if len(arg) > 0 {
				columns = append(columns, ddl[arg[0].start:arg[len(arg)-1].end])
			}
			first = i + 1
		}
	}
	return "CREATE TABLE " + ddl[tokens[name].start:tokens[using-1].end] + "(" + strings.Join(columns, ", ") + ")", options, ""
}

// lostOptions are the options of a table that an ordinary table does not have:
// those that differ from what every table has.
func lostOptions(options []string) (lost []string) {
	for _, o := range options {
		if o != "durable=true" && o != "resident=all" {
			lost = append(lost, o)
		}
	}
	return lost
}
