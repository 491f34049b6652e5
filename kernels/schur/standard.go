package schur

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
)

// block is a matrix of order 2 on the diagonal,
//
//	⎡a b⎤
//	⎣c d⎦.
type block struct{ a, b, c, d float64 }

// standardize returns the rotation that makes x a block of a Schur form,
//
//	⎡ c s⎤   ⎡c −s⎤
//	⎣−s c⎦·x·⎣s  c⎦,
//
// and that block: its c is zero, or its a and d are equal and its b and c have different signs. eps is the unit roundoff
// of the elements.
//
// Reference: LAPACK xLANV2.
func standardize(x block, eps float64) (to block, c, s float64) {
	switch {
	case x.c == 0:
		return x, 1, 0
	case x.b == 0:
		return block{x.d, -x.c, 0, x.a}, 0, 1
	case x.a == x.d && (x.b < 0) != (x.c < 0):
		return x, 1, 0
	}
	diff := x.a - x.d
	p := diff / 2
	most := max(math.Abs(x.b), math.Abs(x.c))
	least := min(math.Abs(x.b), math.Abs(x.c))
	if (x.b < 0) != (x.c < 0) {
		least = -least
	}
	scale := max(math.Abs(p), most)
	if z := p/scale*p + most/scale*least; z >= 4*2*eps { // two real eigenvalues that are apart
		z = p + math.Copysign(math.Sqrt(scale)*math.Sqrt(z), p)
		h := math.Hypot(x.c, z)
		return block{x.d + z, x.b - x.c, 0, x.d - most/z*least}, z / h, x.c / h
	}
	// Eigenvalues that are complex, or real and almost equal: make the elements on the diagonal equal.
	sigma := x.b + x.c
	h := math.Hypot(sigma, diff)
	c = math.Sqrt((1 + math.Abs(sigma)/h) / 2)
	s = -p / (h * c)
	if sigma < 0 {
		s = -s
	}
	aa, bb, cc, dd := x.a*c+x.b*s, -x.a*s+x.b*c, x.c*c+x.d*s, -x.c*s+x.d*c
	x = block{aa*c + cc*s, bb*c + dd*s, -aa*s + cc*c, -bb*s + dd*c}
	mean := (x.a + x.d) / 2
	x.a, x.d = mean, mean
	switch {
	case x.c == 0:
	case x.b == 0:
		x.b, x.c = -x.c, 0
		c, s = -s, c
	case (x.b < 0) == (x.c < 0): // real after all
		rb, rc := math.Sqrt(math.Abs(x.b)), math.Sqrt(math.Abs(x.c))
		p := math.Copysign(rb*rc, x.c)
		h := 1 / math.Sqrt(math.Abs(x.b+x.c))
		x = block{mean + p, x.b - x.c, 0, mean - p}
		c, s = c*rb*h-s*rc*h, c*rc*h+s*rb*h
	}
	return x, c, s
}

// values returns the eigenvalues of a block of a Schur form.
func (x block) values() (re1, im1, re2, im2 float64) {
	if x.c != 0 {
		im1 = math.Sqrt(math.Abs(x.b)) * math.Sqrt(math.Abs(x.c))
	}
	return x.a, im1, x.d, -im1
}

// reflector is the reflector I − tau·v·vᵀ with v = (1, v1, v2).
type reflector struct{ tau, v1, v2 float64 }

// annihilate returns the reflector H with H·(alpha, x, y) = (beta, 0, 0).
//
// Reference: LAPACK xLARFG.
func annihilate(alpha, x, y float64) (h reflector, beta float64) {
	if x == 0 && y == 0 {
		return reflector{}, alpha
	}
	scale := 1.0
	if most := max(math.Abs(alpha), math.Abs(x), math.Abs(y)); !(most > 0x1p-480 && most < 0x1p480) {
		scale = 0x1p-500
		if most < 1 {
			scale = 0x1p500
		}
		alpha, x, y = alpha*scale, x*scale, y*scale
	}
	beta = -math.Copysign(math.Sqrt(alpha*alpha+x*x+y*y), alpha)
	f := 1 / (alpha - beta)
	return reflector{(beta - alpha) / beta, x * f, y * f}, beta / scale
}

// factors returns the factors with which [cpu.Hessenberg.Reflect] applies h.
func factors[T scalar.Real](h reflector) *[5]T {
	return &[5]T{T(h.v1), T(h.v2), T(h.tau), T(h.tau * h.v1), T(h.tau * h.v2)}
}
