package file

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"
)

// errDamaged is the error of a file whose parts contradict each other.
var errDamaged = errors.New("the file is damaged")

// guard turns a panic of a decoder (an index that is out of range, because a damaged
// file points outside of itself) into an error.
func guard(err *error) {
	switch p := recover().(type) {
	case nil:
	case error:
		*err = fmt.Errorf("%w: %w", errDamaged, p)
	default:
		*err = fmt.Errorf("%w: %v", errDamaged, p)
	}
}

func appendFloat(dst []byte, v float64, bits int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(dst, "null"...)
	}
	form := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		form = 'e'
	}
	return strconv.AppendFloat(dst, v, form, -1, bits)
}

func appendBinary(dst, v []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, v)
	return append(dst, '"')
}

func appendTime(dst []byte, t time.Time) []byte {
	dst = append(dst, '"')
	dst = t.AppendFormat(dst, time.RFC3339Nano)
	return append(dst, '"')
}

func appendDate(dst []byte, days int64) []byte {
	dst = append(dst, '"')
	dst = time.Unix(days*86400, 0).UTC().AppendFormat(dst, time.DateOnly)
	return append(dst, '"')
}

// appendDecimal appends unscaled × 10^-scale.
func appendDecimal(dst []byte, unscaled *big.Int, scale int) []byte {
	if scale <= 0 {
		dst = unscaled.Append(dst, 10)
		for range min(-scale, maxScale) {
			dst = append(dst, '0')
		}
		return dst
	}
	return append(dst, new(big.Rat).SetFrac(unscaled, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(min(scale, maxScale))), nil)).FloatString(min(scale, maxScale))...)
}

// maxScale is above the largest scale of a decimal of 256 bits.
const maxScale = 80

// bigEndian returns the two's complement number of a value in big-endian order.
func bigEndian(v []byte) *big.Int {
	n := new(big.Int).SetBytes(v)
	if len(v) > 0 && v[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(len(v))*8))
	}
	return n
}

// half returns the value of an IEEE 754 binary16 number.
func half(b uint16) float64 {
	sign, exponent, fraction := 1-2*float64(b>>15), int(b>>10&31), float64(b&1023)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		return math.NaN() // infinities too: JSON has neither
	}
	return sign * math.Ldexp(fraction+1024, exponent-25)
}
