package supernodal

import (
	"math"
	"slices"

	"github.com/tessera-la/tessera/internal/scalar"
	"gonum.org/v1/gonum/blas"
)

// Solution is right-hand sides on their way to solutions, by the parts of [Factor.Solving]. Its bits do not depend on which
// goroutine computes which part.
type Solution[T scalar.Real] struct {
	f    *Factor[T]
	x    []T
	nrhs int
	sums [][]T // what a part adds to the rows of the supernode above it
}

// NewSolution returns the solution of U·Uᵀ = A for right-hand sides x, an n×nrhs matrix whose rows are in the order of the
// factor. x is overwritten.
func (f *Factor[T]) NewSolution(x []T, nrhs int) *Solution[T] {
	s := &Solution[T]{f, x, nrhs, make([][]T, len(f.Solving))}
	for k, p := range f.Solving {
		if p.Above >= 0 {
			rows, _ := f.rows(p.Above)
			s.sums[k] = make([]T, len(rows)*nrhs)
		}
	}
	return s
}

// Desk is the memory in which a goroutine computes parts of a solution.
type Desk[T scalar.Real] struct {
	sums []T // what is to be added to x; zeros between parts
	work []T
}

// NewDesk returns memory for parts of s.
func (s *Solution[T]) NewDesk() *Desk[T] {
	rows := s.f.maxRows()
	return &Desk[T]{make([]T, len(s.x)), make([]T, rows*s.nrhs+s.f.r.Work(max(rows, s.nrhs)))}
}

// Forward computes the part of Uᵀ·y = b, when the parts that it reads are computed. The parts are those of Solving.
func (s *Solution[T]) Forward(part int, d *Desk[T]) {
	p := &s.f.Solving[part]
	for _, c := range p.Reads {
		s.each(&s.f.Solving[c], s.sums[c], d, func(here, there []T) {
			for j, v := range there {
				here[j] += v
			}
		})
	}
	for _, k := range p.Supernodes {
		s.f.forward(k, s.x, s.nrhs, d)
	}
	s.each(p, s.sums[part], d, func(here, there []T) {
		copy(there, here)
		clear(here)
	})
}

// each calls do for each row of the supernode above p, with what there is for it on the desk and in sums.
func (s *Solution[T]) each(p *Part, sums []T, d *Desk[T], do func(here, there []T)) {
	if p.Above < 0 {
		return
	}
	rows, _ := s.f.rows(p.Above)
	for i, row := range rows {
		do(d.sums[int(row)*s.nrhs:(int(row)+1)*s.nrhs], sums[i*s.nrhs:(i+1)*s.nrhs])
	}
}

// Backward computes the part of U·x = y, when that above it is computed.
func (s *Solution[T]) Backward(part int, d *Desk[T]) {
	for _, k := range slices.Backward(s.f.Solving[part].Supernodes) {
		s.f.backward(k, s.x, s.nrhs, d.work)
	}
}

// forward computes the part of Uᵀ·y = b that belongs to supernode s.
func (f *Factor[T]) forward(s int32, x []T, nrhs int, d *Desk[T]) {
	rows, columns := f.rows(s)
	n := len(rows)
	below := n - columns
	panel := f.Panels[f.Panel[s]:f.Panel[s+1]]
	own := x[int(rows[0])*nrhs : (int(rows[0])+columns)*nrhs]
	sum, work := d.work[:below*nrhs], d.work[below*nrhs:]
	sums := d.sums[int(rows[0])*nrhs:][:len(own)]
	for j, v := range sums {
		own[j] += v
	}
	clear(sums)
	if nrhs == 1 {
		f.r.Trsv(blas.Upper, blas.Trans, blas.NonUnit, columns, panel, n, own)
		if below > 0 {
			f.r.Gemv(blas.Trans, columns, below, 1, panel[columns:], n, own, 1, 0, sum, 1)
		}
	} else {
		f.r.Trsm(blas.Left, blas.Upper, blas.Trans, blas.NonUnit, columns, nrhs, 1, panel, n, own, nrhs, work)
		if below > 0 {
			f.r.Gemm(blas.Trans, blas.NoTrans, below, nrhs, columns, 1, panel[columns:], n, own, nrhs, 0, sum, nrhs, work)
		}
	}
	for i, row := range rows[columns:] {
		to := d.sums[int(row)*nrhs : (int(row)+1)*nrhs]
		for j, v := range sum[i*nrhs : (i+1)*nrhs] {
			to[j] -= v
		}
	}
}

// backward computes the part of U·x = y that belongs to supernode s.
func (f *Factor[T]) backward(s int32, x []T, nrhs int, scratch []T) {
	rows, columns := f.rows(s)
	n := len(rows)
	below := n - columns
	panel := f.Panels[f.Panel[s]:f.Panel[s+1]]
	own := x[int(rows[0])*nrhs : (int(rows[0])+columns)*nrhs]
	known, work := scratch[:below*nrhs], scratch[below*nrhs:]
	for i, row := range rows[columns:] {
		copy(known[i*nrhs:(i+1)*nrhs], x[int(row)*nrhs:])
	}
	if nrhs == 1 {
		if below > 0 {
			f.r.Gemv(blas.NoTrans, columns, below, -1, panel[columns:], n, known, 1, 1, own, 1)
		}
		f.r.Trsv(blas.Upper, blas.NoTrans, blas.NonUnit, columns, panel, n, own)
		return
	}
	if below > 0 {
		f.r.Gemm(blas.NoTrans, blas.NoTrans, columns, nrhs, below, -1, panel[columns:], n, known, nrhs, 1, own, nrhs, work)
	}
	f.r.Trsm(blas.Left, blas.Upper, blas.NoTrans, blas.NonUnit, columns, nrhs, 1, panel, n, own, nrhs, work)
}

// LogDet returns the logarithm of the determinant of the matrix.
func (f *Factor[T]) LogDet() float64 {
	sum := 0.0
	f.diagonal(func(d T) { sum += math.Log(float64(d)) })
	return 2 * sum
}

// diagonal calls visit for each element of the diagonal of the factor.
func (f *Factor[T]) diagonal(visit func(T)) {
	for s := range int32(f.Supernodes()) {
		rows, columns := f.rows(s)
		for k := range columns {
			visit(f.Panels[f.Panel[s]+k*(len(rows)+1)])
		}
	}
}
