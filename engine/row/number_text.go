package row

import (
	"math"
	"strconv"
)

// numberText returns the text of an INTEGER or REAL, as a TEXT column stores
// it and CAST AS TEXT gives it.
func numberText(v Value) string {
	if v.kind == Int {
		return strconv.FormatInt(v.Int(), 10)
	}
	var buf [40]byte
	return string(appendReal(buf[:0], v.Real()))
}

// appendReal appends r as SQLite's "%!.17g" prints it: 17 significant digits,
// fewer when fewer read back as the same number, always with a point.
func appendReal(dst []byte, r float64) []byte {
	if r < 0 {
		dst = append(dst, '-')
		r = -r
	}
	if math.IsInf(r, 1) {
		return append(dst, "Inf"...)
	}
	var buf [24]byte
	digits, point := realDigits(&buf, r)
	exp := point - 1
	if exp < -4 || exp > 16 {
		return appendExponent(dst, digits, exp)
	}
	switch {
	case point <= 0:
		dst = append(dst, '0', '.')
		for range -point {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	case point >= len(digits):
		dst = append(dst, digits...)
		for range point - len(digits) {
			dst = append(dst, '0')
		}
		return append(dst, '.', '0')
	}
	dst = append(dst, digits[:point]...)
	dst = append(dst, '.')
	return append(dst, digits[point:]...)
}

func appendExponent(dst, digits []byte, exp int) []byte {
	dst = append(dst, digits[0], '.')
	if len(digits) > 1 {
		dst = append(dst, digits[1:]...)
	} else {
		dst = append(dst, '0')
	}
	sign := byte('+')
	if exp < 0 {
		sign, exp = '-', -exp
	}
	dst = append(dst, 'e', sign)
	if exp >= 100 {
		dst = append(dst, byte('0'+exp/100))
		exp %= 100
	}
	return append(dst, byte('0'+exp/10), byte('0'+exp%10))
}

// realDigits returns the significant digits of r >= 0, without trailing
// zeros, and the place of the decimal point among them. The digits lie in buf.
func realDigits(buf *[24]byte, r float64) (digits []byte, point int) {
	if r == 0 {
		buf[0] = '0'
		return buf[:1], 1
	}
	const round = 17
	m := math.Float64bits(r)
	e := int(m >> 52)
	m &= 1<<52 - 1
	if e == 0 {
		for e = -1074; m>>63 == 0; e-- {
			m <<= 1
		}
	} else {
		m = m<<11 | 1<<63
		e -= 1086
	}
	d, p := realToDecimal(m, e, 18)
	i := len(buf)
	for ; d != 0; d /= 10 {
		i--
		buf[i] = byte('0' + d%10)
	}
	n := len(buf) - i
	point = n + p
	if n > round {
		keep := shorten(buf[i:], r, p, point)
		z := buf[i : i+n]
		n = keep
		if z[keep] >= '5' {
			j := keep - 1
			for {
				z[j]++
				if z[j] <= '9' {
					break
				}
				z[j] = '0'
				if j == 0 {
					i--
					buf[i] = '1'
					n++
					point++
					break
				}
				j--
			}
		}
	}
	digits = buf[i : i+n]
	for len(digits) > 1 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	return digits, point
}

// shorten says how many of the digits z * 10^p to keep: 17, unless the last of
// those are nines or zeros and the number rounded before them is still r. So
// 49.47 does not read as 49.469999999999999.
func shorten(z []byte, r float64, p, point int) int {
	const round = 17
	n := len(z)
	head := func(j int) (v uint64) {
		for _, c := range z[:j] {
			v = v*10 + uint64(c-'0')
		}
		return v
	}
	switch {
	case z[15] == '9' && z[14] == '9':
		j := 14
		for j > 0 && z[j-1] == '9' {
			j--
		}
		if r == decimalToReal(head(j)+1, p+n-j) {
			return j + 1
		}
	case point >= n || z[15] == '0' && z[14] == '0' && z[13] == '0':
		j := 13
		for z[j-1] == '0' {
			j--
		}
		if r == decimalToReal(head(j), p+n-j) {
			return j + 1
		}
	}
	return round
}
