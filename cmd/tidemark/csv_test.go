package main

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
)

// readCSV reads all rows of a text.
func readCSV(t *testing.T, text string, delimiter byte) (rows [][]field, err error) {
	t.Helper()
	r, err := newCSVReader(strings.NewReader(text), delimiter)
	if err != nil {
		t.Fatal(err)
	}
	for {
		row, err := r.record()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows = append(rows, append([]field(nil), row...))
	}
}

func TestCSVReader(t *testing.T) {
	bare := func(s string) field { return field{s, false} }
	quoted := func(s string) field { return field{s, true} }
	for _, tc := range []struct {
		text      string
		delimiter byte
		want      [][]field
	}{
		{"", ',', nil},
		{"a", ',', [][]field{{bare("a")}}},
		{"a,b\n", ',', [][]field{{bare("a"), bare("b")}}},
		{"a,b\r\nc,\r\n", ',', [][]field{{bare("a"), bare("b")}, {bare("c"), bare("")}}},
		{"\xef\xbb\xbfa,b", ',', [][]field{{bare("a"), bare("b")}}},
		{"\xef\xbb\xbf\"a\"", ',', [][]field{{quoted("a")}}},
		{"a;\"b;c\"\n", ';', [][]field{{bare("a"), quoted("b;c")}}},
		{"a\tb\n", '\t', [][]field{{bare("a"), bare("b")}}},
		{"\"a\r\nb\"\"c\",\"\"\r\n", ',', [][]field{{quoted("a\r\nb\"c"), quoted("")}}},
		{"\"\r\"\n", ',', [][]field{{quoted("\r")}}},
		{"a\"b,c", ',', [][]field{{bare("a\"b"), bare("c")}}},
		{"\n\na\n", ',', [][]field{{bare("")}, {bare("")}, {bare("a")}}},
		{"a,b,c\nd\n", ',', [][]field{{bare("a"), bare("b"), bare("c")}, {bare("d")}}},
		{"a\x00b\n", ',', [][]field{{bare("a\x00b")}}},
		{"\"a\"", ',', [][]field{{quoted("a")}}},
	} {
		got, err := readCSV(t, tc.text, tc.delimiter)
		if err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%q: %v, %v, want %v", tc.text, got, err, tc.want)
		}
	}
	for text, want := range map[string]string{
		"a\n\"b\nc":          "line 2: a quoted field is not closed",
		"\"a\"b":             "line 1: text follows",
		"x\n\n\"a\" ,b":      "line 3: text follows",
		"x\n\"a\"\rb":        "line 2: text follows",
		"\"a\nb\",\"c\"d\n,": "line 2: text follows",
	} {
		var bad *csvError
		if _, err := readCSV(t, text, ','); !errors.As(err, &bad) || !strings.HasPrefix("line "+bad.place()[1:]+": "+bad.why, want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// What is written is read back as the same values, where the column has no type
// to convert to.
func TestCSVRoundTrip(t *testing.T) {
	values := []any{
		nil, "", "a", "a,b", "it's", `"`, "x'00'", "1", "007", "+5", "1e5", "1.50", "-0.0", "9e999", " ", "\r\n", "é", "\x00", "NULL", "Inf",
		int64(0), int64(math.MinInt64), int64(math.MaxInt64), 0.1, 0.1 + 0.2, 1.0, 1e300, -1e-300, 5e-324, math.Inf(1), math.Inf(-1),
		math.Copysign(0, -1), 123456789012345678.0, []byte{}, []byte{0, 255}, []byte("text"),
	}
	for _, v := range values {
		var b bytes.Buffer
		if err := newCSVWriter(&b).row([]any{v, "end"}); err != nil {
			t.Fatal(err)
		}
		rows, err := readCSV(t, b.String(), ',')
		if err != nil || len(rows) != 1 || len(rows[0]) != 2 {
			t.Fatalf("%#v: %q is read as %v, %v", v, b.String(), rows, err)
		}
		got := rows[0][0].value(affinityBlob, "")
		if f, ok := v.(float64); ok {
			g, ok := got.(float64)
			if !ok || math.Float64bits(f) != math.Float64bits(g) {
				t.Errorf("%v: %q is read as %#v", v, b.String(), got)
			}
		} else if !reflect.DeepEqual(got, v) {
			t.Errorf("%#v: %q is read as %#v", v, b.String(), got)
		}
	}
}

// A guessed type keeps every character of every value.
func TestTypeGuess(t *testing.T) {
	for _, tc := range []struct {
		fields string // separated by spaces; a quoted one is in "…"
		want   string
	}{
		{"", "TEXT"}, {`""`, "TEXT"},
		{"1 2 -3", "INTEGER"}, {"0", "INTEGER"}, {`"5" 6`, "INTEGER"},
		{"9223372036854775807 -9223372036854775808", "INTEGER"},
		{"9223372036854775808", "TEXT"}, {"123456789012345678901234567890", "TEXT"},
		{"007", "TEXT"}, {"+5", "TEXT"}, {"-0", "TEXT"}, {"00", "TEXT"}, {"1_000", "TEXT"}, {"0x10", "TEXT"},
		{"1e5", "TEXT"}, {"1.0e+100", "REAL"}, {"1.5 2.25 -0.1", "REAL"}, {"1.0", "REAL"}, {"1.50", "TEXT"}, {"1.", "TEXT"}, {".5", "TEXT"},
		{"0.30000000000000004", "REAL"}, {"0.1000000000000000055", "TEXT"}, {"1 1.5", "TEXT"}, {"9e999", "REAL"},
		{"Inf", "TEXT"}, {"NaN", "TEXT"}, {"0x1p-2", "TEXT"}, {"infinity", "TEXT"},
		{"x'00' X'ff'", "BLOB"}, {"x'00' 1", "TEXT"}, {`"x'00'"`, "TEXT"}, {"x'0'", "TEXT"},
		{"1 a", "TEXT"}, {"a", "TEXT"}, {"2024-01-01", "TEXT"},
	} {
		var g typeGuess
		for f := range strings.FieldsSeq(tc.fields) {
			text, quoted := strings.CutPrefix(f, `"`)
			g.add(field{strings.TrimSuffix(text, `"`), quoted}, "")
		}
		g.add(field{"", false}, "") // NULL says nothing
		if got := g.declared(); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.fields, got, tc.want)
		}
	}
}

// A column of a known type takes numbers as numbers and text as text.
func TestFieldValue(t *testing.T) {
	for _, tc := range []struct {
		f        field
		declared string
		null     string
		want     any
	}{
		{field{"", false}, "TEXT", "", nil},
		{field{"", true}, "TEXT", "", ""},
		{field{"", true}, "INTEGER", "", ""},
		{field{"", false}, "TEXT", "NULL", ""},
		{field{"NULL", false}, "INT", "NULL", nil},
		{field{"NULL", true}, "INT", "NULL", "NULL"},
		{field{"007", false}, "TEXT", "", "007"},
		{field{"1.50", false}, "VARCHAR(10)", "", "1.50"},
		{field{"12", false}, "TEXT", "", "12"},
		{field{"12", false}, "BIGINT", "", int64(12)},
		{field{"12", false}, "", "", int64(12)},
		{field{"12", true}, "", "", "12"},
		{field{"1.50", false}, "", "", "1.50"},
		{field{"1.5", false}, "", "", 1.5},
		{field{"1.50", false}, "DOUBLE", "", 1.5},
		{field{"1.50", false}, "DECIMAL(5,2)", "", 1.5},
		{field{"x'6162'", false}, "TEXT", "", []byte("ab")},
		{field{"abc", false}, "REAL", "", "abc"},
	} {
		if got := tc.f.value(affinityOf(tc.declared, false), tc.null); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%+v in a column %s: %#v, want %#v", tc.f, tc.declared, got, tc.want)
		}
	}
}

// Any text and any blob comes back as it was, beside its neighbour.
func FuzzCSV(f *testing.F) {
	f.Add("a", "b", []byte{0})
	f.Add("", "\"\r\n,", []byte{})
	f.Add("x'00'", "1e5", []byte("x"))
	f.Fuzz(func(t *testing.T, a, b string, c []byte) {
		if c == nil {
			c = []byte{}
		}
		var text bytes.Buffer
		w := newCSVWriter(&text)
		if err := w.header([]string{"n", a, b}); err != nil {
			t.Fatal(err)
		}
		if err := w.row([]any{a, b, c}); err != nil {
			t.Fatal(err)
		}
		rows, err := readCSV(t, text.String(), ',')
		if err != nil || len(rows) != 2 || len(rows[0]) != 3 || len(rows[1]) != 3 || rows[0][1].text != a || rows[0][2].text != b {
			t.Fatalf("%q is read as %v, %v", text.String(), rows, err)
		}
		for i, want := range []any{a, b, c} {
			if got := rows[1][i].value(affinityBlob, ""); !reflect.DeepEqual(got, want) {
				t.Errorf("%#v: %q is read as %#v", want, text.String(), got)
			}
		}
	})
}
