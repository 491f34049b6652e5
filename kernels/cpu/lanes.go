package cpu

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu/isa"
)

// Lanes computes with several matrices of one shape at once: where there is an element of a matrix, there is a vector with
// one of each. Element (i, j) of matrix l of interleaved matrices with rows of ld elements is x[(i*ld+j)*Count()+l].
//
// What depends on the elements, as pivots, is done lane by lane; all else are kernels. A lane has the same bits whatever is
// in the others.
type Lanes[T Element] struct {
	k     *isa.Kernels[T]
	count int

	by, top, at, w []T // of as many elements as a vector, and as a row
}

// Lanes returns the routines for interleaved matrices, or nil if the instruction set has none. One goroutine at a time
// uses them.
func (p *Packed[T]) Lanes() *Lanes[T] {
	if p.kernels == nil || p.kernels.LaneUpdate == nil || p.kernels.Transpose == nil {
		return nil
	}
	return &Lanes[T]{k: p.kernels, count: p.kernels.Lanes, by: make([]T, p.kernels.Lanes), top: make([]T, p.kernels.Lanes), at: make([]T, p.kernels.Lanes)}
}

// Count returns the number of matrices.
func (v *Lanes[T]) Count() int { return v.count }

// Interleave copies Count matrices of n elements without gaps, step apart, to x; Separate copies them back.
func (v *Lanes[T]) Interleave(n int, x, from []T, step int) {
	size, c := scalar.Size[T](), v.count
	_, _ = x[:n*c], from[:(c-1)*step+n]
	blocks := n / c
	if blocks > 0 {
		v.k.Transpose(isa.At(x), c*size, c*c*size, isa.At(from), step*size, c*size, blocks)
	}
	for e := blocks * c; e < n; e++ {
		for l := range c {
			x[e*c+l] = from[l*step+e]
		}
	}
}

// Separate is the inverse of [Lanes.Interleave].
func (v *Lanes[T]) Separate(n int, to []T, step int, x []T) {
	size, c := scalar.Size[T](), v.count
	_, _ = x[:n*c], to[:(c-1)*step+n]
	blocks := n / c
	if blocks > 0 {
		v.k.Transpose(isa.At(to), step*size, c*size, isa.At(x), c*size, c*c*size, blocks)
	}
	for e := blocks * c; e < n; e++ {
		for l := range c {
			to[l*step+e] = x[e*c+l]
		}
	}
}

// update is y_j −= Σ s_p·x_(p,j), where vectors are counted: see isa.Kernels.
func (v *Lanes[T]) update(k, n int, s []T, ss int, x []T, xs int, y []T) {
	if k > 0 && n > 0 {
		c := v.count
		_, _, _ = s[:((k-1)*ss+1)*c], x[:((k-1)*xs+n)*c], y[:n*c]
		v.k.LaneUpdate(k, n, isa.Hide(&s[0]), ss, isa.Hide(&x[0]), xs, isa.Hide(&y[0]))
	}
}

// scale multiplies n vectors y, ys vectors apart, by v.by.
func (v *Lanes[T]) scale(n int, y []T, ys int) {
	if n > 0 {
		_ = y[:((n-1)*ys+1)*v.count]
		v.k.LaneScale(n, isa.Hide(&v.by[0]), isa.Hide(&y[0]), ys)
	}
}

// invert sets v.by to the reciprocals of a vector.
func (v *Lanes[T]) invert(d []T) {
	for l := range v.by {
		v.by[l] = 1 / d[l]
	}
}

// Potrf is [SmallPotrf] of each matrix, with an info for each. An info that is not 0 leaves its matrix undefined.
func (v *Lanes[T]) Potrf(n int, a []T, info []int) {
	c := v.count
	clear(info[:c])
	for i := range n {
		row := a[(i*n+i)*c : (i+1)*n*c]
		v.update(i, n-i, a[i*c:], n, a[i*c:], n, row)
		for l := range c {
			d := row[l]
			if !(d > 0) { // or NaN
				if info[l] == 0 {
					info[l] = i + 1
				}
				d = 1
			}
			d = T(math.Sqrt(float64(d)))
			row[l], v.by[l] = d, 1/d
		}
		v.scale(n-i-1, row[c:], 1)
	}
}

// Potrs overwrites each n×nrhs X with (Uᵀ·U)⁻¹·X.
func (v *Lanes[T]) Potrs(n, nrhs int, u, x []T) {
	c := v.count
	for i := range n {
		v.update(i, nrhs, u[i*c:], n, x, nrhs, x[i*nrhs*c:])
		v.invert(u[(i*n+i)*c:])
		v.scale(nrhs, x[i*nrhs*c:], 1)
	}
	v.upper(n, nrhs, n, u, x)
}

// upper overwrites each n×nrhs X with U⁻¹·X for the upper triangle of a matrix with rows of ld.
func (v *Lanes[T]) upper(n, nrhs, ld int, u, x []T) {
	c := v.count
	for i := n - 1; i >= 0; i-- {
		if i < n-1 {
			v.update(n-1-i, nrhs, u[(i*ld+i+1)*c:], 1, x[(i+1)*nrhs*c:], nrhs, x[i*nrhs*c:])
		}
		v.invert(u[(i*ld+i)*c:])
		v.scale(nrhs, x[i*nrhs*c:], 1)
	}
}

// Getrf is [SmallGetrf] of each n×n matrix, with an info for each and the pivots of matrix l from ipiv[l*n] on.
func (v *Lanes[T]) Getrf(n int, a []T, ipiv, info []int) {
	c := v.count
	clear(info[:c])
	for k := range n {
		diagonal := a[(k*n+k)*c:][:c]
		v.pivot(n-k, n, a[(k*n+k)*c:])
		for l, at := range v.at {
			ipiv[l*n+k] = k + int(at)
		}
		for l := range c {
			if p := ipiv[l*n+k]; p != k {
				x, y := a[k*n*c+l:], a[p*n*c+l:]
				for j := 0; j < n*c; j += c {
					x[j], y[j] = y[j], x[j]
				}
			}
			v.by[l] = 1 / diagonal[l]
			if v.top[l] == 0 {
				v.by[l] = 1
				if info[l] == 0 {
					info[l] = k + 1
				}
			}
		}
		if k == n-1 {
			break
		}
		v.eliminate(n-k-1, n-k-1, n, a[((k+1)*n+k)*c:], a[(k*n+k+1)*c:])
	}
}

// pivot sets v.top to the greatest magnitudes of m vectors, ld apart, and v.at to the first places of them.
func (v *Lanes[T]) pivot(m, ld int, x []T) {
	c := v.count
	_ = x[:((m-1)*ld+1)*c]
	if v.k.LanePivot != nil {
		v.k.LanePivot(m, isa.Hide(&x[0]), ld, isa.Hide(&v.top[0]), isa.Hide(&v.at[0]))
		return
	}
	for l, d := range x[:c] {
		v.top[l], v.at[l] = abs(d), 0
	}
	for i := 1; i < m; i++ {
		for l, d := range x[i*ld*c:][:c] {
			if d = abs(d); d > v.top[l] {
				v.top[l], v.at[l] = d, T(i)
			}
		}
	}
}

// eliminate multiplies the first vector of m rows of a, ld vectors apart, by v.by, and subtracts from the n that follow it x
// times the product.
func (v *Lanes[T]) eliminate(m, n, ld int, a, x []T) {
	c := v.count
	_, _ = a[:((m-1)*ld+n+1)*c], x[:n*c]
	if v.k.LaneEliminate != nil {
		v.k.LaneEliminate(m, n, isa.Hide(&v.by[0]), isa.Hide(&a[0]), ld, isa.Hide(&x[0]))
		return
	}
	v.scale(m, a, ld)
	for i := range m {
		v.update(1, n, a[i*ld*c:], 1, x, n, a[(i*ld+1)*c:])
	}
}

// Getrs overwrites each n×nrhs X with A⁻¹·X for the factors and pivots of Getrf.
func (v *Lanes[T]) Getrs(n, nrhs int, lu []T, ipiv []int, x []T) {
	c := v.count
	for l := range c {
		for i := range n {
			if p := ipiv[l*n+i]; p != i {
				a, b := x[i*nrhs*c+l:], x[p*nrhs*c+l:]
				for j := 0; j < nrhs*c; j += c {
					a[j], b[j] = b[j], a[j]
				}
			}
		}
	}
	for i := 1; i < n; i++ {
		v.update(i, nrhs, lu[i*n*c:], 1, x, nrhs, x[i*nrhs*c:])
	}
	v.upper(n, nrhs, n, lu, x)
}

// row returns scratch of n vectors, which are zero.
func (v *Lanes[T]) row(n int) []T {
	if cap(v.w) < n*v.count {
		v.w = make([]T, n*v.count)
	}
	w := v.w[:n*v.count]
	clear(w)
	return w
}

// Geqrf overwrites each m×n matrix, m ≥ n, with R and, below its diagonal, the vectors of n reflectors I − tau·v·vᵀ, of
// which v_j is 1. tau has n vectors. Squares of elements are in the range.
func (v *Lanes[T]) Geqrf(m, n int, a, tau []T) {
	c := v.count
	for j := range n {
		diagonal, column := a[(j*n+j)*c:][:c], a[min((j+1)*n+j, m*n-1)*c:]
		sums := v.row(1)
		v.update(m-j-1, 1, column, n, column, n, sums) // negative
		t := tau[j*c:][:c]
		for l, alpha := range diagonal {
			t[l], v.by[l] = 0, 1
			if s := -sums[l]; s != 0 {
				beta := -T(math.Copysign(math.Sqrt(float64(alpha*alpha+s)), float64(alpha)))
				t[l], v.by[l] = (beta-alpha)/beta, 1/(alpha-beta)
				diagonal[l] = beta
			}
		}
		v.scale(m-j-1, column, n)
		v.reflect(m-j, n-j-1, a[(j*n+j)*c:], n, t, a[(j*n+j+1)*c:], n)
	}
}

// reflect overwrites each m×n C, with rows of ldc, with (I − tau·v·vᵀ)·C. The first element of v, which x has with ldv
// between elements, stands for 1.
func (v *Lanes[T]) reflect(m, n int, x []T, ldv int, tau, cc []T, ldc int) {
	if n == 0 {
		return
	}
	c := v.count
	var kept [isa.MaxLanes]T
	first := x[:c]
	copy(kept[:], first)
	for l := range first {
		first[l], v.by[l] = 1, -tau[l]
	}
	w := v.row(n)
	v.update(m, n, x, ldv, cc, ldc, w)
	v.scale(n, w, 1)
	for i := range m {
		v.update(1, n, x[i*ldv*c:], 1, w, n, cc[i*ldc*c:])
	}
	copy(first, kept[:])
}

// Geqrs overwrites the first n rows of each m×nrhs X with the least-squares solution for X and the factors of Geqrf.
func (v *Lanes[T]) Geqrs(m, n, nrhs int, a, tau, x []T) {
	c := v.count
	for j := range n {
		v.reflect(m-j, nrhs, a[(j*n+j)*c:], n, tau[j*c:], x[j*nrhs*c:], nrhs)
	}
	v.upper(n, nrhs, n, a, x)
}
