package row

import (
	"database/sql"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
)

var seed = flag.Uint64("seed", 1, "seed of the random values")

// newRand returns a generator that a failed test can be repeated with.
func newRand(t testing.TB) *rand.Rand {
	t.Helper()
	t.Logf("seed %d", *seed)
	return rand.New(rand.NewPCG(*seed, 0x7469646d))
}

// openOracle opens a private SQLite.
func openOracle(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func exec(t testing.TB, db *sql.DB, text string, args ...any) {
	t.Helper()
	if _, err := db.Exec(text, args...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// toArg and fromColumn carry values to and from database/sql.
func toArg(v Value) any {
	switch v.Kind() {
	case Int:
		return v.Int()
	case Real:
		return v.Real()
	case Text:
		return v.Bytes()
	case Blob:
		return []byte(v.Bytes())
	}
	return nil
}

func fromColumn(t testing.TB, x any) Value {
	t.Helper()
	switch x := x.(type) {
	case nil:
		return Value{}
	case int64:
		return IntValue(x)
	case float64:
		return RealValue(x)
	case string:
		return TextValue(x)
	case []byte:
		return BlobValue(string(x))
	}
	t.Fatalf("unexpected %T", x)
	return Value{}
}

// identical is bit equality.
func identical(a, b Value) bool { return a == b }

func show(v Value) string {
	switch v.Kind() {
	case Int:
		return fmt.Sprintf("INTEGER %d", v.Int())
	case Real:
		return fmt.Sprintf("REAL %s (%x)", strconv.FormatFloat(v.Real(), 'g', -1, 64), math.Float64bits(v.Real()))
	case Text:
		return fmt.Sprintf("TEXT %q", v.Bytes())
	case Blob:
		return fmt.Sprintf("BLOB %x", v.Bytes())
	}
	return "NULL"
}

var hardInts = []int64{
	0, 1, -1, 2, 5, 9, 10, 99, 100, 127, 128, -128, -129, 255, 256, 32767, 32768, -32768, -32769,
	1<<23 - 1, 1 << 23, -1 << 23, -1<<23 - 1, 1<<31 - 1, 1 << 31, -1 << 31, -1<<31 - 1,
	1<<47 - 1, 1 << 47, -1 << 47, -1<<47 - 1, 1<<51 - 1, 1 << 51, -1 << 51, 1<<51 + 1,
	1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<53 + 2, -1 << 53, -1<<53 - 1, -1<<53 - 2, 1<<54 + 1, 1<<54 + 2, 1<<54 + 3,
	1<<62 - 1, 1 << 62, 1<<62 + 1, math.MaxInt64 - 1024, math.MaxInt64 - 512, math.MaxInt64 - 511,
	math.MaxInt64 - 1, math.MaxInt64, math.MinInt64, math.MinInt64 + 1, math.MinInt64 + 511,
	math.MinInt64 + 512, math.MinInt64 + 1024, 9223372036854774784, 9223372036854774785, -9223372036854774784,
	999999999999999999, 1000000000000000000, 123456789012345678,
}

var hardReals = []float64{
	0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, 5, 0.1, 0.2, 0.3, 0.1 + 0.2, 49.47, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21,
	123456789012345.0, 1234567890123456, 12345678901234567, 99999999999999990, 999999999999999900,
	9007199254740991, 9007199254740992, 9007199254740994, -9007199254740992, -9007199254740994, 18014398509481984,
	9223372036854774784, 9223372036854775808, -9223372036854774784, -9223372036854775808, 1.8446744073709552e19, -9.3e18,
	1e-4, 1e-5, 0.00012345, 0.000012345, 9.9999e-5, 1e100, 1e-100, 1e99, 1e-99, 1e300, 1e-300, 1e308, math.MaxFloat64, -math.MaxFloat64,
	math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, 2.2250738585072014e-308, 2.225073858507201e-308,
	math.Inf(1), math.Inf(-1), math.Pi, -math.E, 1 / 3.0, 2 / 3.0, 100, 1e2, 4503599627370496.5, 4503599627370497.5,
	0.99999999999999989, 1.0000000000000002, 9.999999999999999e22, 9999999999999998, 99999999999999.99,
	2251799813685247.5, 2251799813685248, 140737488355328, 140737488355329, 5e-324, 1.7976931348623157e308,
}

// numberTexts are texts that look like numbers, or nearly so.
func numberTexts() []string {
	base := []string{
		"", " ", "0", "-0", "+0", "00", "007", "-007", "1", "5", "+5", "-5", "+ 5", "- 5", "--5", "+-5", "0x10", "0X1F", "1_000", "1,000",
		".", "-.", "+.", ".5", "-.5", "+.5", "5.", "-5.", "5.e1", ".e1", ".5e1", "0.0", "-0.0", "1.0", "-1.0", "1.5", "1.50", "0.1", "10.10",
		"1e5", "1E5", "1e+5", "1e-5", "1.0e5", "1e", "1e+", "1e-", "e5", "e", "1e5e", "1e5.5", "1.2.3", "1e05", "1e00000000000000000005",
		"0e999999999999", "1e400", "-1e400", "1e-400", "9e999", "1e347", "1e348", "1e-348", "1e-349", "1e308", "1e309", "1e10000", "1e-10000", "1e99999999999", "1e-99999999999",
		"inf", "Inf", "-Inf", "Infinity", "nan", "NaN", "NULL", "true", "abc", "5abc", "abc5", "5 5", "5\t", "\n5", "\v5\f", "\r5\r", "\u00a05", "5\u00a0",
		"9223372036854775807", "9223372036854775808", "9223372036854775806", "-9223372036854775808", "-9223372036854775809",
		"+9223372036854775807", "09223372036854775807", "00000000000000000000000000000001", "18446744073709551615", "18446744073709551616",
		"99999999999999999999999999999999", "-99999999999999999999999999999999", "9223372036854775807.0", "9223372036854775808.0", "9223372036854774784.0", "9223372036854774785.0", "-9223372036854775808.0", "-9223372036854774784.0",
		"9007199254740993", "9007199254740993.0", "9007199254740992", "-9007199254740993", "2251799813685248", "2251799813685247", "2251799813685249", "-2251799813685248", "-2251799813685249",
		"123456789012345678901234567890", "0.123456789012345678901234567890", "123456789012345678901234567890.123456789",
		"1.7976931348623157e308", "1.7976931348623159e308", "4.9e-324", "2.4e-324", "2.2250738585072011e-308", "49.47", "0.30000000000000004",
		"1844674407370955160", "1844674407370955161", "1844674407370955162", "18446744073709551605", "1844674407370955160.5", "184467440737095516.15",
		"0000000000000000000000000000000000000000.5", "0.00000000000000000000000000000000000000000000000000000000000005",
		"100000000000000000000000000000000000000000000000000000000e-56", "1e22", "1e23", "8.5e22", "123456789e-20",
		"5\x00", "5\x00abc", "\x005", "5.5\x00x", " 5\x00", "5 \x00 ", "9223372036854775807\x00", "9007199254740993\x00x", "1e5\x00", "abc\x00def", "\x00", "5\x80", "\xff", "5\xc3\x28", "\xc0\x80",
	}
	out := append([]string(nil), base...)
	for _, s := range base {
		out = append(out, " "+s, s+" ", "\t "+s+" \n")
	}
	return out
}

func hardValues() []Value {
	vs := []Value{{}}
	for _, i := range hardInts {
		vs = append(vs, IntValue(i))
		vs = append(vs, RealValue(float64(i)), RealValue(math.Nextafter(float64(i), math.Inf(1))), RealValue(math.Nextafter(float64(i), math.Inf(-1))))
	}
	for _, f := range hardReals {
		vs = append(vs, RealValue(f))
	}
	for _, s := range numberTexts() {
		vs = append(vs, TextValue(s))
	}
	for _, s := range []string{"", "\x00", "\x00\x00", "\x00\x01", "\x00\xff", "5", "abc", "ABC", "\xff", "\xff\xff", "a\x00", "a\x00b"} {
		vs = append(vs, BlobValue(s))
	}
	for _, s := range orderTexts {
		vs = append(vs, TextValue(s))
	}
	return vs
}

// orderTexts are texts that collations see differently.
var orderTexts = []string{
	"a", "A", "b", "B", "ab", "aB", "AB", "Ab", "a ", "a  ", "A ", "a b", "a\t", "a \t", " a", "z", "Z", "[", "`", "@", "{", "_", "^",
	"\x00", "\x00\x00", "a\x00", "a\x00b", "a\x00c", "a\x00bc", "A\x00C", "A\x00c ", "a\x00\x00", "ab\x00", "a\x01", "a\xff", "a\x00\xff", "a\x00\x01",
	"ä", "Ä", "é", "É", "\u212a", "k", "K", "ß", "SS", "ﬀ", "İ", "i", "a\u00a0", "日本", "日", "\U0001f600", "\xff", "\xfe", "\x80", "\xc3", "  ", "   ", " \x00", " \x00 ", "\x00 ",
	"abcdefgh", "abcdefgH", "abcdefgh\x00", "abcdefghi", "abcdefg", strings.Repeat("x", 300), strings.Repeat("x", 300) + " ",
}

// randomReal mixes magnitudes, short decimals and random bits.
func randomReal(r *rand.Rand) float64 {
	for {
		var f float64
		switch r.IntN(6) {
		case 0:
			f = math.Float64frombits(r.Uint64())
		case 1:
			f = float64(r.Int64N(2_000_000)-1_000_000) / 100
		case 2:
			f = float64(int64(r.Uint64())) / math.Pow(10, float64(r.IntN(25)))
		case 3:
			f = float64(int64(r.Uint64() >> r.IntN(64)))
		case 4:
			f = r.NormFloat64() * math.Pow(10, float64(r.IntN(40)-20))
		case 5:
			f, _ = strconv.ParseFloat(fmt.Sprintf("%de%d", r.IntN(100000), r.IntN(620)-320), 64)
		}
		if f == f {
			return f
		}
	}
}

func randomNumberText(r *rand.Rand) string {
	switch r.IntN(5) {
	case 0:
		return strconv.FormatInt(int64(r.Uint64()>>r.IntN(64)), 10)
	case 1:
		return strconv.FormatFloat(randomReal(r), "efg"[r.IntN(3)], r.IntN(25)-1, 64)
	case 2:
		digits := func(n int) string {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte('0' + r.IntN(10))
			}
			return string(b)
		}
		s := digits(r.IntN(24))
		if r.IntN(2) == 0 {
			s += "." + digits(r.IntN(24))
		}
		if r.IntN(2) == 0 {
			s += fmt.Sprintf("e%d", r.IntN(700)-350)
		}
		return s
	case 3:
		const letters = "0123456789019.+-eE \t\x00x"
		b := make([]byte, r.IntN(10))
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	return strconv.FormatInt(int64(r.Uint64()), 10) + []string{"0", "00", ".0", "e0", "e-1", " "}[r.IntN(6)]
}

func randomValue(r *rand.Rand) Value {
	switch r.IntN(6) {
	case 0:
		return IntValue(int64(r.Uint64()) >> r.IntN(64))
	case 1, 2:
		return RealValue(randomReal(r))
	case 3, 4:
		return TextValue(randomNumberText(r))
	}
	b := make([]byte, r.IntN(12))
	for i := range b {
		b[i] = "\x00\x01\xff\x7f aA"[r.IntN(7)]
	}
	if r.IntN(2) == 0 {
		return BlobValue(string(b))
	}
	return TextValue(string(b))
}

// sample keeps the NULL, the texts for collations and every step-th of the
// others, which ones depends on the seed.
func sample(vs []Value, step int) (out []Value) {
	step *= slower
	for i, v := range vs {
		if v.IsNull() || i >= len(vs)-len(orderTexts) || i%step == int(*seed)%step {
			out = append(out, v)
		}
	}
	return out
}

// compareAll asks SQLite to compare values pairwise and calls check with each
// result (-1, 0, 1). The query gives, per x, its position and a string of '<',
// '=' and '>' for every y in order, '?' where one is NULL.
func compareAll(t *testing.T, db *sql.DB, n int, query string, check func(x, y, want int)) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	seen := 0
	for rows.Next() {
		var x int
		var results string
		if err := rows.Scan(&x, &results); err != nil {
			t.Fatal(err)
		}
		if len(results) != n {
			t.Fatalf("%d results for %d values", len(results), n)
		}
		for y, c := range results {
			if c != '?' {
				check(x, y, int(c)-'=')
			}
		}
		seen++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if seen != n {
		t.Fatalf("%d rows for %d values", seen, n)
	}
}
