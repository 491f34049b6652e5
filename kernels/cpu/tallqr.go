package cpu

import (
	"github.com/tessera-la/tessera/internal/scalar"
	"gonum.org/v1/gonum/blas"
)

// TallQR computes the QR factorization of an m×n matrix with many more rows than columns, A = Q·R, by a tree (TSQR).
//
// The rows are cut into domains, and those of a domain into blocks that stay in a cache. A domain is factored from
// block to block, each below the triangle of those above it, and the triangles of the domains in pairs. Domains have
// nothing to do with each other until then, and each element of A comes from memory once. The tree depends on m and n
// alone, so the results do not depend on the number of cores.
//
// Reference: Demmel, Grigori, Hoemmen, Langou, Communication-optimal parallel and sequential QR and LU factorizations,
// SIAM J. Sci. Comput. 34 (2012).
type TallQR[T Element] struct {
	m, n, ib        int
	domains, height int           // their number, a power of two, and the rows of a block
	units           int           // cores of the crew
	alone, together QRRoutines[T] // by one unit, and by all units of the crew at once
	crew            Crew[T]
}

// NewTallQR returns the factorization of m×n matrices, m ≥ n, in block reflectors of ib columns by a crew of so many units,
// each of which is a core. The routines alone use one unit, and the routines together all units of the crew.
func NewTallQR[T Element](m, n, ib, units int, alone, together QRRoutines[T], crew Crew[T]) *TallQR[T] {
	const (
		near  = 512 << 10 // bytes of a block
		least = 256       // rows
		most  = 1024
	)
	t := &TallQR[T]{m: m, n: n, ib: ib, domains: 1, height: m, units: units, alone: alone, together: together, crew: crew}
	// Each merge takes 8/3·n³. Measured on two cores: two domains gain from m = 2·n on, four lose at 10·n.
	for d := t.domains; d < 16 && m >= max(2*n*d*d*d, 4*d*least); d = t.domains {
		t.domains *= 2
	}
	if t.domains > 1 {
		t.height = min(max(near/(scalar.Size[T]()*max(n, 1)), least), most)
	}
	return t
}

// Factors returns the number of elements that the triangular factors of the block reflectors take.
func (t *TallQR[T]) Factors() int { return t.domains * (t.blocks() + 1) * t.ib * t.n }

// Work returns the number of elements of scratch that Factor needs (k = 0), or Apply to a matrix of k rows.
func (t *TallQR[T]) Work(k int) int { return t.alone.Work(max(t.first(), k), t.n, t.ib) }

// rows returns the number of rows of a domain; the last one may have fewer.
func (t *TallQR[T]) rows() int { return (t.m + t.domains - 1) / t.domains }

// first returns the number of rows of the first block of a domain.
func (t *TallQR[T]) first() int { return max(t.height, t.n) }

// blocks returns the largest number of blocks of a domain.
func (t *TallQR[T]) blocks() int { return 1 + (max(t.rows()-t.first(), 0)+t.height-1)/t.height }

// tallBlock is rows lo to hi of A, and the triangular factors of its reflectors.
type tallBlock[T Element] struct {
	lo, hi  int
	factors []T
}

// block returns block i of a domain.
func (t *TallQR[T]) block(domain, i int, factors []T) (b tallBlock[T]) {
	top := domain * t.rows()
	if b.lo = top; i > 0 {
		b.lo += t.first() + (i-1)*t.height
	}
	b.hi = min(top+t.first()+i*t.height, top+t.rows(), t.m)
	b.factors = factors[(domain*t.blocks()+i)*t.ib*t.n:]
	return b
}

// merge returns the triangular factors with which the triangle of a domain was merged into another one.
func (t *TallQR[T]) merge(domain int, factors []T) []T {
	return factors[(t.domains*t.blocks()+domain)*t.ib*t.n:]
}

// each calls f for all parts. If there are more parts than half the units, each part is computed by one unit, since then
// most units have work and none waits for another one within a part. Fewer parts are computed one after the other, each
// by all units together.
func (t *TallQR[T]) each(parts, size int, work []T, f func(part int, q QRRoutines[T], work []T)) {
	if parts > 1 && 2*parts > t.units {
		t.crew(parts, size, func(part, _ int, work []T) { f(part, t.alone, work) })
		return
	}
	for part := range parts {
		f(part, t.together, work)
	}
}

// Factor overwrites the upper triangle of A with R, and the rest of A and factors with Q.
func (t *TallQR[T]) Factor(a []T, lda int, factors, work []T) {
	n, ib := t.n, t.ib
	t.each(t.domains, t.Work(0), work, func(d int, q QRRoutines[T], work []T) {
		top := t.block(d, 0, factors)
		triangle := a[top.lo*lda:]
		q.Geqrt(top.hi-top.lo, n, ib, triangle, lda, top.factors, n, work)
		for i := 1; i < t.blocks(); i++ {
			if b := t.block(d, i, factors); b.lo < b.hi {
				q.Tpqrt(b.hi-b.lo, n, 0, ib, triangle, lda, a[b.lo*lda:], lda, b.factors, n, work)
			}
		}
	})
	for step := 1; step < t.domains; step *= 2 {
		t.each(t.domains/(2*step), t.Work(0), work, func(pair int, q QRRoutines[T], work []T) {
			d := 2 * step * pair
			upper, lower := t.block(d, 0, factors).lo, t.block(d+step, 0, factors).lo
			q.Tpqrt(n, n, n, ib, a[upper*lda:], lda, a[lower*lda:], lda, t.merge(d+step, factors), n, work)
		})
	}
}

// Apply overwrites the k×m matrix C with C·Qᵀ, where a and factors are what Factor left there.
func (t *TallQR[T]) Apply(k int, a []T, lda int, factors, c []T, ldc int, work []T) {
	n, ib := t.n, t.ib
	for step := t.domains / 2; step > 0; step /= 2 {
		t.each(t.domains/(2*step), t.Work(k), work, func(pair int, q QRRoutines[T], work []T) {
			d := 2 * step * pair
			upper, lower := t.block(d, 0, factors).lo, t.block(d+step, 0, factors).lo
			q.Tpmqrt(blas.Right, blas.Trans, k, n, n, n, ib, a[lower*lda:], lda, t.merge(d+step, factors), n,
				c[upper:], ldc, c[lower:], ldc, work)
		})
	}
	t.each(t.domains, t.Work(k), work, func(d int, q QRRoutines[T], work []T) {
		top := t.block(d, 0, factors)
		for i := t.blocks() - 1; i > 0; i-- {
			if b := t.block(d, i, factors); b.lo < b.hi {
				q.Tpmqrt(blas.Right, blas.Trans, k, b.hi-b.lo, n, 0, ib, a[b.lo*lda:], lda, b.factors, n,
					c[top.lo:], ldc, c[b.lo:], ldc, work)
			}
		}
		q.Gemqrt(blas.Right, blas.Trans, k, top.hi-top.lo, n, ib, a[top.lo*lda:], lda, top.factors, n, c[top.lo:], ldc, work)
	})
}
