package cpu

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
	"gonum.org/v1/gonum/blas"
)

// Bidiagonal reduces matrices to bidiagonal form, and applies the reflectors of the reduction.
type Bidiagonal[T Element] struct{ condensed[T] }

// NewBidiagonal returns the reduction by a set of routines and a crew. If crew is nil, the caller's goroutine does all
// the work. The bits of the result do not depend on the crew.
func NewBidiagonal[T Element](r Routines[T], crew Crew[T]) *Bidiagonal[T] {
	return &Bidiagonal[T]{newCondensed(r, crew)}
}

const (
	// gebrdPanel is the number of columns and rows that are reduced before the rest of the matrix is updated.
	gebrdPanel = 16
	// gebrdBlock is the number of rows of the rest that one part updates.
	gebrdBlock = 128
	// gebrdCache is the number of elements that a part of a step reads twice: so many that they are still in the
	// second-level cache the second time.
	gebrdCache = 1 << 17
	// A part of a step multiplies from gebrdNarrow to gebrdWide columns.
	gebrdNarrow, gebrdWide = 64, 256
)

// gebrdWidth returns the number of columns, with the given number of rows, that a part of a step multiplies.
func gebrdWidth(rows int) int {
	return max(gebrdNarrow, min(gebrdCache/rows&^(gebrdNarrow-1), gebrdWide))
}

// gebrdParts returns an upper bound on the number of these parts for n columns.
func gebrdParts(n int) int { return (n + gebrdNarrow - 1) / gebrdNarrow }

// GebrdWork returns the number of elements of scratch that Gebrd needs for an m×n matrix.
func GebrdWork(m, n int) int {
	return 2*gebrdPanel*(m+n) + m + gebrdParts(n)*(m+2*gebrdPanel)
}

// Gebrd reduces the m×n matrix A, m ≥ n, to
//
//	Qᵀ·A·P = B,  Q = H(0)·…·H(n−1),  P = G(0)·…·G(n−2),
//
// an upper bidiagonal matrix with the diagonal d and e above it. The reflectors are H(i) = I − tauq(i)·v(i)·v(i)ᵀ and
// G(i) = I − taup(i)·u(i)·u(i)ᵀ. v(i) is zero above element i, which is 1, and overwrites column i of a from row i+1
// on. u(i) is zero up to element i, has 1 as element i+1, and overwrites row i from column i+2 on. d and e overwrite
// their elements of a.
//
// d and tauq have n elements, and e and taup at least n−1. work holds at least [GebrdWork] elements. Gebrd panics with
// ErrDim if m < n, and with ErrStride or ErrShort if a does not hold such a matrix. Squares of the elements of A must
// neither overflow nor underflow.
//
// References: LAPACK xGEBRD and xLABRD; Howell et al., Cache efficient bidiagonalization using BLAS 2.5 operators
// (LAWN 174), for both products of a step in one pass over the matrix.
func (t *Bidiagonal[T]) Gebrd(m, n int, a []T, lda int, d, e, tauq, taup, work []T) {
	checkMatrix(m, n, len(a), lda)
	if m < n {
		panic(ErrDim)
	}
	if t.few(m) {
		t.gebd2(m, n, a, lda, d, e, tauq, taup, work)
		return
	}
	p := bidiagonalPanel[T]{Bidiagonal: t, m: m, n: n, a: a, lda: lda}
	p.v, p.y = take(&work, 2*gebrdPanel*m), take(&work, 2*gebrdPanel*n)
	p.column, p.sums = take(&work, m), take(&work, gebrdParts(n)*m)
	p.coeffs = take(&work, gebrdParts(n)*2*gebrdPanel)
	for k := 0; k < n && !t.stopped(); k += gebrdPanel {
		nb := min(gebrdPanel, n-k)
		// X and U follow V and Y, so that the update is one product.
		p.x, p.u = p.v[nb*m:], p.y[nb*n:]
		p.reduce(k, nb, d, e, tauq, taup)
		if rest := k + nb; rest < n {
			t.crew((m-rest+gebrdBlock-1)/gebrdBlock, t.Work(max(m, n)), func(part, _ int, work []T) {
				i := rest + part*gebrdBlock
				t.Gemm(blas.Trans, blas.NoTrans, min(gebrdBlock, m-i), n-rest, 2*nb, -1, p.v[i:], m, p.y[rest:], n,
					1, a[i*lda+rest:], lda, work)
			})
		}
	}
}

// bidiagonalPanel is the reduction of a panel, some columns and rows. After it, the rest of A becomes A − Vᵀ·Y − Xᵀ·U.
// Each step computes one row of V, Y, X and U. V and U are the vectors of the reflectors.
type bidiagonalPanel[T Element] struct {
	*Bidiagonal[T]
	m, n       int
	a          []T
	lda        int
	v, x, y, u []T // rows are m, m, n and n elements apart
	column     []T // scratch for a column of A
	sums       []T // what each part of a step contributes to A·u, m elements apart
	coeffs     []T // what each part contributes to Y·u and U·u, 2·gebrdPanel elements apart
}

// reduce reduces columns and rows k to k+nb−1.
func (t *bidiagonalPanel[T]) reduce(k, nb int, d, e, tauq, taup []T) {
	t.columns(k, nb)
	var dots [2 * gebrdPanel]T
	for i := k; i < k+nb; i++ {
		step := i - k // the number of steps of this panel before this one
		v := t.columnReflector(i, step, d, tauq)
		if i == t.n-1 {
			break
		}
		clear(dots[:])
		t.products(step, len(v), t.v[i:], t.m, v, dots[:step])
		t.products(step, len(v), t.x[i:], t.m, v, dots[gebrdPanel:])
		parts := t.inParts(i, func(part, lo, hi int) {
			t.left(i, step, lo, hi, v, &dots, tauq[i])
			t.right(i, step, lo, hi, part)
		})
		t.rowReflector(i, step, nb, parts, e, taup)
	}
	t.store(k, nb, d)
}

// columnReflector computes reflector i from the left, which it leaves in row step of V and returns.
func (t *bidiagonalPanel[T]) columnReflector(i, step int, d, tauq []T) []T {
	m, n := t.m, t.n
	// The earlier steps of this panel have not changed column i of A yet.
	v := t.v[step*m:][i:m:m]
	t.subtract(step, len(v), t.v[i:], t.y[i:], m, n, v)
	t.subtract(step, len(v), t.x[i:], t.u[i:], m, n, v)
	tauq[i], d[i] = t.larfg(v)
	v[0] = 1
	return v
}

// rowReflector computes reflector i from the right, which it leaves in row step of U and in row i of A, and row step of X.
func (t *bidiagonalPanel[T]) rowReflector(i, step, nb, parts int, e, taup []T) {
	m, n := t.m, t.n
	u := t.u[step*n:][i+1 : n : n]
	alpha, row := u[0], t.a[i*t.lda:][i+1:n]
	taup[i], e[i] = t.larfg(u)
	u[0] = 1
	copy(row, u)
	row[0] = e[i]
	x := t.x[step*m:][i+1 : m : m]
	if taup[i] == 0 {
		clear(x)
		return
	}
	// The parts have multiplied the row as it was before larfg: (alpha−beta)·u, with beta added to its first
	// element.
	factor, beta := 1/(alpha-e[i]), e[i]
	eps := scalar.Eps[T]()
	large := eps * eps / scalar.SafeMin[T]() // products with numbers of at most 1/large may have lost bits to underflow
	if !(math.Abs(float64(factor)) < large) {
		t.inParts(i, func(part, lo, hi int) { t.right(i, step, lo, hi, part) })
		factor, beta = 1, 0
	}
	t.combine(i, step, nb, parts, factor, beta, taup[i], x)
}

// inParts calls f for columns lo to hi−1 of each part of columns i+1 to n−1, and returns the number of parts.
func (t *bidiagonalPanel[T]) inParts(i int, f func(part, lo, hi int)) int {
	width := gebrdWidth(t.m - i)
	begin := (i + 1) / width // parts begin at multiples of the width
	parts := (t.n+width-1)/width - begin
	if parts == 1 {
		f(0, i+1, t.n)
		return 1
	}
	t.crew(parts, 0, func(part, _ int, _ []T) {
		lo := (begin + part) * width
		f(part, max(lo, i+1), min(lo+width, t.n))
	})
	return parts
}

// columns copies the panel's columns of A to the rows of V.
func (t *bidiagonalPanel[T]) columns(k, nb int) {
	for i := k; i < t.m; i++ {
		for p, x := range t.a[i*t.lda+k:][:nb] {
			t.v[p*t.m+i] = x
		}
	}
}

// store copies the rows of V, below the diagonal, back to the panel's columns of A, and d to the diagonal.
func (t *bidiagonalPanel[T]) store(k, nb int, d []T) {
	for i := k; i < t.m; i++ {
		row := t.a[i*t.lda+k:][:nb]
		for p := range row[:min(i-k, nb)] {
			row[p] = t.v[p*t.m+i]
		}
		if i < k+nb {
			row[i-k] = d[i]
		}
	}
}

// left computes columns lo to hi−1 of row step of Y,
//
//	y = tau·(Aᵀ·v − Yᵀ·(V·v) − Uᵀ·(X·v)),
//
// where c holds V·v and X·v. It then computes the same columns of row i of A with the changes of this panel so far, and
// leaves them in row step of U.
func (t *bidiagonalPanel[T]) left(i, step, lo, hi int, v []T, c *[2 * gebrdPanel]T, tau T) {
	m, n := t.m, t.n
	y, u := t.y[step*n:][lo:hi:hi], t.u[step*n:][lo:hi:hi]
	clear(y)
	t.stripColumns(lo, len(v), len(y), t.a[i*t.lda+lo:], t.lda, v, y)
	t.subtract(step, len(y), t.y[lo:], c[:], n, 1, y)
	t.subtract(step, len(y), t.u[lo:], c[gebrdPanel:], n, 1, y)
	scalWith(&t.vectors, tau, y)
	copy(u, t.a[i*t.lda+lo:])
	t.subtract(step+1, len(u), t.y[lo:], t.v[i:], n, m, u)
	t.subtract(step, len(u), t.u[lo:], t.x[i:], n, m, u)
}

// right computes what columns lo to hi−1 contribute to A·u, Y·u and U·u, for part's rows of sums and coeffs.
func (t *bidiagonalPanel[T]) right(i, step, lo, hi, part int) {
	n := t.n
	u := t.u[step*n:][lo:hi:hi]
	s, c := t.sums[part*t.m:][i+1:t.m], t.coeffs[part*2*gebrdPanel:][:2*gebrdPanel]
	clear(s)
	clear(c)
	if len(s) > 0 {
		t.stripRows(lo, len(s), len(u), t.a[(i+1)*t.lda+lo:], t.lda, u, s)
	}
	t.products(step+1, len(u), t.y[lo:], n, u, c[:step+1])
	t.products(step, len(u), t.u[lo:], n, u, c[gebrdPanel:])
}

// combine computes row step of X,
//
//	x = tau·(A·u − Vᵀ·(Y·u) − Xᵀ·(U·u)),
//
// from what the parts have left in sums and coeffs. They have multiplied by u/factor + beta·e instead of u, where e is
// the first unit vector.
func (t *bidiagonalPanel[T]) combine(i, step, nb, parts int, factor, beta, tau T, x []T) {
	m, n := t.m, t.n
	sum, c := t.sums[i+1:m], t.coeffs
	for part := 1; part < parts; part++ {
		for j, v := range t.sums[part*m+i+1:][:len(sum)] {
			sum[j] += v
		}
		for j, v := range t.coeffs[part*2*gebrdPanel:][:2*gebrdPanel] {
			c[j] += v
		}
	}
	if beta != 0 {
		column := t.column[:len(sum)]
		if step+1 < nb { // V has that column of A already
			column = t.v[(step+1)*m+i+1:]
		} else {
			for j := range column {
				column[j] = t.a[(i+1+j)*t.lda+i+1]
			}
		}
		for q := range step + 1 {
			c[q] = factor * (c[q] - beta*t.y[q*n+i+1])
		}
		for q := range step {
			c[gebrdPanel+q] = factor * (c[gebrdPanel+q] - beta*t.u[q*n+i+1])
		}
		for j, v := range sum {
			x[j] = factor * (v - beta*column[j])
		}
	} else {
		copy(x, sum)
	}
	t.subtract(step+1, len(x), t.v[i+1:], c, m, 1, x)
	t.subtract(step, len(x), t.x[i+1:], c[gebrdPanel:], m, 1, x)
	scalWith(&t.vectors, tau, x)
}
