package cpu

import (
	"math"
	"math/rand/v2"

	"github.com/tessera-la/tessera/internal/scalar"
	"gonum.org/v1/gonum/blas"
)

// Pivoted factors matrices with column pivoting. The columns of a matrix A are the rows of B = Aᵀ here, which are
// contiguous.
type Pivoted[T Element] struct{ condensed[T] }

// NewPivoted returns the factorization by a set of routines and a crew. If crew is nil, the caller's goroutine does all
// the work. The bits of the result do not depend on the crew.
func NewPivoted[T Element](r Routines[T], crew Crew[T]) *Pivoted[T] {
	return &Pivoted[T]{newCondensed(r, crew)}
}

const (
	// geqp3Panel is the largest number of rows that are factored before the rest is updated.
	geqp3Panel = 32
	// geqp3Extra is how many rows a sketch has more than a panel.
	geqp3Extra = 8
	geqp3Width = geqp3Panel + geqp3Extra
	// geqp3Block is the number of rows of the rest that one part updates.
	geqp3Block = 128
	// geqp3Share is the number of products of a step that one part computes, at least.
	geqp3Share = 1 << 15
)

// Geqp3Work returns the number of elements of scratch that Geqp3 needs for an n×m matrix.
func Geqp3Work(n, m int) int {
	own := pivotedWork(n)
	return own + pivotedWork(n) + n + geqp3Width*m + 2*n*geqp3Width + geqp3Panel*m + 2*reflectorPanel*reflectorPanel
}

// pivotedWork returns the number of elements of scratch for n rows.
func pivotedWork(n int) int { return n * (geqp3Panel + 3) }

// Geqp3 factors the n×m matrix B = Aᵀ,
//
//	P·B = L·Qᵀ, or A·Pᵀ = Q·R with R = Lᵀ,
//
// where Q = H(0)·H(1)·…, H(i) = I − tau(i)·v(i)·v(i)ᵀ, k = min(m, n) reflectors. v(i) is zero before element i, which is
// 1, and overwrites row i of b from column i+1 on. L overwrites the rest: the lower triangle or trapezoid. Row i of P·B
// is row perm[i] of B. Squares of the elements must neither overflow nor underflow.
//
// The diagonal of R has descending magnitudes, but for rounding: each step takes the row with the largest norm of what
// is left of it. If sketched is set, rows are chosen 32 at a time by the norms in a random sketch, and then in their
// order by their own. Diagonal elements are then descending within a block only. But almost all operations are products of
// matrices, and the rank shows in R for Kahan's matrices, too, where norms are almost equal and mislead.
//
// perm has n elements, and tau has k. work holds at least [Geqp3Work] elements.
//
// References: LAPACK xGEQP3, xLAQPS; Drmač and Bujanović, On the failure of rank-revealing QR factorization software
// (LAWN 176), for the norms; Martinsson, Quintana-Ortí, Heavner and van de Geijn, Householder QR factorization with
// randomization for column pivoting (HQRRP), SIAM J. Sci. Comput. 39 (2017).
func (t *Pivoted[T]) Geqp3(sketched bool, n, m int, b []T, ldb int, perm []int, tau, work []T) {
	checkMatrix(n, m, len(b), ldb)
	for i := range perm {
		perm[i] = i
	}
	p := t.rows(m, b, ldb, perm, tau, work[:pivotedWork(n)], n)
	if sketched {
		p.sketched(n, work[pivotedWork(n):])
	} else {
		p.factor(0, n, min(m, n))
	}
}

// rows returns the factorization of n rows, with their scratch.
func (t *Pivoted[T]) rows(m int, b []T, ldb int, perm []int, tau, work []T, n int) *pivotedRows[T] {
	return &pivotedRows[T]{Pivoted: t, width: geqp3Panel, m: m, b: b, ldb: ldb, perm: perm, tau: tau,
		norms: work[:n], last: work[n : 2*n], sums: work[2*n : 3*n], f: work[3*n:][:n*geqp3Panel]}
}

// pivotedRows is a factorization under way. With the k rows of a panel, the rest of B becomes B − F·V, where the rows
// of V are the vectors of the reflectors.
type pivotedRows[T Element] struct {
	*Pivoted[T]
	width int // of a panel
	m     int
	b     []T
	ldb   int
	perm  []int
	tau   []T
	norms []T // of what is left of each row
	last  []T // its norm when it was last computed, negative if it has to be computed again
	sums  []T
	swaps []int // if not nil, row i was exchanged with row swaps[i] instead of an exchange in perm
	f     []T   // rows are geqp3Panel elements apart
}

// factor factors rows lo to end−1, with pivots among rows lo to hi−1.
func (p *pivotedRows[T]) factor(lo, hi, end int) {
	if lo >= end {
		return
	}
	p.measure(lo, lo, hi, true)
	for k := lo; k < end; {
		next := p.panel(k, hi, min(p.width, end-k))
		if next < hi {
			p.update(k, next, hi)
		}
		k = next
	}
}

// measure computes the norms of rows lo to hi−1, from column k on: all, or those that have to be computed again.
func (p *pivotedRows[T]) measure(k, lo, hi int, all bool) {
	for j := lo; j < hi; j++ {
		if all || p.last[j] < 0 {
			p.norms[j] = length(p.b[j*p.ldb:][min(k, p.m):p.m])
			p.last[j] = p.norms[j]
		}
	}
}

// length returns the 2-norm of x, whose squares do not overflow.
func length[T Element](x []T) T {
	var s [4]float64
	for len(x) >= 4 {
		a, b, c, d := float64(x[0]), float64(x[1]), float64(x[2]), float64(x[3])
		s[0] += a * a
		s[1] += b * b
		s[2] += c * c
		s[3] += d * d
		x = x[4:]
	}
	for _, v := range x {
		s[0] += float64(v) * float64(v)
	}
	return T(math.Sqrt((s[0] + s[1]) + (s[2] + s[3])))
}

// panel factors up to count rows from first on, and returns the row after the last. It ends where a norm has to be
// computed again.
func (p *pivotedRows[T]) panel(first, hi, count int) int {
	m, ldb := p.m, p.ldb
	tolerance := T(math.Sqrt(scalar.Eps[T]()))
	var aux, column [geqp3Panel]T
	for i := range count {
		k := first + i
		p.exchange(k, p.best(k, hi))
		row := p.b[k*ldb:][k:m:m]
		f := p.f[k*geqp3Panel:][:geqp3Panel]
		p.subtract(i, len(row), p.b[first*ldb+k:], f, ldb, 1, row)
		tau, beta := p.larfg(row)
		p.tau[k] = tau
		row[0] = 1
		clear(aux[:])
		p.products(i, len(row), p.b[first*ldb+k:], ldb, row, aux[:i])
		for q := range i {
			column[q] = p.b[(first+q)*ldb+k]
		}
		rest := hi - k - 1
		parts := min(rest*len(row)/geqp3Share, (rest+geqp3Block-1)/geqp3Block)
		step := func(lo, hi int) {
			sums := p.sums[lo:hi]
			clear(sums)
			p.products(hi-lo, len(row), p.b[lo*ldb+k:], ldb, row, sums)
			for j := lo; j < hi; j++ {
				f := p.f[j*geqp3Panel:][:i+1]
				s, r := sums[j-lo], p.b[j*ldb+k]
				for q, v := range f[:i] {
					s -= v * aux[q]
					r -= v * column[q]
				}
				f[i] = tau * s
				r -= f[i]
				p.b[j*ldb+k] = r
				norm := p.norms[j]
				if norm == 0 {
					continue
				}
				ratio := abs(r) / norm
				left := max(0, (1+ratio)*(1-ratio))
				if left*(norm/p.last[j])*(norm/p.last[j]) <= tolerance {
					p.last[j] = -1
				} else {
					p.norms[j] = norm * T(math.Sqrt(float64(left)))
				}
			}
		}
		switch {
		case rest == 0:
		case parts < 2:
			step(k+1, hi)
		default:
			size := roundUp((rest+parts-1)/parts, 4)
			parts = (rest + size - 1) / size
			p.crew(parts, 0, func(part, _ int, _ []T) {
				lo := k + 1 + part*size
				step(lo, min(lo+size, hi))
			})
		}
		row[0] = beta
		for _, v := range p.last[k+1 : hi] {
			if v < 0 {
				return k + 1
			}
		}
	}
	return first + count
}

// best returns the first of the rows k to hi−1 with the largest norm.
func (p *pivotedRows[T]) best(k, hi int) int {
	best := k
	for j := k + 1; j < hi; j++ {
		if p.norms[j] > p.norms[best] {
			best = j
		}
	}
	return best
}

// exchange exchanges rows k and j.
func (p *pivotedRows[T]) exchange(k, j int) {
	if p.swaps != nil {
		p.swaps[k] = j
	}
	if j == k {
		return
	}
	exchangeRows(p.b[k*p.ldb:][:p.m], p.b[j*p.ldb:][:p.m])
	exchangeRows(p.f[k*geqp3Panel:][:geqp3Panel], p.f[j*geqp3Panel:][:geqp3Panel])
	p.norms[k], p.norms[j] = p.norms[j], p.norms[k]
	p.last[k], p.last[j] = p.last[j], p.last[k]
	if p.swaps == nil {
		p.perm[k], p.perm[j] = p.perm[j], p.perm[k]
	}
}

// update subtracts F·V from rows next to hi−1, where the panel is rows first to next−1, and computes norms again.
func (p *pivotedRows[T]) update(first, next, hi int) {
	cols := p.m - next
	if cols <= 0 {
		return
	}
	p.crew((hi-next+geqp3Block-1)/geqp3Block, p.Work(max(cols, geqp3Block)), func(part, _ int, work []T) {
		lo := next + part*geqp3Block
		rows := min(geqp3Block, hi-lo)
		p.Gemm(blas.NoTrans, blas.NoTrans, rows, cols, next-first, -1, p.f[lo*geqp3Panel:], geqp3Panel,
			p.b[first*p.ldb+next:], p.ldb, 1, p.b[lo*p.ldb+next:], p.ldb, work)
		p.measure(next, lo, lo+rows, false)
	})
}

// sketched factors all rows with pivots from a sketch.
func (p *pivotedRows[T]) sketched(n int, work []T) {
	m, ldb, end := p.m, p.ldb, min(p.m, n)
	const w = geqp3Width
	random, sketch, small := take(&work, w*m), take(&work, n*w), take(&work, n*w)
	own, tau, v := take(&work, pivotedWork(n)), take(&work, n), take(&work, geqp3Panel*m)
	gram, factor := take(&work, reflectorPanel*reflectorPanel), take(&work, reflectorPanel*reflectorPanel)
	rng := rand.New(rand.NewPCG(0x9e3779b97f4a7c15, uint64(m)))
	for i := range random {
		random[i] = T(rng.NormFloat64())
	}
	blocks := func(lo, hi, scratch int, f func(lo, rows int, work []T)) {
		p.crew((hi-lo+geqp3Block-1)/geqp3Block, scratch, func(part, _ int, work []T) {
			i := lo + part*geqp3Block
			f(i, min(geqp3Block, hi-i), work)
		})
	}
	measured := T(0) // the largest norm in the sketch when it was computed
	var swaps [geqp3Panel]int
	k := 0
	for k < end {
		s := p.rows(w, small, w, nil, tau, own, n-k)
		s.swaps, s.width = swaps[:], geqp3Panel/2
		look := func() T {
			copy(small, sketch[k*w:n*w])
			s.measure(0, 0, n-k, true)
			return s.norms[s.best(0, n-k)]
		}
		most := T(0)
		if k > 0 {
			most = look()
		}
		// The sketch of the rest is the former one without what the factored rows have of it. Its errors stay.
		if k == 0 || most < T(math.Sqrt(scalar.Eps[T]()))*measured {
			blocks(k, n, p.Work(max(m, w, geqp3Block)), func(lo, rows int, work []T) {
				p.Gemm(blas.NoTrans, blas.Trans, rows, w, m-k, 1, p.b[lo*ldb+k:], ldb, random[k:], m, 0, sketch[lo*w:], w, work)
			})
			measured = look()
		}
		count := min(geqp3Panel, end-k)
		s.factor(0, n-k, count)
		p.follow(k, swaps[:count], sketch)
		p.factor(k, k+count, k+count)
		// I − Vᵀ·T·V is the product of the reflectors.
		cols := m - k
		for i := range count {
			row := v[i*cols:][:cols]
			clear(row[:i])
			row[i] = 1
			copy(row[i+1:], p.b[(k+i)*ldb+k+i+1:][:cols-i-1])
		}
		p.crew(1, p.Work(max(cols, geqp3Panel)), func(_, _ int, work []T) {
			p.Gemm(blas.NoTrans, blas.Trans, count, count, cols, 1, v, cols, v, cols, 0, gram, reflectorPanel, work)
		})
		p.factorOfBlock(count, gram, p.tau[k:k+count], factor)
		k += count
		if k == n {
			return
		}
		p.reflect(false, n-k, cols, count, v, factor, p.b[k*ldb+k-count:], ldb)
		if k == end {
			return
		}
		p.reflect(false, w, cols, count, v, factor, random[k-count:], m)
		blocks(k, n, p.Work(geqp3Block), func(lo, rows int, work []T) {
			p.Gemm(blas.NoTrans, blas.Trans, rows, w, count, -1, p.b[lo*ldb+k-count:], ldb, random[k-count:], m, 1, sketch[lo*w:], w,
				work)
		})
	}
}

// follow exchanges rows k+i and k+swaps[i] of B and of the sketch, for i = 0, 1, …
func (p *pivotedRows[T]) follow(k int, swaps []int, sketch []T) {
	for i, j := range swaps {
		if i == j {
			continue
		}
		x, y := k+i, k+j
		exchangeRows(p.b[x*p.ldb:][:p.m], p.b[y*p.ldb:][:p.m])
		exchangeRows(sketch[x*geqp3Width:][:geqp3Width], sketch[y*geqp3Width:][:geqp3Width])
		p.perm[x], p.perm[y] = p.perm[y], p.perm[x]
	}
}

// reflect multiplies the rows×cols matrix X by the product I − Vᵀ·T·V of count reflectors, the rows of v, or by its
// transpose.
func (t *Pivoted[T]) reflect(transposed bool, rows, cols, count int, v, factor, x []T, ldx int) {
	trans := blas.NoTrans
	if transposed {
		trans = blas.Trans
	}
	scratch := 2*geqp3Block*reflectorPanel + t.Work(max(cols, geqp3Block))
	t.crew((rows+geqp3Block-1)/geqp3Block, scratch, func(part, _ int, work []T) {
		i := part * geqp3Block
		n, target := min(geqp3Block, rows-i), x[i*ldx:]
		y, z, work := work[:n*count], work[geqp3Block*reflectorPanel:][:n*count], work[2*geqp3Block*reflectorPanel:]
		t.Gemm(blas.NoTrans, blas.Trans, n, count, cols, 1, target, ldx, v, cols, 0, y, count, work)
		t.Gemm(blas.NoTrans, trans, n, count, count, 1, y, count, factor, reflectorPanel, 0, z, count, work)
		t.Gemm(blas.NoTrans, blas.NoTrans, n, cols, count, -1, z, count, v, cols, 1, target, ldx, work)
	})
}

// OrmlqWork returns the number of elements of scratch that Ormlq needs.
func OrmlqWork(m int) int { return reflectorPanel*m + 2*reflectorPanel*reflectorPanel }

// Ormlq overwrites the rows×m matrix X with X·Q, or X·Qᵀ if transposed, where Geqp3 has left the k reflectors of Q in b
// and tau: for each row x, with Qᵀ·x or Q·x. work holds at least [OrmlqWork] elements.
//
// Reference: LAPACK xORMLQ, with SIDE = 'R'.
func (t *Pivoted[T]) Ormlq(transposed bool, rows, m, k int, b []T, ldb int, tau, x []T, ldx int, work []T) {
	checkMatrix(k, m, len(b), ldb)
	checkMatrix(rows, m, len(x), ldx)
	if rows == 0 || k == 0 {
		return
	}
	v, gram := work[:reflectorPanel*m], work[reflectorPanel*m:][:reflectorPanel*reflectorPanel]
	factor := work[reflectorPanel*m+len(gram):][:reflectorPanel*reflectorPanel]
	blocks := (k + reflectorPanel - 1) / reflectorPanel
	for block := range blocks {
		if transposed {
			block = blocks - 1 - block
		}
		first := block * reflectorPanel
		count, cols := min(reflectorPanel, k-first), m-first
		for i := range count {
			row := v[i*cols:][:cols]
			clear(row[:i])
			row[i] = 1
			copy(row[i+1:], b[(first+i)*ldb+first+i+1:][:cols-i-1])
		}
		t.crew(1, t.Work(max(cols, reflectorPanel)), func(_, _ int, work []T) {
			t.Gemm(blas.NoTrans, blas.Trans, count, count, cols, 1, v, cols, v, cols, 0, gram, reflectorPanel, work)
		})
		t.factorOfBlock(count, gram, tau[first:first+count], factor)
		t.reflect(transposed, rows, cols, count, v, factor, x[first:], ldx)
	}
}
