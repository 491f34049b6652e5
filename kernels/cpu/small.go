package cpu

import (
	"math"

	"github.com/tessera-la/tessera/kernels/cpu/isa"
)

// The routines of this file are for problems of a few rows, where to pack, or to call assembly, takes longer than the
// arithmetic. They check nothing but what Go checks, and no other routine of this package calls them: in Packed a sum has
// the same bits whatever is around it, and here it is added up in another order.

// SmallGemm computes C = alpha·A·B + beta·C for an m×n C and k from 1 to 4. Element (i, p) of A is a[i*ra+p*ca], and
// element (p, j) of B is b[p*rb+j*cb]. With beta = 0, C is not read.
func SmallGemm[T Element](m, n, k int, alpha T, a []T, ra, ca int, b []T, rb, cb int, beta T, c []T, ldc int) {
	for i := range m {
		ci := c[i*ldc : i*ldc+n]
		a0 := alpha * a[i*ra]
		switch k {
		case 1:
			for j := range ci {
				smallSum(a0*b[j*cb], beta, &ci[j])
			}
		case 2:
			a1 := alpha * a[i*ra+ca]
			for j := range ci {
				smallSum(a0*b[j*cb]+a1*b[j*cb+rb], beta, &ci[j])
			}
		case 3:
			a1, a2 := alpha*a[i*ra+ca], alpha*a[i*ra+2*ca]
			for j := range ci {
				smallSum(a0*b[j*cb]+(a1*b[j*cb+rb]+a2*b[j*cb+2*rb]), beta, &ci[j])
			}
		case 4:
			a1, a2, a3 := alpha*a[i*ra+ca], alpha*a[i*ra+2*ca], alpha*a[i*ra+3*ca]
			for j := range ci {
				smallSum(a0*b[j*cb]+a1*b[j*cb+rb]+(a2*b[j*cb+2*rb]+a3*b[j*cb+3*rb]), beta, &ci[j])
			}
		}
	}
}

// copiedOrder is the largest dimension of a matrix for which SmallGemv copies vectors.
const copiedOrder = 64

// SmallGemv is [Packed.Gemv] for a small matrix with elements. alpha is not 0.
func (p *Packed[T]) SmallGemv(transposed bool, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int) {
	switch {
	case transposed && m <= loopGemv && n <= loopGemv:
		for j := range n {
			s := T(0)
			for i := range m {
				s += a[i*lda+j] * x[i*incX]
			}
			smallSum(alpha*s, beta, &y[j*incY])
		}
	case transposed:
		p.Gemv('T', m, n, alpha, a, lda, x, incX, beta, y, incY)
	case m >= 8 && p.kernels != nil && p.kernels.MulVec != nil && incX == 1 && incY == 1 && alpha == 1 && beta == 0:
		p.kernels.MulVec(isa.Hide(&a[:(m-1)*lda+n][0]), lda, m, n, isa.Hide(&x[:n][0]), isa.Hide(&y[:m][0]))
	case m >= 8 && p.kernels != nil && p.kernels.MulVec != nil && max(m, n) <= copiedOrder:
		p.smallGemv(m, n, alpha, a, lda, x, incX, beta, y, incY)
	case n > loopGemv:
		p.Gemv('N', m, n, alpha, a, lda, x, incX, beta, y, incY)
	case incX == 1:
		x = x[:n]
		for i := range m {
			s := T(0)
			for j, v := range a[i*lda:][:len(x)] {
				s += v * x[j]
			}
			smallSum(alpha*s, beta, &y[i*incY])
		}
	default:
		for i := range m {
			s := T(0)
			for j, v := range a[i*lda:][:n] {
				s += v * x[j*incX]
			}
			smallSum(alpha*s, beta, &y[i*incY])
		}
	}
}

// loopGemv is the largest dimension of products that loops do.
const loopGemv = 8

// smallSum sets y to s + beta·y, without reading it if beta = 0.
func smallSum[T Element](s, beta T, y *T) {
	if beta != 0 {
		s += beta * *y
	}
	*y = s
}

// smallGemv is SmallGemv by a kernel, with copies of the vectors.
func (p *Packed[T]) smallGemv(m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int) {
	var from, sums [copiedOrder]T
	for j := range n {
		from[j] = x[j*incX]
	}
	p.kernels.MulVec(isa.Hide(&a[:(m-1)*lda+n][0]), lda, m, n, isa.Hide(&from[0]), isa.Hide(&sums[0]))
	for i, s := range sums[:m] {
		smallSum(alpha*s, beta, &y[i*incY])
	}
}

// SmallPotrf is [Packed.Potrf] of an upper triangle.
func SmallPotrf[T Element](n int, a []T, lda int) (info int) {
	for k := range n {
		row := a[k*lda+k : k*lda+n]
		d := row[0]
		if !(d > 0) { // written so that a NaN fails too
			return k + 1
		}
		d = T(math.Sqrt(float64(d)))
		row[0] = d
		row = row[1:]
		for j := range row {
			row[j] /= d
		}
		for i := range row {
			s := row[i]
			right := row[i:]
			below := a[(k+1+i)*lda+k+1+i:][:len(right)]
			for j, v := range right {
				below[j] -= s * v
			}
		}
	}
	return 0
}

// SmallPotri computes the upper triangle of C = (Uᵀ·U)⁻¹ = Wᵀ·W, W = U⁻ᵀ, for the upper triangle of an n×n U. w is n×n
// scratch without gaps.
func SmallPotri[T Element](n int, u []T, ldu int, w, c []T, ldc int) {
	if n == 2 { // without loops, which take most of the time
		s, t := 1/u[0], 1/u[ldu+1]
		below := -u[1] * s * t
		c[0], c[1], c[ldc+1] = s*s+below*below, below*t, t*t
		return
	}
	for i := range n {
		clear(c[i*ldc+i : i*ldc+n])
		// Row i of W: W(i, :) = (eᵢ − Σ U(k, i)·W(k, :)) / U(i, i), two terms at a time.
		row := w[i*n : i*n+i+1]
		clear(row)
		row[i] = 1
		k := 0
		for ; k+2 <= i; k += 2 {
			s, t := u[k*ldu+i], u[(k+1)*ldu+i]
			x, y := w[k*n:][:k+1], w[(k+1)*n:][:k+2]
			for j, v := range x {
				row[j] -= s*v + t*y[j]
			}
			row[k+1] -= t * y[k+1]
		}
		if k < i {
			s := u[k*ldu+i]
			for j, v := range w[k*n : k*n+k+1] {
				row[j] -= s * v
			}
		}
		by := 1 / u[i*ldu+i]
		for j := range row {
			row[j] *= by
		}
	}
	// C = Σ W(i, :)ᵀ·W(i, :), two rows at a time. The first one of them may have a zero behind it.
	for i := n - 1; i >= 0; i -= 2 {
		y := w[i*n : i*n+i+1]
		if i == 0 {
			c[0] += y[0] * y[0]
			break
		}
		x := w[(i-1)*n : (i-1)*n+i+1]
		x[i] = 0
		for j, t := range y {
			s, xs, ys := x[j], x[j:], y[j:]
			to := c[j*ldc+j : j*ldc+i+1]
			for l := range to {
				to[l] += s*xs[l] + t*ys[l]
			}
		}
	}
}

// SmallGetrf is [LU.Getrf] of an m×n matrix in one block. No element is NaN.
func SmallGetrf[T Element](m, n int, a []T, lda int, ipiv []int) (info int) {
	for k := range min(m, n) {
		p, top := k, abs(a[k*lda+k])
		for i := k + 1; i < m; i++ {
			if v := abs(a[i*lda+k]); v > top {
				p, top = i, v
			}
		}
		ipiv[k] = p
		row := a[k*lda : k*lda+n]
		if p != k {
			other := a[p*lda : p*lda+n]
			for j, v := range row {
				row[j], other[j] = other[j], v
			}
		}
		if top == 0 {
			if info == 0 {
				info = k + 1
			}
			continue
		}
		d := row[k]
		row = row[k+1:]
		for i := k + 1; i < m; i++ {
			l := a[i*lda+k] / d
			a[i*lda+k] = l
			below := a[i*lda+k+1:][:len(row)]
			for j, v := range row {
				below[j] -= l * v
			}
		}
	}
	return info
}

// SmallGeqrt is [QR.Geqrt] of an m×n matrix whose k = min(m, n) reflectors are one block: T is k×k. The squares of the
// columns' norms are in the range of float64, or the columns are zero. w has n elements of scratch.
func SmallGeqrt[T Element](m, n int, a []T, lda int, t []T, ldt int, w []T) {
	for j := range min(m, n) {
		// The reflector I − tau·v·vᵀ that makes (beta, 0, …) of column j, with v = (1, …).
		sum := 0.0
		for i := j + 1; i < m; i++ {
			v := float64(a[i*lda+j])
			sum += v * v
		}
		row := a[j*lda+j : j*lda+n]
		tau := T(0)
		if sum != 0 {
			alpha := row[0]
			beta := T(math.Sqrt(float64(alpha)*float64(alpha) + sum))
			if alpha > 0 {
				beta = -beta
			}
			tau = (beta - alpha) / beta
			by := 1 / (alpha - beta)
			for i := j + 1; i < m; i++ {
				a[i*lda+j] *= by
			}
			row[0] = beta
		}
		t[j*ldt+j] = tau
		right := row[1:]
		if tau != 0 && len(right) > 0 {
			w := w[:len(right)]
			copy(w, right)
			for i := j + 1; i < m; i++ {
				v, ai := a[i*lda+j], a[i*lda+j+1:][:len(w)]
				for l, x := range ai {
					w[l] += v * x
				}
			}
			for l := range w {
				w[l] *= tau
				right[l] -= w[l]
			}
			for i := j + 1; i < m; i++ {
				v, ai := a[i*lda+j], a[i*lda+j+1:][:len(w)]
				for l, x := range w {
					ai[l] -= v * x
				}
			}
		}
		// T(0:j, j) = −tau·T(0:j, 0:j)·V(:, 0:j)ᵀ·v
		if j > 0 {
			w := w[:j]
			copy(w, a[j*lda:j*lda+j])
			for i := j + 1; i < m; i++ {
				v := a[i*lda+j]
				for l, x := range a[i*lda : i*lda+j] {
					w[l] += v * x
				}
			}
			for i := range w {
				s := T(0)
				for l, x := range t[i*ldt+i : i*ldt+j] {
					s += x * w[i+l]
				}
				t[i*ldt+j] = -tau * s
			}
		}
	}
}

// SmallReflect overwrites the m×n matrix C with op(Q)·C for the k reflectors in V whose tau are on the diagonals of T's
// blocks of ib columns: op(Q) is Qᵀ if trans, else Q. w has n elements of scratch.
func SmallReflect[T Element](trans bool, m, n, k, ib int, v []T, ldv int, t []T, ldt int, c []T, ldc int, w []T) {
	for step := range k {
		j := step
		if !trans {
			j = k - 1 - step
		}
		tau := t[j%ib*ldt+j]
		if tau == 0 {
			continue
		}
		if n == 1 {
			s := c[j*ldc]
			for i := j + 1; i < m; i++ {
				s += v[i*ldv+j] * c[i*ldc]
			}
			s *= tau
			c[j*ldc] -= s
			for i := j + 1; i < m; i++ {
				c[i*ldc] -= s * v[i*ldv+j]
			}
			continue
		}
		w, top := w[:n], c[j*ldc:j*ldc+n]
		copy(w, top)
		for i := j + 1; i < m; i++ {
			s := v[i*ldv+j]
			for l, x := range c[i*ldc : i*ldc+n] {
				w[l] += s * x
			}
		}
		for l := range w {
			w[l] *= tau
			top[l] -= w[l]
		}
		for i := j + 1; i < m; i++ {
			s, ci := v[i*ldv+j], c[i*ldc:i*ldc+n]
			for l, x := range w {
				ci[l] -= s * x
			}
		}
	}
}
