package op

import (
	"slices"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/bidiag"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/tridiag"
)

// Reduction is the way by which a symmetric matrix is reduced to tridiagonal form, or a matrix to bidiagonal form.
type Reduction uint8

// Ways of reduction.
const (
	// FasterReduction is the one that [Decomposition.Foresee] says is faster.
	FasterReduction Reduction = iota
	// OneStage reduces the matrix directly. Half of the operations wait for memory.
	OneStage
	// TwoStages reduces the matrix to a band, by products of matrices, and the band to tridiagonal or bidiagonal form, in the
	// caches. The transformation back then takes 6·n² operations for each vector, instead of 2·n².
	TwoStages
)

// The largest numbers of columns that Syev and Gesvd take: larger matrices are divided and conquered.
const (
	SyevOrder  = tridiag.Leaf
	GesvdOrder = bidiag.Leaf
)

// symReduction is the reduction of a symmetric n×n matrix in one or two stages, and the transformation back.
type symReduction[T kernels.Element] struct {
	*cpu.Tridiagonal[T]
	crew  cpu.Crew[T]
	watch *stopwatch
	n, b  int // b superdiagonals, in two stages
	two   bool
}

// newSymReduction returns the reduction of a matrix of order n by a way that has been chosen, in two stages to a band with b
// superdiagonals.
func newSymReduction[T kernels.Element](r cpu.Routines[T], crew cpu.Crew[T], watch *stopwatch, n int, way Reduction, b int) symReduction[T] {
	s := symReduction[T]{cpu.NewTridiagonal(r, crew), crew, watch, n, b, way == TwoStages}
	s.Stop = watch.stop
	return s
}

// kept returns the number of elements that are kept from the reduction to the transformation back.
func (s *symReduction[T]) kept(vectors bool) int {
	switch {
	case !s.two:
		return s.n
	case !vectors:
		return s.n * cpu.ChaseSteps(s.n, s.b)
	}
	return s.n + cpu.SweepsSize(s.n, s.b)
}

// work returns the number of elements of scratch for each of the two.
func (s *symReduction[T]) work(vectors bool) int {
	n := s.n
	if !s.two {
		size := cpu.SytrdWork(n)
		if vectors {
			size = max(size, cpu.ReflectorsWork(n, n-1))
		}
		return size
	}
	size := cpu.BandSize[T](n, s.b) + s.Sy2sbWork(n, s.b)
	if vectors {
		size = max(size, cpu.ReflectorsWork(n, max(n-s.b, 0)), cpu.OrmChaseWork(n, s.b))
	}
	return size
}

// reduce reduces a to the tridiagonal matrix d, e.
func (s *symReduction[T]) reduce(vectors bool, a *kernels.Tile[T], d, e, keep, work []T) error {
	n, order := s.n, float64(s.n)
	if !s.two {
		sytrd(s.Tridiagonal, n, a.Data, a.Stride, d, e, keep, work)
		return s.watch.end("reduction", 4*order*order*order/3)
	}
	band := work[s.Sy2sbWork(n, s.b):][:cpu.BandSize[T](n, s.b)]
	var tau []T
	q := cpu.Sweeps[T]{V: a.Data, Stride: a.Stride, Tau: keep} // without vectors, no reflectors of the first stage are in a
	if vectors {
		tau, q = keep[:n], cpu.NewSweeps(n, s.b, keep[n:])
	}
	s.Sy2sb(n, s.b, a.Data, a.Stride, band, tau, work)
	if err := s.watch.end("reduction to band", 4*order*order*order/3); err != nil {
		return err
	}
	s.Sb2st(n, s.b, band, q, d, e)
	return s.watch.end("bulge chasing", 6*order*order*float64(s.b))
}

// back transforms the first rows of z, eigenvectors of T, into those of A.
func (s *symReduction[T]) back(rows int, a, z *kernels.Tile[T], keep, work []T) error {
	n, flops := s.n, 2*float64(s.n)*float64(s.n)*float64(rows)
	if !s.two {
		ormtr(s.Tridiagonal, rows, n, a.Data, a.Stride, keep, z.Data, z.Stride, work)
		return s.watch.end("back-transformation", flops)
	}
	s.OrmChase(rows, n, s.b, cpu.NewSweeps(n, s.b, keep[n:]), z.Data, z.Stride, work)
	if err := s.watch.end("vectors of the band", 2*flops); err != nil {
		return err
	}
	s.OrmtrSy2sb(rows, n, s.b, a.Data, a.Stride, keep[:n], z.Data, z.Stride, work)
	return s.watch.end("back-transformation", flops)
}

// sytrd is [cpu.Tridiagonal.Sytrd]. It begins at the last row of a small matrix, as LAPACK does for an upper triangle,
// so that vectors get the signs that they have there, which users of small matrices may rely on.
func sytrd[T kernels.Element](t *cpu.Tridiagonal[T], n int, a []T, lda int, d, e, tau, work []T) {
	if n <= SyevOrder {
		for i := range n / 2 { // a becomes its mirror image at the other diagonal
			for j := i; j < n-1-i; j++ {
				x, y := &a[i*lda+j], &a[(n-1-j)*lda+n-1-i]
				*x, *y = *y, *x
			}
		}
	}
	t.Sytrd(n, a, lda, d, e, tau, work)
	if n <= SyevOrder {
		slices.Reverse(d[:n])
		slices.Reverse(e[:n-1])
	}
}

// ormtr is [cpu.Tridiagonal.Ormtr] after sytrd.
func ormtr[T kernels.Element](t *cpu.Tridiagonal[T], m, n int, a []T, lda int, tau, z []T, ldz int, work []T) {
	backward := func() {
		for i := range m {
			slices.Reverse(z[i*ldz:][:n])
		}
	}
	if n <= SyevOrder {
		backward()
		defer backward()
	}
	t.Ormtr(m, n, a, lda, tau, z, ldz, work)
}

// bidiagonalReduction is the reduction of an m×n matrix to bidiagonal form in one or two stages, and the transformation back.
type bidiagonalReduction[T kernels.Element] struct {
	*cpu.Bidiagonal[T]
	watch      *stopwatch
	m, n, b    int // b superdiagonals, in two stages
	two        bool
	tauq, taup []T
	q, p       cpu.Sweeps[T] // of the second stage
}

// newBidiagonalReduction returns the reduction of an m×n matrix by a way that has been chosen, in two stages to a band with b
// superdiagonals.
func newBidiagonalReduction[T kernels.Element](r cpu.Routines[T], crew cpu.Crew[T], watch *stopwatch, m, n int, way Reduction, b int) bidiagonalReduction[T] {
	s := bidiagonalReduction[T]{Bidiagonal: cpu.NewBidiagonal(r, crew), watch: watch, m: m, n: n, b: b, two: way == TwoStages}
	s.Stop = watch.stop
	return s
}

// kept returns the number of elements that are kept from the reduction to the transformation back.
func (s *bidiagonalReduction[T]) kept(vectors bool) int {
	switch {
	case !s.two:
		return 2 * s.n
	case !vectors:
		return s.n * cpu.ChaseSteps(s.n, s.b)
	}
	return 2 * (s.n + cpu.SweepsSize(s.n, s.b))
}

// work returns the number of elements of scratch for each of the two.
func (s *bidiagonalReduction[T]) work(vectors bool) int {
	size := 0
	if vectors {
		size = cpu.ReflectorsWork(s.m, s.n)
	}
	if !s.two {
		return max(size, cpu.GebrdWork(s.m, s.n))
	}
	if vectors {
		size = max(size, cpu.OrmChaseWork(s.n, s.b))
	}
	return max(size, cpu.BandSize[T](s.n, s.b)+s.Ge2tbWork(s.m, s.n, s.b))
}

// reduce reduces a to the bidiagonal matrix d, e.
func (s *bidiagonalReduction[T]) reduce(vectors bool, a []T, lda int, d, e, keep, work []T) error {
	n, rows, cols := s.n, float64(s.m), float64(s.n)
	flops := 4 * cols * cols * (rows - cols/3)
	if !s.two {
		s.tauq, s.taup = keep[:n], keep[n:]
		s.Gebrd(s.m, n, a, lda, d, e, s.tauq, s.taup, work)
		return s.watch.end("reduction", flops)
	}
	s.q = cpu.Sweeps[T]{V: a, Stride: lda, Tau: keep} // without vectors, no reflectors of the first stage are in a
	if vectors {
		s.tauq, s.taup, keep = keep[:n], keep[n:2*n], keep[2*n:]
		s.q, s.p = cpu.NewSweeps(n, s.b, keep), cpu.NewSweeps(n, s.b, keep[cpu.SweepsSize(n, s.b):])
	}
	size := cpu.BandSize[T](n, s.b)
	band, work := work[:size:size], work[size:]
	s.Ge2tb(s.m, n, s.b, a, lda, band, s.tauq, s.taup, work)
	if err := s.watch.end("reduction to band", flops); err != nil {
		return err
	}
	s.Tb2bd(n, s.b, band, s.q, s.p, d, e)
	return s.watch.end("bulge chasing", 8*cols*cols*float64(s.b))
}

// backFromBand transforms the first rows of u and v, singular vectors of B, into those of the band.
func (s *bidiagonalReduction[T]) backFromBand(rows int, u, v *kernels.Tile[T], work []T) error {
	if !s.two {
		return nil
	}
	s.OrmChase(rows, s.n, s.b, s.q, u.Data, u.Stride, work)
	s.OrmChase(rows, s.n, s.b, s.p, v.Data, v.Stride, work)
	return s.watch.end("vectors of the band", 8*float64(s.n)*float64(s.n)*float64(rows))
}

// backRight transforms the first rows of v, right singular vectors of the band or else of B, into those of A.
func (s *bidiagonalReduction[T]) backRight(rows int, a []T, lda int, v *kernels.Tile[T], work []T) {
	b := 1
	if s.two {
		b = s.b
	}
	s.OrmbrP(rows, s.n, b, a, lda, s.taup, v.Data, v.Stride, work)
}

// backLeft is backRight for left vectors, and for others of m elements in u.
func (s *bidiagonalReduction[T]) backLeft(rows int, a []T, lda int, u *kernels.Tile[T], work []T) {
	s.OrmbrQ(rows, s.m, s.n, a, lda, s.tauq, u.Data, u.Stride, work)
}
