package schur

import (
	"math"
)

// size returns the sum of the magnitudes of both parts of x.
func size(x complex128) float64 { return math.Abs(real(x)) + math.Abs(imag(x)) }

// divide overwrites b with scale·b/a, where an a of size less than least counts as least. Scale keeps the quotient from
// exceeding large.
//
// Reference: LAPACK xLALN2.
func divide(b *complex128, a complex128, least, large float64) (scale float64) {
	s := size(a)
	if s < least {
		a, s = complex(least, 0), least
	}
	scale = 1
	if most := size(*b); s < 1 && most > 1 && most > large*s {
		scale = 1 / most
		*b = complex(real(*b)*scale, imag(*b)*scale)
	}
	*b = quotient(*b, a)
	return scale
}

// eliminate overwrites b with scale·A⁻¹·b. Pivots of size less than least count as least; scale is as for divide.
func eliminate(a *[2][2]complex128, b *[2]complex128, least, large float64) (scale float64) {
	row, col, most := 0, 0, -1.0
	for r := range 2 {
		for c := range 2 {
			if s := size(a[r][c]); s > most {
				row, col, most = r, c, s
			}
		}
	}
	if most < least {
		x, y := least, max(size(b[0]), size(b[1]))
		scale = 1
		if x < 1 && y > 1 && y > large*x {
			scale = 1 / y
		}
		for r := range b {
			b[r] = complex(real(b[r])*scale/x, imag(b[r])*scale/x)
		}
		return scale
	}
	pivot, other := a[row][col], a[row][1-col]
	f := quotient(a[1-row][col], pivot)
	last := a[1-row][1-col] - f*other
	b0, b1 := b[row], b[1-row]
	b1 -= f * b0
	if size(last) < least {
		last = complex(least, 0)
	}
	scale = 1
	s := size(last)
	if y := max(size(b1), size(b0)*(s/most)); s < 1 && y > 1 && y >= large*s {
		scale = 1 / y
		b0, b1 = complex(real(b0)*scale, imag(b0)*scale), complex(real(b1)*scale, imag(b1)*scale)
	}
	x1 := quotient(b1, last)
	x0 := quotient(b0, pivot) - quotient(other, pivot)*x1
	b[col], b[1-col] = x0, x1
	return scale
}

// quotient returns a/b, without overflow in between.
func quotient(a, b complex128) complex128 {
	if imag(b) == 0 {
		return complex(real(a)/real(b), imag(a)/real(b))
	}
	if math.Abs(real(b)) >= math.Abs(imag(b)) {
		r := imag(b) / real(b)
		d := real(b) + imag(b)*r
		return complex((real(a)+imag(a)*r)/d, (imag(a)-real(a)*r)/d)
	}
	r := real(b) / imag(b)
	d := real(b)*r + imag(b)
	return complex((real(a)*r+imag(a))/d, (imag(a)*r-real(a))/d)
}
