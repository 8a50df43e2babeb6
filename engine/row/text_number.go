package row

import "math"

// textToNumber returns the number that a text is as a whole, or the text. It
// is an INTEGER when it is written as one and fits, else a REAL.
func textToNumber(v Value) Value {
	r, form := parseReal(v.s)
	if form <= 0 {
		return v
	}
	if form&formReal == 0 {
		if i := realToInt(r); r == 0 || (math.Float64bits(float64(i)) == math.Float64bits(r) && -1<<51 <= i && i < 1<<51) {
			return IntValue(i)
		}
		if i, ok := parseInt(v.s); ok {
			return IntValue(i)
		}
	}
	return RealValue(r)
}

// Bits of parseReal's second result.
const (
	formDigits = 1 // there are digits
	formReal   = 2 // a decimal point or an exponent
)

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// parseReal reads a number with white space around it. Like SQLite it reads a
// C string, so a NUL ends the text. form is 0 when no number is there, and
// negative when something else follows it.
func parseReal(s string) (r float64, form int) {
	// at gives the NUL behind the text, which ends every loop below.
	at := func(i int) byte {
		if i < len(s) {
			return s[i]
		}
		return 0
	}
	digit := func(i int) (uint64, bool) {
		c := at(i) - '0'
		return uint64(c), c < 10
	}
	const full = (math.MaxUint64 - 9) / 10 // one more digit might not fit from here on
	var (
		i, d int
		m    uint64 // the number is m * 10^d
		neg  bool
	)
	for isSpace(at(i)) {
		i++
	}
	switch at(i) {
	case '-':
		neg = true
		i++
	case '+':
		i++
	}
	for {
		c, ok := digit(i)
		if !ok {
			break
		}
		form |= formDigits
		m = m*10 + c
		i++
		if m >= full {
			for ; ; i++ {
				if _, ok := digit(i); !ok {
					break
				}
				d++
			}
			break
		}
	}
	if at(i) == '.' {
		i++
		_, ok := digit(i)
		if !ok && form == 0 {
			return 0, 0
		}
		for ok {
			c, _ := digit(i)
			if m < full {
				m = m*10 + c
				d--
			}
			i++
			_, ok = digit(i)
		}
		form = formDigits | formReal
	} else if form == 0 {
		return 0, 0
	}
	if c := at(i); c == 'e' || c == 'E' {
		j, sign := i+1, 1
		switch at(j) {
		case '-':
			sign = -1
			j++
		case '+':
			j++
		}
		if c, ok := digit(j); ok {
			form |= formReal
			exp := 0
			for ; ok; c, ok = digit(j) {
				if exp < 10000 {
					exp = exp*10 + int(c)
				} else {
					exp = 10000
				}
				j++
			}
			d += sign * exp
			i = j
		}
	}
	if m != 0 {
		r = decimalToReal(m, d)
	}
	if neg {
		r = -r
	}
	for isSpace(at(i)) {
		i++
	}
	if at(i) != 0 {
		return r, -form
	}
	return r, form
}

// realToInt cuts r to an integer, within the range.
func realToInt(r float64) int64 {
	const limit = 9223372036854774784 // the largest double below 2^63
	switch {
	case r < -limit:
		return math.MinInt64
	case r > limit:
		return math.MaxInt64
	}
	return int64(r)
}

// parseInt reads an integer with white space around it; false when something
// else is there (a NUL counts here) or it does not fit.
func parseInt(s string) (int64, bool) {
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	for s != "" && isSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	neg := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		s = s[1:]
	}
	if s == "" {
		return 0, false
	}
	limit := uint64(math.MaxInt64)
	if neg {
		limit++
	}
	var u uint64
	for i := range len(s) {
		c := uint64(s[i] - '0')
		if c > 9 || u > limit/10 || u*10+c > limit {
			return 0, false
		}
		u = u*10 + c
	}
	if neg {
		return -int64(u), true
	}
	return int64(u), true
}
