package cpu

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
)

// Indefinite factors symmetric matrices that need not be definite.
type Indefinite[T Element] struct{ condensed[T] }

// NewIndefinite returns the factorization by a set of routines and a crew. If crew is nil, the caller's goroutine does
// all the work. The bits of the result do not depend on the crew.
func NewIndefinite[T Element](r Routines[T], crew Crew[T]) *Indefinite[T] {
	return &Indefinite[T]{newCondensed(r, crew)}
}

const (
	// sytrfPanel is the number of rows that are factored before the rest of the matrix is updated. Each row costs a
	// product with those before it that memory bounds; the update is hardly faster with more of them.
	sytrfPanel = 48
	// sytrfBlock is the largest number of rows of the rest that one part updates. There are sytrfParts parts at least, as
	// long as each has sytrfDiagonal rows.
	sytrfBlock = 240
	sytrfParts = 8
	// sytrfDiagonal is the number of rows of a block on the diagonal of which updateBy computes whole columns.
	sytrfDiagonal = 32
	// sytrfStrip is a multiple of the number of columns of each micro-kernel.
	sytrfStrip = 48
	// sytrfShare is the number of products of an update of a row that one part computes, at least.
	sytrfShare = 1 << 15
)

// SytrfWork returns the number of elements of scratch that Sytrf needs for order n.
func SytrfWork(n int) int { return sytrfPacked(n) + (sytrfPanel+1)*n }

// sytrfPacked is the part of that for W as products read it.
func sytrfPacked(n int) int { return roundUp(sytrfPanel*roundUp(n, sytrfStrip), 16) }

// Sytrf factors the symmetric n×n matrix A, whose upper triangle is stored in a,
//
//	P·A·Pᵀ = Uᵀ·D·U,
//
// with U unit upper triangular and D block diagonal with blocks of order 1 and 2. U overwrites the upper triangle of a
// above the diagonal; what is on and below the diagonal is undefined. d gets the diagonal of D, and e its elements
// beside the diagonal: e[k] ≠ 0 says that rows k and k+1 are a block of order 2. U has a zero beside the diagonal
// there. P exchanges row k with row swaps[k] ≥ k, for k = 0, 1, … in this order.
//
// Sytrf returns the number, counted from 1, of the first block of D that is zero, or 0. The factorization is complete
// in any case.
//
// Pivots are chosen by Bunch-Kaufman pivoting, or if rook is set by bounded Bunch-Kaufman pivoting: then no element of U
// exceeds 2.8 in magnitude. d, e and swaps have n elements. work holds at least [SytrfWork] elements. Squares of the
// elements of A should not overflow.
//
// References: LAPACK xSYTRF and xSYTRF_RK, with UPLO = 'L' for the same elements by columns; Ashcraft, Grimes and Lewis,
// Accurate symmetric indefinite linear equation solvers, SIAM J. Matrix Anal. Appl. 20 (1998).
func (t *Indefinite[T]) Sytrf(rook bool, n int, a []T, lda int, d, e []T, swaps []int, work []T) (zero int) {
	checkMatrix(n, n, len(a), lda)
	work = work[:SytrfWork(n)]
	most := sytrfPacked(n)
	f := indefinitePanel[T]{
		Indefinite: t, rook: rook, n: n, a: a, lda: lda, packed: work[:most:most], w: work[most:], d: d[:n], e: e[:n], swaps: swaps[:n],
	}
	clear(f.e)
	for k := 0; k < n; {
		next := f.factor(k)
		f.update(k, next)
		k = next
	}
	f.permute()
	return f.zero
}

// indefinitePanel is the factorization of a panel, some rows of U. Their products with D are the rows of w. The rest of
// A then becomes A − Uᵀ·W.
type indefinitePanel[T Element] struct {
	*Indefinite[T]
	rook   bool
	n      int
	a      []T
	lda    int
	packed []T // W as products read it
	w      []T // rows are n elements apart
	d, e   []T
	swaps  []int
	zero   int
	ends   [][2]int
}

// factor factors rows from first on, and returns the row after the last.
func (f *indefinitePanel[T]) factor(first int) int {
	alpha := T((1 + math.Sqrt(17)) / 8)
	n := f.n
	k := first
	for k < n && (k-first < sytrfPanel-1 || n-first <= sytrfPanel) {
		j := k - first
		x, y := f.w[j*n:][:n], f.w[(j+1)*n:][:n]
		f.row(first, k, k, x)
		p, pivot, two := k, k, false
		diagonal := abs(x[k])
		at, most := largest(x, k+1, n)
		if k+1 < n && !(diagonal >= alpha*most) {
			// Row p has its largest element beside the diagonal at column at. The search ends since most grows.
			for {
				f.row(first, k, at, y)
				beside, size := largest(y, k, at)
				if right, s := largest(y, at+1, n); s > size {
					beside, size = right, s
				}
				if !f.rook && diagonal >= alpha*most*(most/size) {
					break
				}
				if abs(y[at]) >= alpha*size {
					pivot = at
					copy(x[k:], y[k:])
					break
				}
				if !f.rook || beside == p || !(size > most) {
					pivot, two = at, true
					break
				}
				p, most, at = at, size, beside
				copy(x[k:], y[k:])
			}
		}
		if !two {
			f.exchange(first, k, pivot, j+1)
			f.one(k, x)
			k++
			continue
		}
		f.exchange(first, k, p, j+2)
		if pivot == k { // it was row k, and is now where p was
			pivot = p
		}
		f.exchange(first, k+1, pivot, j+2)
		f.two(k, x, y)
		k += 2
	}
	return k
}

// abs returns the magnitude of x.
func abs[T Element](x T) T { return T(math.Abs(float64(x))) }

// largest returns the index and the magnitude of the first of the largest elements lo to hi−1 of x; 0 and lo if there
// are none.
func largest[T Element](x []T, lo, hi int) (at int, size T) {
	if lo >= hi {
		return lo, 0
	}
	x = x[lo:hi]
	size = T(math.Float64frombits(TopBits(x)))
	for i, v := range x {
		if v == size || v == -size {
			return lo + i, size
		}
	}
	return lo, size // NaN
}

// row sets elements k to n−1 of x to those of row c of the rest of A, with the changes of this panel so far, which
// begins with row first.
func (f *indefinitePanel[T]) row(first, k, c int, x []T) {
	n, steps := f.n, k-first
	update := func(lo, hi int) {
		for i := lo; i < min(c, hi); i++ {
			x[i] = f.a[i*f.lda+c]
		}
		if from := max(lo, c); from < hi {
			copy(x[from:hi], f.a[c*f.lda+from:])
		}
		f.subtract(steps, hi-lo, f.a[first*f.lda+lo:], f.w[c:], f.lda, n, x[lo:hi])
	}
	const width = vecChunk
	parts := min((steps+8)*(n-k)/sytrfShare, (n-k)/width)
	if parts < 2 {
		update(k, n)
		return
	}
	size := roundUp((n-k+parts-1)/parts, width)
	parts = (n - k + size - 1) / size
	f.crew(parts, 0, func(part, _ int, _ []T) {
		lo := k + part*size
		update(lo, min(lo+size, n))
	})
}

// exchange exchanges rows and columns k and p ≥ k of the rest of A, of the rows of the panel, and of so many rows of w.
// Row k of the rest of A is not stored: w has it.
func (f *indefinitePanel[T]) exchange(first, k, p, rows int) {
	f.swaps[k] = p
	if p == k {
		return
	}
	a, lda, n := f.a, f.lda, f.n
	row := a[k*lda:][:n]
	for i := k + 1; i < p; i++ {
		a[i*lda+p] = row[i]
	}
	a[p*lda+p] = row[k]
	copy(a[p*lda+p+1:][:n-p-1], row[p+1:])
	for i := first; i < k; i++ {
		a[i*lda+k], a[i*lda+p] = a[i*lda+p], a[i*lda+k]
	}
	for i := range rows {
		f.w[i*n+k], f.w[i*n+p] = f.w[i*n+p], f.w[i*n+k]
	}
}

// one makes row k of U from x, its product with a block of order 1.
func (f *indefinitePanel[T]) one(k int, x []T) {
	u := f.a[k*f.lda+k+1:][:f.n-k-1]
	x, pivot := x[k+1:], x[k]
	f.d[k] = pivot
	if pivot == 0 {
		if f.zero == 0 {
			f.zero = k + 1
		}
		clear(u)
		return
	}
	if factor := 1 / pivot; !math.IsInf(float64(factor), 0) {
		for i, v := range x {
			u[i] = factor * v
		}
		return
	}
	for i, v := range x {
		u[i] = v / pivot
	}
}

// two makes rows k and k+1 of U from x and y, their products with a block of order 2.
func (f *indefinitePanel[T]) two(k int, x, y []T) {
	beside := x[k+1]
	f.d[k], f.d[k+1], f.e[k] = x[k], y[k+1], beside
	p, q := y[k+1]/beside, x[k]/beside
	u, v := f.a[k*f.lda+k+1:][:f.n-k-1], f.a[(k+1)*f.lda+k+2:][:f.n-k-2]
	u[0], u = 0, u[1:]
	x, y = x[k+2:], y[k+2:]
	scale := 1 / (p*q - 1)
	if factor := scale / beside; !math.IsInf(float64(factor), 0) {
		for i, b := range y {
			u[i] = factor * (p*x[i] - b)
			v[i] = factor * (q*b - x[i])
		}
		return
	}
	for i, b := range y {
		u[i] = scale * ((p*x[i] - b) / beside)
		v[i] = scale * ((q*b - x[i]) / beside)
	}
}

// update computes A −= Uᵀ·W for the upper triangle of the rows from next on, where the panel is rows first to next−1.
// W is packed once for all parts.
func (f *indefinitePanel[T]) update(first, next int) {
	f.ends = append(f.ends, [2]int{first, next})
	n, k := f.n, next-first
	if next == n {
		return
	}
	rows := min(sytrfBlock, max(roundUp((n-next)/sytrfParts, sytrfDiagonal), sytrfDiagonal))
	p, ok := f.Routines.(*Packed[T])
	if !ok || !p.vectors.set() {
		f.updateBy(rows, first, next)
		return
	}
	w := operand[T]{f.w[next:], n, false, nil}
	packed := f.packed[:p.stepB(n-next, k)]
	p.Shared(1, f.crew).packB(packed, w, 0, 0, n-next, k)
	f.crew((n-next+rows-1)/rows, p.stepA(rows, k), func(part, _ int, work []T) {
		i := next + part*rows
		s := strip[T]{m: min(rows, n-i), k: k, alpha: -1, beta: 1, padded: true, ldc: f.lda}
		p.operandA(&s, operand[T]{f.a[first*f.lda:], f.lda, true, nil}, n, k, i, 0, true, work)
		p.blockStrips(s, blas.Upper, i-next, packed, n-next, 0, n-next, f.a[i*f.lda+next:])
	})
}

// updateBy is update by blocks of so many rows, with products of the routines. It also overwrites elements of the lower
// triangles of the blocks on the diagonal.
func (f *indefinitePanel[T]) updateBy(rows, first, next int) {
	n := f.n
	f.crew((n-next+rows-1)/rows, f.Work(n), func(part, _ int, work []T) {
		i := next + part*rows
		product := func(i, rows, j, columns int) {
			f.Gemm(blas.Trans, blas.NoTrans, rows, columns, next-first, -1, f.a[first*f.lda+i:], f.lda, f.w[j:], n, 1,
				f.a[i*f.lda+j:], f.lda, work)
		}
		end := min(i+rows, n)
		if end < n {
			product(i, end-i, end, n-end)
		}
		for ; i < end; i += sytrfDiagonal { // little of what is below the diagonal
			product(i, min(sytrfDiagonal, end-i), i, end-i)
		}
	})
}

// permute exchanges the columns of each panel's rows that later panels have exchanged.
func (f *indefinitePanel[T]) permute() {
	var moved []int // the columns that were exchanged with others
	for k, p := range f.swaps {
		if p != k {
			moved = append(moved, k)
		}
	}
	f.crew(len(f.ends), 0, func(part, _ int, _ []T) {
		first, next := f.ends[part][0], f.ends[part][1]
		at, _ := slices.BinarySearch(moved, next)
		for i := first; i < next; i++ {
			row := f.a[i*f.lda:][:f.n]
			for _, k := range moved[at:] {
				p := f.swaps[k]
				row[k], row[p] = row[p], row[k]
			}
		}
	})
}
