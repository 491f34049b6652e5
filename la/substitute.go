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
// other calls.
type substitution[T Element] struct {
	ctx     context.Context
	engine  *Engine
	kernels op.Vectors[T]
}

// newSubstitution returns a substitution with the vector kernels of this machine.
func newSubstitution[T Element](ctx context.Context, e *Engine) substitution[T] {
	return substitution[T]{ctx, e, op.HostVectors[T]()}
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
func (s substitution[T]) solve(uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, a *blocked.Matrix[T],
	vectors [][]T) error {
	n, nb := a.Dim(), a.NB()
	nt := tiles.Count(n, nb)
	transposed, workers := trans != blas.NoTrans, s.engine.Options().Workers
	part := func(x []T, k int) []T { return x[k*nb : min((k+1)*nb, n)] }
	for step := range nt {
		if err := s.engine.Ready(s.ctx); err != nil {
			return err
		}
		k, next := step, 1
		if (uplo == blas.Lower) == transposed {
			k, next = nt-1-step, -1
		}
		for _, x := range vectors {
			s.kernels.Trsv(uplo, trans, diag, a.Tile(k, k), part(x, k))
		}
		left := nt - 1 - step
		update := func(first, stride int) {
			for rest := first; rest <= left; rest += stride {
				i := k + rest*next
				row, column := i, k
				if transposed {
					row, column = k, i
				}
				for _, x := range vectors {
					s.kernels.Subtract(trans, a.Tile(row, column), part(x, k), part(x, i))
				}
			}
		}
		inParallel(left*nb*nb*len(vectors), min(workers, left), update)
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
	var others sync.WaitGroup
	for w := 2; w <= workers; w++ {
		others.Go(func() { work(w, workers) })
	}
	work(1, workers)
	others.Wait()
}
