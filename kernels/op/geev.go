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
// if the context ends, the cause of that. All operands are undefined then. Call.Local may be an *[Account]. The version panics with kernels.ErrShape if the shapes do not fit together, and with
// kernels.ErrArgs if the number of operands is wrong.
type Geev struct {
	Left, Right bool // compute eigenvectors
}

// geevOp defines op "geev".
func geevOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "geev", Work: geevWork[T], NewParams: fresh[Geev]},
		about: "eigenvalues and eigenvectors of a matrix",
		host: func(i implementation[T]) versions.Version {
			return versions.Version{Run: geev(i.blas), Help: geevHelp[T]}
		},
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
		if x != nil && (x.Rows != a.Rows || x.Cols != a.Rows) {
			panic(kernels.ErrShape)
		}
	}
	if w.Rows != 2 || w.Cols != a.Cols {
		panic(kernels.ErrShape)
	}
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

// geevHelp returns how many units a call uses. They stay until its end, since they synchronize once a column.
func geevHelp[T kernels.Element](call *versions.Call) (units int, stay bool) {
	a, _, _, _ := geevOf[T](call)
	return max(1, a.Rows/geevAlone), true
}

// geev returns the function of a version of op "geev".
func geev[T kernels.Element](r cpu.Routines[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		a, w, u, v := geevOf[T](call)
		n := a.Rows
		if n == 0 {
			return nil
		}
		watch, order := startStages(call), float64(n)
		scale := moderate(a, blas.All)
		k := cpu.NewHessenberg(r, crewOrAlone[T](call))
		k.Stop = watch.stop
		vectors := u != nil || v != nil
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
		balanced, tau := take(n), take(n)
		it := schur.Iteration[T]{Kernels: k, Form: vectors, Re: w.Row(0), Im: w.Row(1)}
		it.H = tridiag.Matrix[T]{Rows: n, Cols: n, Stride: ld, Data: take(n * ld)}
		for i := range n {
			copy(it.H.Row(i), a.Row(i))
		}
		balance := schur.NewBalance(it.H, balanced)
		lo, hi := balance.Lo, balance.Hi
		if vectors {
			it.Z = tridiag.Matrix[T]{Rows: n, Cols: n, Stride: ld, Data: take(n * ld)}
			it.ZLo, it.ZHi = lo, hi+1
		}
		k.Gehrd(n, lo, hi, it.H.Data, ld, tau, work)
		flops := 10 * order * order * order / 3
		if vectors {
			k.Orghr(n, lo, hi, it.H.Data, ld, tau, it.Z.Data, ld, work)
			flops += 4 * order * order * order / 3
		}
		if err := watch.end("reduction", flops); err != nil {
			return err
		}
		for i := 2; i < n; i++ {
			clear(it.H.Row(i)[:i-1])
		}
		if _, err := it.Run(lo, hi); err != nil {
			return err
		}
		if err := watch.end("QR iteration", 0); err != nil {
			return err
		}
		form := schur.Vectors[T]{Kernels: k, T: it.H, Z: it.Z}
		if v != nil {
			form.To(tridiag.Matrix[T]{Rows: n, Cols: n, Stride: v.Stride, Data: v.Data})
			finishVectors(k.Crew(), &balance, w.Row(1), v, false)
		}
		if u != nil { // which overwrites T
			form.Left = true
			form.To(tridiag.Matrix[T]{Rows: n, Cols: n, Stride: u.Stride, Data: u.Data})
			finishVectors(k.Crew(), &balance, w.Row(1), u, true)
		}
		for i := range 2 {
			for j := range n {
				w.Row(i)[j] /= scale
			}
		}
		if !vectors {
			return nil
		}
		sides := 1.0
		if u != nil && v != nil {
			sides = 2
		}
		return watch.end("eigenvectors", sides*5*order*order*order/3)
	}
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
