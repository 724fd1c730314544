package policy

import "bytes"

// decimal is a JSON number, kept as text and compared exactly: nothing is
// rounded, and an exponent of any size costs nothing.
type decimal struct {
	sign   int    // -1, 0 or 1
	point  int64  // the value is 0.digits times ten to the power of point
	digits []byte // from the first that is not 0; a point inside is skipped
}

// farExponent is beyond every exponent that a bundle may have.
const farExponent = 1_000_000_000_000

// parseDecimal reads the text of a JSON number.
func parseDecimal(text []byte) decimal {
	d := decimal{sign: 1}
	if text[0] == '-' {
		d.sign, text = -1, text[1:]
	}
	mantissa, exponent := text, []byte(nil)
	if e := bytes.IndexAny(text, "eE"); e >= 0 {
		mantissa, exponent = text[:e], text[e+1:]
	}
	first := bytes.IndexAny(mantissa, "123456789")
	if first < 0 {
		return decimal{}
	}
	d.digits = mantissa[first:]
	point := bytes.IndexByte(mantissa, '.')
	switch {
	case point < 0:
		d.point = int64(len(mantissa) - first)
	case first < point:
		d.point = int64(point - first)
	default:
		d.point = int64(point - first + 1)
	}
	d.point += parseExponent(exponent)
	return d
}

// parseExponent reads an exponent; what is beyond farExponent stops there.
func parseExponent(text []byte) int64 {
	digits := bytes.TrimLeft(text, "+-")
	var e int64
	for i := 0; i < len(digits) && e < farExponent; i++ {
		e = 10*e + int64(digits[i]-'0')
	}
	e = min(e, farExponent)
	if len(text) > 0 && text[0] == '-' {
		return -e
	}
	return e
}

// compare is negative when d is below e, 0 when both are equal.
func (d decimal) compare(e decimal) int {
	switch {
	case d.sign != e.sign:
		return d.sign - e.sign
	case d.point < e.point:
		return -d.sign
	case d.point > e.point:
		return d.sign
	}
	return d.sign * compareDigits(d.digits, e.digits)
}

// compareDigits compares two fractions; the shorter one goes on with zeros.
func compareDigits(x, y []byte) int {
	for len(x) > 0 || len(y) > 0 {
		var a, b byte
		a, x = nextDigit(x)
		b, y = nextDigit(y)
		if a != b {
			return int(a) - int(b)
		}
	}
	return 0
}

func nextDigit(s []byte) (byte, []byte) {
	if len(s) > 0 && s[0] == '.' {
		s = s[1:]
	}
	if len(s) == 0 {
		return '0', nil
	}
	return s[0], s[1:]
}
