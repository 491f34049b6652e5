package op

import (
	"math"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/schur"
	"github.com/tessera-la/tessera/kernels/tridiag"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Geev is the parameter of op "geev" (LAPACK xGEEV): the eigenvalues of an n×n tile and, if Left or Right is set, its
// eigenvectors,
//
//	A·v = λ·v,  uᴴ·A = λ·uᴴ.
//
// Operands: A (inout, n×n, overwritten), λ (out, 2×n: real parts in row 0, imaginary parts in row 1), and if they are
// wanted U (out, n×n), then V (out, n×n). The two eigenvalues of a complex pair follow each other, that with the positive
// imaginary part first. Row i of V is the eigenvector of a real eigenvalue i; rows i and i+1 are the real and the imaginary
// part of that of the first eigenvalue of a pair. Eigenvectors have norm 1, and the largest element of a complex one is real.
//
// Elements of A must be finite. If the iteration does not converge, the version returns a *tridiag.ConvergenceError, and
// if the context ends, the cause of that. All operands are undefined then. Call.Local may be an *[Account]. The version
// panics with kernels.ErrShape if the shapes do not fit together, and with kernels.ErrArgs if the number of operands is
// wrong.
type Geev struct {
	Left, Right bool // compute eigenvectors
}

// geevOp defines op "geev".
func geevOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "geev", Work: geevWork[T], NewParams: fresh[Geev]},
		about: "eigenvalues and eigenvectors of a matrix",
		run:   geev[T],
		help:  inStep[T](geevAlone, order[T]),
	}
}

// geevOf returns the operands of op "geev". u and v are nil if they are not wanted.
func geevOf[T kernels.Element](call *versions.Call) (a, w, u, v *kernels.Tile[T]) {
	p := params[Geev](call)
	count := 2
	if p.Left {
		count++
	}
	if p.Right {
		count++
	}
	a, last := args[T](call, count)
	w = arg[T](call, 1)
	if p.Right {
		v = last
	}
	if p.Left {
		u = arg[T](call, 2)
	}
	for _, x := range []*kernels.Tile[T]{a, u, v} {
		panicIf(x != nil && (x.Rows != a.Rows || x.Cols != a.Rows), kernels.ErrShape)
	}
	panicIf(w.Rows != 2 || w.Cols != a.Cols, kernels.ErrShape)
	return a, w, u, v
}

// geevWork returns about what LAPACK counts: 10/3·n³ for the reduction, 20/3·n³ for the iteration without and 17·n³ with
// vectors, 4/3·n³ for the matrix of the reduction, and 2·n³ for eigenvectors of one side.
func geevWork[T kernels.Element](call *versions.Call) float64 {
	a, _, u, v := geevOf[T](call)
	n := float64(a.Rows)
	work := 10 * n * n * n
	if u != nil || v != nil {
		work = (10/3. + 17 + 4/3.) * n * n * n
	}
	for _, x := range []*kernels.Tile[T]{u, v} {
		if x != nil {
			work += 2 * n * n * n
		}
	}
	return work
}

// geevAlone is the order up to which one unit is as fast as several.
const geevAlone = 128

// geev returns the function of a version of op "geev".
func geev[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		a, w, u, v := geevOf[T](call)
		n, sides := a.Rows, 0
		for _, x := range []*kernels.Tile[T]{u, v} {
			if x != nil {
				sides++
			}
		}
		if n == 0 {
			return nil
		}
		watch, order := startStages(call), float64(n)
		scale := moderate(a, blas.All)
		s := newSchurForm(call, by, watch, a, w, sides > 0)
		flops := 10 * order * order * order / 3
		if s.Form {
			flops += 4 * order * order * order / 3
		}
		s.reduce()
		if err := watch.end("reduction", flops); err != nil {
			return err
		}
		if _, err := s.Run(s.balance.Lo, s.balance.Hi); err != nil {
			return err
		}
		if err := watch.end("QR iteration", 0); err != nil {
			return err
		}
		if v != nil {
			s.vectors(v, false)
		}
		if u != nil { // which overwrites T
			s.vectors(u, true)
		}
		for i := range 2 {
			for j := range n {
				w.Row(i)[j] /= scale
			}
		}
		if sides == 0 {
			return nil
		}
		return watch.end("eigenvectors", float64(sides)*5*order*order*order/3)
	}
}

// schurForm takes a matrix to Hessenberg form, to Schur form H = Zᵀ·A·Z and to eigenvectors, in this order.
type schurForm[T kernels.Element] struct {
	schur.Iteration[T]
	balance   schur.Balance[T]
	tau, work []T
}

// newSchurForm balances a copy of a. The eigenvalues go to w. vectors says that eigenvectors are wanted.
func newSchurForm[T kernels.Element](call *versions.Call, by implementation[T], watch *stopwatch, a, w *kernels.Tile[T], vectors bool) *schurForm[T] {
	n := a.Rows
	k := cpu.NewHessenberg(by.blas, crewOrAlone[T](call))
	k.Stop = watch.stop
	ld := n + 8 - n%8
	if ld%64 == 0 {
		ld += 8 // rows that are powers of two apart share few lines of the cache
	}
	size := 2*n + n*ld + cpu.GehrdWork(n)
	if vectors {
		size += n*ld + cpu.ReflectorsWork(n, n-1)
	}
	work := versions.Scratch[T](call.Work, size)
	take := func(k int) []T {
		s := work[:k:k]
		work = work[k:]
		return s
	}
	scales, tau := take(n), take(n)
	it := schur.Iteration[T]{Kernels: k, Form: vectors, Re: w.Row(0), Im: w.Row(1)}
	it.H = tridiag.Matrix[T]{Rows: n, Cols: n, Stride: ld, Data: take(n * ld)}
	for i := range n {
		copy(it.H.Row(i), a.Row(i))
	}
	balance := schur.NewBalance(it.H, scales)
	if vectors {
		it.Z = tridiag.Matrix[T]{Rows: n, Cols: n, Stride: ld, Data: take(n * ld)}
		it.ZLo, it.ZHi = balance.Lo, balance.Hi+1
	}
	return &schurForm[T]{Iteration: it, balance: balance, tau: tau, work: work}
}

// reduce takes H to Hessenberg form and computes Z, if eigenvectors are wanted.
func (s *schurForm[T]) reduce() {
	n, ld, lo, hi := s.H.Rows, s.H.Stride, s.balance.Lo, s.balance.Hi
	s.Kernels.Gehrd(n, lo, hi, s.H.Data, ld, s.tau, s.work)
	if s.Form {
		s.Kernels.Orghr(n, lo, hi, s.H.Data, ld, s.tau, s.Z.Data, ld, s.work)
	}
	for i := 2; i < n; i++ {
		clear(s.H.Row(i)[:i-1])
	}
}

// vectors computes the right eigenvectors of A in the rows of x, or the left ones, which overwrites H.
func (s *schurForm[T]) vectors(x *kernels.Tile[T], left bool) {
	form := schur.Vectors[T]{Kernels: s.Kernels, T: s.H, Z: s.Z, Left: left}
	form.To(tridiag.Matrix[T]{Rows: x.Rows, Cols: x.Cols, Stride: x.Stride, Data: x.Data})
	finishVectors(s.Kernels.Crew(), &s.balance, s.Im, x, left)
}

// finishVectors undoes balancing in the rows of x, and makes their norms 1 and the largest elements of complex ones real.
func finishVectors[T kernels.Element](crew cpu.Crew[T], b *schur.Balance[T], im []T, x *kernels.Tile[T], left bool) {
	const rows = 64
	crew((x.Rows+rows-1)/rows, 0, func(part, _ int, _ []T) {
		for i := part * rows; i < min((part+1)*rows, x.Rows); i++ {
			if im[i] < 0 {
				continue // done with the one before it
			}
			re := x.Row(i)
			b.Back(re, left)
			if im[i] == 0 {
				f := 1 / math.Sqrt(sumOfSquares(re))
				for j, y := range re {
					re[j] = T(float64(y) * f)
				}
				continue
			}
			im := x.Row(i + 1)
			b.Back(im, left)
			f := 1 / math.Sqrt(sumOfSquares(re)+sumOfSquares(im))
			at, most := 0, -1.0
			for j, y := range re {
				a, b := float64(y)*f, float64(im[j])*f
				re[j], im[j] = T(a), T(b)
				if s := a*a + b*b; s > most {
					at, most = j, s
				}
			}
			c, s, _ := tridiag.Rotation(re[at], im[at])
			tridiag.Rotate(re, im, c, s)
			im[at] = 0
		}
	})
}

// sumOfSquares returns the sum of the squares of x.
func sumOfSquares[T kernels.Element](x []T) (s float64) {
	for _, y := range x {
		s += float64(y) * float64(y)
	}
	return s
}
