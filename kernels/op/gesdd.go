package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/bidiag"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/tridiag"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Gesdd is the parameter of op "gesdd" (LAPACK xGESDD): the singular values and, unless Values is set, the
// singular vectors of an m×n tile, m ≥ n,
//
//	A = Uᵀ·diag(σ)·V.
//
// Operands: A (inout, m×n: overwritten), σ (out, 1×n: descending), U (out, left vectors as rows: n×m, or m×m for
// all, the last m−n of which belong to no value), V (out, n×n: right vectors as rows). U and V are not there if Values
// is set.
//
// Elements of A must be finite. An iteration that does not converge is a *tridiag.ConvergenceError; the rest is
// then undefined.
type Gesdd struct {
	Values bool
}

// gesddOp defines op "gesdd".
func gesddOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "gesdd", Work: gesddWork[T], NewParams: fresh[Gesdd]},
		about: "singular values and vectors of a matrix",
		host: func(i implementation[T]) versions.Version {
			return versions.Version{Run: gesdd(i.blas, i.qr), Help: gesddHelp[T]}
		},
	}
}

// gesddOf returns the operands of op "gesdd"; u and v are nil for values only.
func gesddOf[T kernels.Element](call *versions.Call) (a, sigma, u, v *kernels.Tile[T]) {
	if params[Gesdd](call).Values {
		a, sigma = args[T](call, 2)
	} else {
		a, v = args[T](call, 4)
		sigma, u = arg[T](call, 1), arg[T](call, 2)
		if u.Cols != a.Rows || u.Rows != a.Rows && u.Rows != a.Cols || v.Rows != a.Cols || v.Cols != a.Cols {
			panic(kernels.ErrShape)
		}
	}
	if a.Rows < a.Cols || sigma.Cols != a.Cols || sigma.Rows != 1 {
		panic(kernels.ErrShape)
	}
	return a, sigma, u, v
}

// gesddWork returns the work without deflation and without a QR factorization: 4·n²·(m−n/3) for the reduction, 8/3·n³
// for divide and conquer, and 2·n³ and 2·r·n·(2·m−n) for the reflectors of n and r vectors.
func gesddWork[T kernels.Element](call *versions.Call) float64 {
	a, _, u, _ := gesddOf[T](call)
	m, n := float64(a.Rows), float64(a.Cols)
	work := 4*n*n*m - 4*n*n*n/3
	if u != nil {
		work += 14*n*n*n/3 + 2*float64(u.Rows)*n*(2*m-n)
	}
	return work
}

// gesddAlone is the order up to which one unit is as fast as several.
const gesddAlone = 192

// gesddHelp returns how many units a call makes use of: they stay, since they meet once a column.
func gesddHelp[T kernels.Element](call *versions.Call) (units int, stay bool) {
	a, _, _, _ := gesddOf[T](call)
	return max(1, int(float64(a.Rows)*float64(a.Cols)/(gesddAlone*gesddAlone))), true
}

// gesddBlock is how many reflectors of the QR factorization are applied as one.
const gesddBlock = 32

// gesdd returns the function of a version of op "gesdd".
func gesdd[T kernels.Element](r cpu.Routines[T], q cpu.QRRoutines[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		a, sigma, u, v := gesddOf[T](call)
		m, n := a.Rows, a.Cols
		if n == 0 {
			identityFrom(u, 0)
			return nil
		}
		scale := moderate(a, blas.All)
		tall := 6*m >= 11*n && m > n // as in LAPACK
		order := m                   // of the matrix that is reduced, with n columns
		if tall {
			order = n
		}
		size := cpu.GebrdWork(order, n)
		if u != nil {
			size = max(size, bidiag.WorkBdsdc(n), cpu.OrmbrWork(order, n))
		}
		if tall {
			size = max(size, q.Work(m, n, gesddBlock)) + n*n + gesddBlock*n
		}
		work := versions.Scratch[T](call.Work, 3*n+size)
		take := func(k int) []T {
			s := work[:k:k]
			work = work[k:]
			return s
		}
		e, tauq, taup := take(n)[:n-1], take(n), take(n)
		d := sigma.Row(0)
		b, ldb := a.Data, a.Stride
		var factor []T // of the block reflectors
		if tall {
			factor = take(gesddBlock * n)
			b, ldb = take(n*n), n
			gangQR(q, call, nil).Geqrt(m, n, gesddBlock, a.Data, a.Stride, factor, n, work)
			for i := range n {
				clear(b[i*n:][:i])
				copy(b[i*n+i:][:n-i], a.Row(i)[i:])
			}
		}
		units := crewOrAlone[T](call)
		t := cpu.NewBidiagonal(r, units)
		t.Gebrd(order, n, b, ldb, d, e, tauq, taup, work)
		if u == nil {
			if err := bidiag.Bdsqr(d, e, bidiag.Matrix[T]{Rows: n}, bidiag.Matrix[T]{Rows: n}); err != nil {
				return err
			}
		} else {
			square := func(x *kernels.Tile[T]) bidiag.Matrix[T] {
				return bidiag.Matrix[T]{Rows: n, Cols: n, Stride: x.Stride, Data: x.Data}
			}
			product := tridiag.Product[T]{Work: r.Work, Mul: func(m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int, work []T) {
				r.Gemm(blas.NoTrans, blas.NoTrans, m, n, k, 1, a, lda, b, ldb, 0, c, ldc, work)
			}}
			if err := bidiag.Bdsdc(d, e, square(u), square(v), work, product, tridiag.Crew[T](units)); err != nil {
				return err
			}
			t.OrmbrP(n, n, b, ldb, taup, v.Data, v.Stride, work)
			for i := range n {
				clear(u.Row(i)[n:])
			}
			identityFrom(u, n)
			if tall {
				t.OrmbrQ(n, n, n, b, ldb, tauq, u.Data, u.Stride, work)
				gangQR(q, call, nil).Gemqrt(blas.Right, blas.Trans, u.Rows, m, n, gesddBlock, a.Data, a.Stride, factor, n, u.Data, u.Stride, work)
			} else {
				t.OrmbrQ(u.Rows, m, n, b, ldb, tauq, u.Data, u.Stride, work)
			}
		}
		for i := range d {
			d[i] /= scale
		}
		return nil
	}
}

// identityFrom makes rows of x from row i on those of the identity. x may be nil.
func identityFrom[T kernels.Element](x *kernels.Tile[T], i int) {
	if x == nil {
		return
	}
	for ; i < x.Rows; i++ {
		clear(x.Row(i))
		x.Row(i)[i] = 1
	}
}
