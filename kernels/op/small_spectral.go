package op

import (
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/bidiag"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/tridiag"
)

// Spectral is eigenvalues and singular values of small matrices in plain row-major memory, as [Small] is other routines. One
// goroutine at a time uses a Spectral.
type Spectral[T kernels.Element] interface {
	// Syev computes the eigenvalues w, ascending, and unless z is nil the eigenvectors, as the rows of the n×n Z, of a
	// symmetric matrix with 1 to SyevOrder rows. The upper triangle of A is stored, and all of A is overwritten. Squares of
	// its elements neither over- nor underflow. The result has the bits of op "syevd". The error is a
	// *tridiag.ConvergenceError.
	Syev(n int, a []T, lda int, w, z []T, ldz int) error
	// Gesvd computes the singular values w, descending, and unless v is nil the singular vectors of an m×n matrix A, m ≥ n,
	// with 1 to GesvdOrder columns: the left ones as the first n rows of the k×m U, k ≥ n, of which the other rows complete
	// a basis, and the right ones as the rows of V. A is overwritten. Squares of its elements neither over- nor underflow.
	// The error is a *tridiag.ConvergenceError.
	Gesvd(m, n int, a []T, lda int, w []T, u, v *kernels.Tile[T]) error
}

// NewSpectral returns the routines for this machine.
func NewSpectral[T kernels.Element]() Spectral[T] {
	return scalar.Pick[T](any(newSpectral32), any(newSpectral64)).(func() Spectral[T])()
}

// Here, and not in the packages that use them, the routines are compiled.
var (
	newSpectral32 = func() Spectral[float32] { return newSpectral(preferred32()) }
	newSpectral64 = func() Spectral[float64] { return newSpectral(preferred64()) }
)

// spectral implements [Spectral].
type spectral[T kernels.Element] struct {
	tridiagonal *cpu.Tridiagonal[T]
	bidiagonal  *cpu.Bidiagonal[T]
	tools       tridiag.Tools[T]
	work        []T
}

func newSpectral[T kernels.Element](p *cpu.Packed[T]) *spectral[T] {
	return &spectral[T]{tridiagonal: cpu.NewTridiagonal[T](p, nil), bidiagonal: cpu.NewBidiagonal[T](p, nil), tools: Conquering[T](p)}
}

// scratch returns n elements.
func (s *spectral[T]) scratch(n int) []T {
	if len(s.work) < n {
		s.work = make([]T, n)
	}
	return s.work
}

func (s *spectral[T]) Syev(n int, a []T, lda int, w, z []T, ldz int) error {
	work := s.scratch(2*n + max(cpu.SytrdWork(n), cpu.ReflectorsWork(n, n-1)))
	e, tau, work := work[:n-1], work[n:2*n-1], work[2*n:]
	if n == 2 { // it is tridiagonal
		w[0], w[1], e[0] = a[0], a[lda+1], a[1]
	} else {
		sytrd(s.tridiagonal, n, a, lda, w, e, tau, work)
	}
	if z == nil {
		return tridiag.Sterf(w, e)
	}
	q := tridiag.Matrix[T]{Rows: n, Cols: n, Stride: ldz, Data: z}
	if err := tridiag.Stedc(w, e, q, work, s.tools, nil, nil); err != nil {
		return err
	}
	if n > 2 {
		ormtr(s.tridiagonal, n, n, a, lda, tau, z, ldz, work)
	}
	return nil
}

func (s *spectral[T]) Gesvd(m, n int, a []T, lda int, w []T, u, v *kernels.Tile[T]) error {
	b := s.bidiagonal
	work := s.scratch(3*n + max(cpu.GebrdWork(m, n), cpu.ReflectorsWork(m, n)))
	e, tauq, taup, work := work[:n-1], work[n:2*n], work[2*n:3*n], work[3*n:]
	b.Gebrd(m, n, a, lda, w, e, tauq, taup, work)
	if v == nil {
		return bidiag.Bdsqr(w, e, bidiag.Matrix[T]{Rows: n}, bidiag.Matrix[T]{Rows: n}, nil)
	}
	left := bidiag.Matrix[T]{Rows: n, Cols: n, Stride: u.Stride, Data: u.Data}
	right := bidiag.Matrix[T]{Rows: n, Cols: n, Stride: v.Stride, Data: v.Data}
	if err := bidiag.Bdsdc(w, e, left, right, work, s.tools, nil, nil); err != nil {
		return err
	}
	for i := range n {
		clear(u.Row(i)[n:])
	}
	identityFrom(u, n)
	b.OrmbrP(n, n, 1, a, lda, taup, v.Data, v.Stride, work)
	b.OrmbrQ(u.Rows, m, n, a, lda, tauq, u.Data, u.Stride, work)
	return nil
}
