package matgen

import "math"

// reflectors is how many Householder reflections approximate a random orthogonal factor. A few suffice to fill
// the matrix and to hide its spectrum. Each element can then be computed by itself in O(reflectors).
const reflectors = 3

// lowRank is a diagonal matrix minus outer products,
//
//	A = diag(d) - Σ left[k]·right[k]ᵀ,
//
// the form of diag(d) after Householder reflections from both sides.
type lowRank struct {
	d           []float64
	left, right [][]float64
}

// at returns element (i, j).
func (a *lowRank) at(i, j int) float64 {
	var v float64
	if i == j {
		v = a.d[i]
	}
	for k, l := range a.left {
		v -= l[i] * a.right[k][j]
	}
	return v
}

// times returns A·x for A of m rows, or Aᵀ·x with left and right exchanged.
func (a *lowRank) times(x []float64, m int, left, right [][]float64) []float64 {
	y := make([]float64, m)
	for i := range min(len(a.d), m, len(x)) {
		y[i] = a.d[i] * x[i]
	}
	for k, l := range left {
		s := dot(right[k], x)
		for i := range y {
			y[i] -= s * l[i]
		}
	}
	return y
}

func dot(x, y []float64) float64 {
	var s float64
	for i, v := range x {
		s += v * y[i]
	}
	return s
}

// householder returns a random v of length n and τ = 2/vᵀv: I - τvvᵀ is
// orthogonal.
func householder(seed uint64, n int) (v []float64, tau float64) {
	v = make([]float64, n)
	for i := range v {
		v[i] = Uniform(seed, i, 0)
	}
	if n > 0 && v[0] == 0 {
		v[0] = 0.5 // so that v is not zero
	}
	return v, 2 / dot(v, v)
}

// geometric returns r values from scale down to scale/cond in geometric
// progression (LAPACK's DLATMS with MODE = 3).
func geometric(r int, cond, scale float64) []float64 {
	d := make([]float64, r)
	for i := range d {
		d[i] = scale
		if r > 1 {
			d[i] *= math.Pow(cond, -float64(i)/float64(r-1))
		}
	}
	return d
}

// newSymmetric returns the n×n matrix Q·diag(d)·Qᵀ with a random orthogonal
// Q. For H = I - τvvᵀ,
//
//	H·A·H = A - v·wᵀ - w·vᵀ,  w = τ·A·v - (τ²/2)(vᵀ·A·v)·v.
func newSymmetric(seed uint64, d []float64) *lowRank {
	n := len(d)
	a := &lowRank{d: d}
	if n == 1 {
		return a
	}
	for k := range reflectors {
		v, tau := householder(stream(seed, k), n)
		w := a.times(v, n, a.left, a.right)
		s := tau * tau / 2 * dot(v, w)
		for i := range w {
			w[i] = tau*w[i] - s*v[i]
		}
		a.left = append(a.left, v, w)
		a.right = append(a.right, w, v)
	}
	return a
}

// newGeneral returns the m×n matrix U·diag(d)·Vᵀ with random orthogonal U and
// V. For one reflection from each side, of u and v,
//
//	A' = A - u·pᵀ - q·vᵀ,  p = τᵤ·Aᵀ·u,  q = τᵥ·A·v - τᵤτᵥ(uᵀ·A·v)·u.
func newGeneral(seed uint64, m, n int, d []float64) *lowRank {
	a := &lowRank{d: d}
	if m == 0 || n == 0 {
		return a
	}
	for k := range reflectors {
		u, tauU := householder(stream(seed, 2*k), m)
		v, tauV := householder(stream(seed, 2*k+1), n)
		p := a.times(u, n, a.right, a.left)
		q := a.times(v, m, a.left, a.right)
		s := tauU * tauV * dot(u, q)
		for i := range p {
			p[i] *= tauU
		}
		for i := range q {
			q[i] = tauV*q[i] - s*u[i]
		}
		a.left = append(a.left, u, q)
		a.right = append(a.right, p, v)
	}
	return a
}
