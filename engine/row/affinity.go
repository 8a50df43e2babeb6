package row

// Affinity is the type a column prefers, by SQLite's letters.
type Affinity uint8

// The affinities. AffBlob is also called NONE: it changes nothing.
const (
	AffBlob    Affinity = 'A'
	AffText    Affinity = 'B'
	AffNumeric Affinity = 'C'
	AffInteger Affinity = 'D'
	AffReal    Affinity = 'E'
)

// String returns the affinity's name.
func (a Affinity) String() string {
	switch a {
	case AffText:
		return "TEXT"
	case AffNumeric:
		return "NUMERIC"
	case AffInteger:
		return "INTEGER"
	case AffReal:
		return "REAL"
	}
	return "BLOB"
}

// AffinityOf returns the affinity of a column declared with that type, "" for
// none. The first of these that holds decides: INT anywhere is INTEGER; CHAR,
// CLOB or TEXT is TEXT; BLOB or no type is BLOB; REAL, FLOA or DOUB is REAL;
// everything else is NUMERIC.
func AffinityOf(declType string) Affinity {
	if declType == "" {
		return AffBlob
	}
	aff := AffNumeric
	var h uint32 // the last four characters
	for i := range len(declType) {
		h = h<<8 | uint32(lower[declType[i]])
		switch {
		case h == 'c'<<24|'h'<<16|'a'<<8|'r', h == 'c'<<24|'l'<<16|'o'<<8|'b', h == 't'<<24|'e'<<16|'x'<<8|'t':
			aff = AffText
		case h == 'b'<<24|'l'<<16|'o'<<8|'b':
			if aff == AffNumeric || aff == AffReal {
				aff = AffBlob
			}
		case h == 'r'<<24|'e'<<16|'a'<<8|'l', h == 'f'<<24|'l'<<16|'o'<<8|'a', h == 'd'<<24|'o'<<16|'u'<<8|'b':
			if aff == AffNumeric {
				aff = AffReal
			}
		case h&0xffffff == 'i'<<16|'n'<<8|'t':
			return AffInteger
		}
	}
	return aff
}

// Apply returns v as a column of affinity a stores it. A text becomes a number
// when the whole of it reads as one; INTEGER and NUMERIC turn a REAL that is a
// whole number of less than 64 bits into an INTEGER; REAL turns INTEGERs into
// REALs; TEXT turns numbers into text. NULL and BLOB pass everywhere.
func (a Affinity) Apply(v Value) Value {
	switch a {
	case AffText:
		if v.kind == Int || v.kind == Real {
			return TextValue(numberText(v))
		}
	case AffNumeric, AffInteger:
		switch v.kind {
		case Text:
			return wholeToInt(textToNumber(v))
		case Real:
			return wholeToInt(v)
		}
	case AffReal:
		switch v.kind {
		case Int:
			return RealValue(float64(v.Int()))
		case Text:
			// By way of the integer, as SQLite goes: '-0' and '-0.0' lose the sign.
			if v = wholeToInt(textToNumber(v)); v.kind == Int {
				return RealValue(float64(v.Int()))
			}
		case Real:
			return RealValue(v.Real() + 0) // -0.0 is stored as 0.0
		}
	}
	return v
}

// ForCompare returns v, the other operand of a comparison with a column of
// affinity a, as SQLite compares it: numeric affinities read a text that is a
// number, TEXT turns a number into text. It does not turn an INTEGER into a
// REAL, since the two compare exactly. v must have no affinity of its own (a
// literal, a parameter, an expression).
func (a Affinity) ForCompare(v Value) Value {
	switch a {
	case AffText:
		if v.kind == Int || v.kind == Real {
			return TextValue(numberText(v))
		}
	case AffNumeric, AffInteger, AffReal:
		if v.kind == Text {
			return textToNumber(v)
		}
	}
	return v
}

// wholeToInt turns a REAL into the INTEGER it equals, except for the two at
// the ends of the range, which SQLite leaves alone.
func wholeToInt(v Value) Value {
	if v.kind != Real {
		return v
	}
	// The bounds are SQLite's: the largest double below 2^63 in absolute value.
	const limit = 9223372036854774784
	r := v.Real()
	if r < -limit || r > limit {
		return v
	}
	if i := int64(r); float64(i) == r {
		return IntValue(i)
	}
	return v
}
