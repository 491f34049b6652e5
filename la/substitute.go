package la

import (
	"context"
	"sync"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// substitution solves with triangles for a few vectors: one right-hand side, or estimates of a condition
// number, which take two to five solutions with one or two vectors. A task would cost more than a
// tile's work. It uses goroutines beside the engine's workers, which are idle then or belong to
// other calls. One goroutine calls solve at a time.
type substitution[T Element] struct {
	ctx     context.Context
	engine  *Engine
	kernels op.Vectors[T]

	step   step[T]
	update func(first, stride int) // what goroutines do in the step
	swaps  []int                   // of an LU factorization, between calls

	triangle  [1][]T // the vector of a QR factorization's triangle
	reflected []T    // scratch of its reflectors
}

// step is one of a substitution.
type step[T Element] struct {
	trans   blas.Transpose
	a       *blocked.Matrix[T]
	vectors [][]T
	k, next int // tile column, and the way to the next one: 1 or −1
	left    int // tile rows that are not solved
}

// newSubstitution returns a substitution with the vector kernels of this machine.
func newSubstitution[T Element](ctx context.Context, e *Engine) *substitution[T] {
	s := &substitution[T]{ctx: ctx, engine: e, kernels: op.HostVectors[T]()}
	s.update = func(first, stride int) { // made once, as it is an allocation
		for rest := first; rest <= s.step.left; rest += stride {
			s.step.subtract(s.kernels, rest)
		}
	}
	return s
}

// subtract subtracts from x_i, i = k + rest·next, for all vectors.
func (s *step[T]) subtract(kernels op.Vectors[T], rest int) {
	i := s.k + rest*s.next
	row, column := i, s.k
	if s.trans != blas.NoTrans {
		row, column = s.k, i
	}
	for _, x := range s.vectors {
		kernels.Subtract(s.trans, s.a.Tile(row, column), s.part(x, s.k), s.part(x, i))
	}
}

// part returns x_k.
func (s *step[T]) part(x []T, k int) []T {
	n, nb := s.a.Dim(), s.a.NB()
	return x[k*nb : min((k+1)*nb, n)]
}

// parallelFrom is the number of elements from which several goroutines update: one takes some 20 µs
// for them.
const parallelFrom = 1 << 16

// solve overwrites each vector x with op(A)⁻¹·x for a triangle of a, which is not distributed,
// tile column by tile column:
//
//	x_k ← A_kk⁻¹·x_k,  then x_i ← x_i − A_ik·x_k for the remaining i.
//
// It reads each tile once for all vectors.
func (s *substitution[T]) solve(uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, a *blocked.Matrix[T],
	vectors [][]T) error {
	nt, nb := tiles.Count(a.Dim(), a.NB()), a.NB()
	s.step = step[T]{trans: trans, a: a, vectors: vectors, k: 0, next: 1}
	if (uplo == blas.Lower) == (trans != blas.NoTrans) {
		s.step.k, s.step.next = nt-1, -1
	}
	for left := nt - 1; left >= 0; left-- {
		if err := s.engine.Ready(s.ctx); err != nil {
			return err
		}
		for _, x := range vectors {
			s.kernels.Trsv(uplo, trans, diag, a.Tile(s.step.k, s.step.k), s.step.part(x, s.step.k))
		}
		s.step.left = left
		inParallel(left*nb*nb*len(vectors), min(s.engine.Options().Workers, left), s.update)
		s.step.k += s.step.next
	}
	return nil
}

// inParallel calls work(first, stride) for first = 1 … workers with stride workers, each on its
// own goroutine, and waits. Work on fewer than parallelFrom elements runs on the caller alone, as
// work(1, 1).
func inParallel(elements, workers int, work func(first, stride int)) {
	if elements < parallelFrom || workers < 2 {
		work(1, 1)
		return
	}
	g := gangs.Get().(*gang)
	g.run(workers, work)
	gangs.Put(g)
}

// gang is what inParallel would allocate anew in each call.
type gang struct {
	work   func(first, stride int)
	stride int
	others []func() // the goroutines' functions, from the second on
	done   sync.WaitGroup
}

var gangs = sync.Pool{New: func() any { return new(gang) }}

func (g *gang) run(workers int, work func(first, stride int)) {
	for w := len(g.others) + 2; w <= workers; w++ {
		g.others = append(g.others, func() {
			defer g.done.Done()
			g.work(w, g.stride)
		})
	}
	g.work, g.stride = work, workers
	g.done.Add(workers - 1)
	for _, other := range g.others[:workers-1] {
		go other()
	}
	work(1, workers)
	g.done.Wait()
	g.work = nil
}
