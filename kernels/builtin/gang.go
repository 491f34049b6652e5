package builtin

import (
	"math"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// ganged makes versions that use several computing units out of routines for
// one: a tile operation is cut into independent parts, which the units of the
// call's gang take. Every element is computed by the same operations in the
// same order however many units there are, so results do not depend on them.
type ganged[T kernels.Element] struct {
	r     cpu.Routines[T]
	units int // that the versions ask for
	grain int // least extent of a part: it must pay for packing anew
	block int // columns that potrf factors between its parallel steps
}

// part is work on one piece of the tiles, with scratch for T.
type part[T kernels.Element] func(lo, hi int, work []T)

// strips cuts n into strips of at least the grain, two a unit so that a unit
// that comes late still finds one, and runs them on the gang. A strip begins
// where weight says that its share of the work begins. dim is the largest
// dimension of the routines that the parts call.
func (g *ganged[T]) strips(call *versions.Call, n, dim int, weight func(share float64) float64, f part[T]) {
	parts := max(1, min(2*g.units, n/g.grain))
	bound := func(i int) int {
		if i == parts {
			return n
		}
		at := weight(float64(i)/float64(parts)) * float64(n)
		return int(at) / g.grain * g.grain
	}
	call.Parallel(parts, func(i int, w *versions.Workspace) {
		if lo, hi := bound(i), bound(i+1); lo < hi {
			f(lo, hi, versions.Scratch[T](w, g.r.Work(dim)))
		}
	})
}

// even gives every strip the same extent.
func even(share float64) float64 { return share }

func (g *ganged[T]) gemm(call *versions.Call) error {
	p := params[kernels.Gemm](call)
	a, c := args[T](call, 3)
	b := arg[T](call, 1)
	m, k := dims(a, p.TransA)
	kb, n := dims(b, p.TransB)
	if k != kb || c.Rows != m || c.Cols != n {
		panic(kernels.ErrShape)
	}
	p.PackA.Done(false)
	p.PackB.Done(false)
	g.gemmStrips(call, p.TransA, p.TransB, m, n, k, T(p.Alpha), a.Data, a.Stride, b.Data, b.Stride, T(p.Beta), c.Data, c.Stride)
	return nil
}

// gemmStrips computes C = alpha·op(A)·op(B) + beta·C in strips of rows or, if
// C is wider than high, of columns.
func (g *ganged[T]) gemmStrips(call *versions.Call, transA, transB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	if m == 0 || n == 0 {
		return
	}
	dim := max(m, n, k)
	if m >= n {
		g.strips(call, m, dim, even, func(lo, hi int, work []T) {
			g.r.Gemm(transA, transB, hi-lo, n, k, alpha, rows(a, lda, transA, lo), lda, b, ldb, beta, c[lo*ldc:], ldc, work)
		})
		return
	}
	g.strips(call, n, dim, even, func(lo, hi int, work []T) {
		g.r.Gemm(transA, transB, m, hi-lo, k, alpha, a, lda, rows(b, ldb, flip(transB), lo), ldb, beta, c[lo:], ldc, work)
	})
}

// rows returns op(X) from row i on.
func rows[T kernels.Element](x []T, ld int, trans blas.Transpose, i int) []T {
	if trans != blas.NoTrans {
		return x[min(i, len(x)):]
	}
	return x[min(i*ld, len(x)):]
}

func flip(trans blas.Transpose) blas.Transpose {
	if trans == blas.NoTrans {
		return blas.Trans
	}
	return blas.NoTrans
}

func (g *ganged[T]) syrk(call *versions.Call) error {
	p := params[kernels.Syrk](call)
	a, c := args[T](call, 2)
	n, k := dims(a, p.Trans)
	if c.Rows != n || c.Cols != n {
		panic(kernels.ErrShape)
	}
	p.PackA.Done(false)
	p.PackB.Done(false)
	g.syrkStrips(call, p.Uplo, p.Trans, n, k, T(p.Alpha), a.Data, a.Stride, T(p.Beta), c.Data, c.Stride)
	return nil
}

// syrkStrips computes C = alpha·op(A)·op(A)ᵀ + beta·C in strips of rows: the
// triangle on the diagonal by syrk, the rectangle beside it by gemm.
func (g *ganged[T]) syrkStrips(call *versions.Call, uplo blas.Uplo, trans blas.Transpose, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int) {
	// Row i of the lower triangle has i elements: the rows of a share s of the
	// work end at √s of the height. The upper one is its mirror image.
	weight := math.Sqrt
	if uplo == blas.Upper {
		weight = func(share float64) float64 { return 1 - math.Sqrt(1-share) }
	}
	g.strips(call, n, max(n, k), weight, func(lo, hi int, work []T) {
		left := rows(a, lda, trans, lo)
		g.r.Syrk(uplo, trans, hi-lo, k, alpha, left, lda, beta, c[lo*ldc+lo:], ldc, work)
		if uplo == blas.Lower {
			if lo > 0 {
				g.r.Gemm(trans, flip(trans), hi-lo, lo, k, alpha, left, lda, a, lda, beta, c[lo*ldc:], ldc, work)
			}
		} else if hi < n {
			g.r.Gemm(trans, flip(trans), hi-lo, n-hi, k, alpha, left, lda, rows(a, lda, trans, hi), lda, beta, c[lo*ldc+hi:], ldc, work)
		}
	})
}

func (g *ganged[T]) trsm(call *versions.Call) error {
	p := params[kernels.Trsm](call)
	a, b := args[T](call, 2)
	order := b.Rows
	if p.Side == blas.Right {
		order = b.Cols
	}
	if a.Rows < order || a.Cols < order {
		panic(kernels.ErrShape)
	}
	g.trsmStrips(call, p.Side, p.Uplo, p.Trans, p.Diag, b.Rows, b.Cols, T(p.Alpha), a.Data, a.Stride, b.Data, b.Stride)
	return nil
}

// trsmStrips solves for strips of right-hand sides.
func (g *ganged[T]) trsmStrips(call *versions.Call, side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int) {
	if m == 0 || n == 0 {
		return
	}
	if side == blas.Right {
		g.strips(call, m, max(m, n), even, func(lo, hi int, work []T) {
			g.r.Trsm(side, uplo, trans, diag, hi-lo, n, alpha, a, lda, b[lo*ldb:], ldb, work)
		})
		return
	}
	g.strips(call, n, max(m, n), even, func(lo, hi int, work []T) {
		g.r.Trsm(side, uplo, trans, diag, m, hi-lo, alpha, a, lda, b[lo:], ldb, work)
	})
}

// potrf factors blocks of columns (rows, if upper) one after the other; what
// follows each is done by the gang.
func (g *ganged[T]) potrf(call *versions.Call) error {
	p := params[kernels.Potrf](call)
	t, _ := args[T](call, 1)
	if t.Cols != t.Rows {
		panic(kernels.ErrShape)
	}
	return g.factor(call, p.Uplo, p.Offset, t)
}

// factor is potrf of a tile.
func (g *ganged[T]) factor(call *versions.Call, uplo blas.Uplo, offset int, t *kernels.Tile[T]) error {
	n, a, lda := t.Rows, t.Data, t.Stride
	for k := 0; k < n; k += g.block {
		kb := min(g.block, n-k)
		rest := n - k - kb
		diagonal := a[k*lda+k:]
		work := versions.Scratch[T](call.Work, g.r.Work(kb))
		if info := g.r.Potrf(uplo, kb, diagonal, lda, work); info != 0 {
			return &kernels.NotPositiveDefiniteError{Minor: offset + k + info}
		}
		if rest == 0 {
			break
		}
		trailing := a[(k+kb)*lda+k+kb:]
		if uplo == blas.Lower {
			panel := a[(k+kb)*lda+k:]
			g.trsmStrips(call, blas.Right, blas.Lower, blas.Trans, blas.NonUnit, rest, kb, 1, diagonal, lda, panel, lda)
			g.syrkStrips(call, blas.Lower, blas.NoTrans, rest, kb, -1, panel, lda, 1, trailing, lda)
		} else {
			panel := a[k*lda+k+kb:]
			g.trsmStrips(call, blas.Left, blas.Upper, blas.Trans, blas.NonUnit, kb, rest, 1, diagonal, lda, panel, lda)
			g.syrkStrips(call, blas.Upper, blas.Trans, rest, kb, -1, panel, lda, 1, trailing, lda)
		}
	}
	return nil
}
