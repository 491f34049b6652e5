package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
)

// Reduction is the way by which a symmetric matrix is reduced to tridiagonal form.
type Reduction uint8

// Ways of reduction.
const (
	// FasterReduction is the one that measurements say is faster.
	FasterReduction Reduction = iota
	// OneStage reduces the matrix directly. Half of the operations wait for memory.
	OneStage
	// TwoStages reduces the matrix to a band, by products of matrices, and the band to tridiagonal form, in the caches.
	// The transformation back then takes 6·n² operations for each eigenvector, instead of 2·n².
	TwoStages
)

// On two cores of a Zen 5 (2026-11-29, best of 3, one and two stages) eigenvalues alone took 11.3 and 10.8 ms at order 500,
// 60 and 46 at 1000, and 435 and 249 at 2000; with a tenth of the vectors 83 and 76 at 1000, and 505 and 373 at 2000; with a
// quarter 478 and 383 at 2000, but with all 608 and 672.
const (
	twoStagesValues  = 600  // the least order for two stages without vectors
	twoStagesVectors = 1000 // the least order for two stages with vectors
	twoStagesShare   = 0.25 // the largest share of vectors for two stages
)

// bandWidth is the number of superdiagonals of the band: a multiple of the columns of a micro-kernel, and wide enough for
// products at nearly their full rate.
const bandWidth = 48

// choose returns OneStage or TwoStages for a matrix of order n and a number of eigenvectors.
func (r Reduction) choose(n, vectors int) Reduction {
	switch {
	case r != FasterReduction:
		return r
	case vectors == 0 && n >= twoStagesValues, n >= twoStagesVectors && float64(vectors) <= twoStagesShare*float64(n):
		return TwoStages
	}
	return OneStage
}

// symReduction is the reduction of a symmetric n×n matrix in one or two stages, and the transformation back.
type symReduction[T kernels.Element] struct {
	*cpu.Tridiagonal[T]
	crew  cpu.Crew[T]
	watch *stopwatch
	n     int
	two   bool
}

// newSymReduction returns the reduction of a matrix of order n by a way that has been chosen.
func newSymReduction[T kernels.Element](r cpu.Routines[T], crew cpu.Crew[T], watch *stopwatch, n int, way Reduction) symReduction[T] {
	s := symReduction[T]{cpu.NewTridiagonal(r, crew), crew, watch, n, way == TwoStages}
	s.Stop = watch.stop
	return s
}

// kept returns the number of elements that are kept from the reduction to the transformation back.
func (s *symReduction[T]) kept(vectors bool) int {
	switch {
	case !s.two:
		return s.n
	case !vectors:
		return s.n * cpu.ChaseSteps(s.n, bandWidth)
	}
	return s.n * (1 + cpu.ChaseSteps(s.n, bandWidth) + s.n)
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
	size := cpu.BandSize[T](n, bandWidth) + s.Sy2sbWork(n, bandWidth)
	if vectors {
		size = max(size, cpu.ReflectorsWork(n, max(n-bandWidth, 0)), cpu.OrmtrSb2stWork(n, bandWidth))
	}
	return size
}

// reduce reduces a to the tridiagonal matrix d, e.
func (s *symReduction[T]) reduce(vectors bool, a *kernels.Tile[T], d, e, keep, work []T) error {
	n, order := s.n, float64(s.n)
	if !s.two {
		s.Sytrd(n, a.Data, a.Stride, d, e, keep, work)
		return s.watch.end("reduction", 4*order*order*order/3)
	}
	band := work[s.Sy2sbWork(n, bandWidth):][:cpu.BandSize[T](n, bandWidth)]
	var tau []T
	taus, v, ldv := keep, a.Data, a.Stride // without vectors, no reflectors of the first stage are in a
	if vectors {
		tau, taus, v, ldv = s.parts(keep)
	}
	s.Sy2sb(n, bandWidth, a.Data, a.Stride, band, tau, work)
	if err := s.watch.end("reduction to band", 4*order*order*order/3); err != nil {
		return err
	}
	s.Sb2st(n, bandWidth, band, v, ldv, taus, d, e)
	return s.watch.end("bulge chasing", 6*order*order*bandWidth)
}

// parts divides what two stages keep: the factors of the reflectors of both, and the vectors of the second one.
func (s *symReduction[T]) parts(keep []T) (tau, taus, v []T, ldv int) {
	n, steps := s.n, s.n*cpu.ChaseSteps(s.n, bandWidth)
	return keep[:n], keep[n:][:steps], keep[n+steps:], n
}

// back transforms the first rows of z, eigenvectors of T, into those of A.
func (s *symReduction[T]) back(rows int, a, z *kernels.Tile[T], keep, work []T) error {
	n, flops := s.n, 2*float64(s.n)*float64(s.n)*float64(rows)
	if !s.two {
		s.Ormtr(rows, n, a.Data, a.Stride, keep, z.Data, z.Stride, work)
		return s.watch.end("back-transformation", flops)
	}
	tau, taus, v, ldv := s.parts(keep)
	s.OrmtrSb2st(rows, n, bandWidth, v, ldv, taus, z.Data, z.Stride, work)
	if err := s.watch.end("vectors of the band", 2*flops); err != nil {
		return err
	}
	s.OrmtrSy2sb(rows, n, bandWidth, a.Data, a.Stride, tau, z.Data, z.Stride, work)
	return s.watch.end("back-transformation", flops)
}
