package row

import (
	"math"
	"math/bits"
)

// The conversions between doubles and decimals follow SQLite's own arithmetic
// (96-bit powers of ten), step for step, and not strconv: SQLite's results are
// not always the nearest double, and a store that rounds differently would
// disagree with the SQLite that evaluates expressions above it.

// powersBase holds 10^0 to 10^26, shifted so that the high bit is set.
var powersBase = [27]uint64{
	0x8000000000000000, 0xa000000000000000, 0xc800000000000000,
	0xfa00000000000000, 0x9c40000000000000, 0xc350000000000000,
	0xf424000000000000, 0x9896800000000000, 0xbebc200000000000,
	0xee6b280000000000, 0x9502f90000000000, 0xba43b74000000000,
	0xe8d4a51000000000, 0x9184e72a00000000, 0xb5e620f480000000,
	0xe35fa931a0000000, 0x8e1bc9bf04000000, 0xb1a2bc2ec5000000,
	0xde0b6b3a76400000, 0x8ac7230489e80000, 0xad78ebc5ac620000,
	0xd8d726b7177a8000, 0x878678326eac9000, 0xa968163f0a57b400,
	0xd3c21bcecceda100, 0x84595161401484a0, 0xa56fa5b99019a5c8,
}

// powersScale holds 10^(27*(i-13)), of which 10^0 (unused) gives its place to
// 10^-1; powersScaleLow are the next 32 bits.
var powersScale = [26]uint64{
	0x8049a4ac0c5811ae, 0xcf42894a5dce35ea, 0xa76c582338ed2621,
	0x873e4f75e2224e68, 0xda7f5bf590966848, 0xb080392cc4349dec,
	0x8e938662882af53e, 0xe65829b3046b0afa, 0xba121a4650e4ddeb,
	0x964e858c91ba2655, 0xf2d56790ab41c2a2, 0xc428d05aa4751e4c,
	0x9e74d1b791e07e48, 0xcccccccccccccccc, 0xcecb8f27f4200f3a,
	0xa70c3c40a64e6c51, 0x86f0ac99b4e8dafd, 0xda01ee641a708de9,
	0xb01ae745b101e9e4, 0x8e41ade9fbebc27d, 0xe5d3ef282a242e81,
	0xb9a74a0637ce2ee1, 0x95f83d0a1fb69cd9, 0xf24a01a73cf2dccf,
	0xc3b8358109e84f07, 0x9e19db92b4e31ba9,
}

var powersScaleLow = [26]uint32{
	0x205b896d, 0x52064cad, 0xaf2af2b8, 0x5a7744a7, 0xaf39a475, 0xbd8d794e,
	0x547eb47b, 0x0cb4a5a3, 0x92f34d62, 0x3a6a07f9, 0xfae27299, 0xaa97e14c,
	0x775ea265, 0xcccccccc, 0x00000000, 0x999090b6, 0x69a028bb, 0xe80e6f48,
	0x5ec05dd0, 0x14588f14, 0x8f1668c9, 0x6d953e2c, 0x4abdaf10, 0xbc633b39,
	0x0a862f81, 0x6c07a2c2,
}

// powerOfTen returns the 96 leading bits of 10^p, -348 <= p <= 347.
func powerOfTen(p int) (hi uint64, lo uint32) {
	var g, n int
	switch {
	case p == -1:
		return powersScale[13], powersScaleLow[13]
	case p < 0:
		g, n = p/27, p%27
		if n != 0 {
			g--
			n += 27
		}
	case p < 27:
		return powersBase[p], 0
	default:
		g, n = p/27, p%27
	}
	s, sl := powersScale[g+13], powersScaleLow[g+13]
	if n == 0 {
		return s, sl
	}
	x, lo := multiply160(s, sl, powersBase[n])
	if x>>63 == 0 {
		x = x<<1 | uint64(lo>>31)
		lo = lo<<1 | 1
	}
	return x, lo
}

// multiply160 returns the 96 high bits of (a, alow) * b.
func multiply160(a uint64, alow uint32, b uint64) (uint64, uint32) {
	x2, x1, x0 := a>>32, a&math.MaxUint32, uint64(alow)
	y1, y0 := b>>32, b&math.MaxUint32
	x2y1, x2y0 := x2*y1, x2*y0
	x1y1, x1y0 := x1*y1, x1*y0
	x0y1, x0y0 := x0*y1, x0*y0
	r4 := x2y1 >> 32
	r3 := x2y1&math.MaxUint32 + x2y0>>32 + x1y1>>32
	r2 := x2y0&math.MaxUint32 + x1y1&math.MaxUint32 + x1y0>>32 + x0y1>>32
	r1 := x1y0&math.MaxUint32 + x0y1&math.MaxUint32 + x0y0>>32
	r2 += r1 >> 32
	r3 += r2 >> 32
	return r4<<32 + r3, uint32(r2)
}

// pow10to2 and pow2to10 give the exponent to the other base, rounded down.
func pow10to2(p int) int { return p * 108853 >> 15 }
func pow2to10(p int) int { return p * 78913 >> 18 }

// decimalToReal returns d * 10^p, d not 0.
func decimalToReal(d uint64, p int) float64 {
	if p < -348 {
		return 0
	}
	if p > 347 {
		return math.Inf(1)
	}
	b := 64 - bits.LeadingZeros64(d)
	lp := pow10to2(p)
	e := 53 - b - lp
	if e > 1074 {
		if e >= 1130 {
			return 0
		}
		e = 1074
	}
	s := uint(-(e - (64 - b) + lp + 3))
	ph, pl := powerOfTen(p)
	if pl != 0 {
		ph++
		pl = ^pl
	}
	x := d << (64 - b)
	hi, lo := bits.Mul64(x, ph)
	mid1 := uint32(lo >> 32)
	sticky := uint64(1)
	if hi&(1<<s-1) == 0 {
		h, _ := bits.Mul64(x, uint64(pl)<<32)
		mid2 := uint32(h >> 32)
		sticky = 0
		if mid1-mid2 > 1 {
			sticky = 1
		}
		if mid1 < mid2 {
			hi--
		}
	}
	u := hi>>s | sticky
	if u >= 1<<55-2 {
		u = u>>1 | u&1
		e--
	}
	m := (u + 1 + u>>2&1) >> 2
	if e <= -972 {
		return math.Inf(1)
	}
	if m&(1<<52) != 0 {
		m = m&^(1<<52) | uint64(1075-e)<<52
	}
	return math.Float64frombits(m)
}

// realToDecimal returns d and p with about n (at most 18) digits in d, so that
// m * 2^e is d * 10^p. The high bit of m is set.
func realToDecimal(m uint64, e, n int) (d uint64, p int) {
	p = n - 1 - pow2to10(e+63)
	ph, _ := powerOfTen(p)
	h, _ := bits.Mul64(m, ph)
	if n == 18 {
		h >>= uint(-(e + pow10to2(p) + 2))
		return (h + h<<1&2) >> 1, -p
	}
	return h >> uint(-(e + pow10to2(p) + 1)), -p
}
