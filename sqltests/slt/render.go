package slt

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Render writes one value the way a script expects it in a column of type 'T', 'I' or 'R'. A value of
// another class is converted as SQLite's column accessors convert it.
func Render(v any, typ byte) string {
	if v == nil {
		return "NULL"
	}
	switch typ {
	case 'I':
		return strconv.FormatInt(toInt(v), 10)
	case 'R':
		return fixed3(toFloat(v))
	}
	s := toText(v)
	if s == "" {
		return "(empty)"
	}
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if b[i] < ' ' || b[i] > '~' {
					b[i] = '@'
				}
			}
			return string(b)
		}
	}
	return s
}

func toInt(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	case float64:
		switch {
		case v >= math.MaxInt64:
			return math.MaxInt64
		case v <= math.MinInt64:
			return math.MinInt64
		}
		return int64(v)
	}
	s := strings.TrimLeft(toText(v), " \t\n\r\f\v")
	i := 0
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	n, _ := strconv.ParseInt(s[:i], 10, 64) // saturates
	return n
}

func toFloat(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	case bool:
		return float64(toInt(v))
	}
	s := strings.TrimLeft(toText(v), " \t\n\r\f\v")
	for i := len(s); i > 0; i-- { // longest numeric prefix
		c := s[i-1]
		if (c >= '0' && c <= '9') || c == '.' {
			if f, err := strconv.ParseFloat(s[:i], 64); err == nil || math.IsInf(f, 0) {
				return f
			}
		}
	}
	return 0
}

func fixed3(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "Inf"
	case math.IsInf(f, -1):
		return "-Inf"
	}
	if f == 0 {
		return "0.000"
	}
	if math.Abs(f) < 1e13 {
		return strconv.FormatFloat(f, 'f', 3, 64)
	}
	// SQLite's printf gives 16 significant digits and zeros after them.
	s := strconv.FormatFloat(f, 'e', 15, 64)
	e := strings.IndexByte(s, 'e')
	exp, _ := strconv.Atoi(s[e+1:])
	neg := ""
	if s[0] == '-' {
		neg, s, e = "-", s[1:], e-1
	}
	digits := s[:1] + s[2:e] // 16 of them; the point comes after exp+1
	for len(digits) < exp+1+3 {
		digits += "0"
	}
	return neg + digits[:exp+1] + "." + digits[exp+1:exp+4]
}

func toText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case bool:
		return strconv.FormatInt(toInt(v), 10)
	case float64:
		return realText(v)
	case time.Time:
		return v.Format("2006-01-02 15:04:05")
	}
	return fmt.Sprint(v)
}

// realText writes f as SQLite converts a REAL to TEXT: 15 significant digits, always with a point.
func realText(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "Inf"
	case math.IsInf(f, -1):
		return "-Inf"
	case f == 0:
		return "0.0"
	}
	s := strconv.FormatFloat(f, 'e', 14, 64)
	e := strings.IndexByte(s, 'e')
	mant, exps := s[:e], s[e+1:]
	exp, _ := strconv.Atoi(exps)
	if exp < -4 || exp >= 15 {
		mant = strings.TrimRight(mant, "0")
		if strings.HasSuffix(mant, ".") {
			mant += "0"
		}
		sign := "+"
		if exp < 0 {
			sign, exp = "-", -exp
		}
		return fmt.Sprintf("%se%s%02d", mant, sign, exp)
	}
	s = strconv.FormatFloat(f, 'f', 14-exp, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(s, "0")
	} else {
		s += "."
	}
	if strings.HasSuffix(s, ".") {
		s += "0"
	}
	return s
}
