package la

import (
	"context"
	"sync"

	"github.com/tessera-la/tessera/blocked/tiles"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// substitution solves with triangles for a few vectors at once, for estimates of condition
// numbers. Tasks for vectors would cost more than they compute: this goes through the tiles on the
// calling goroutine and, where much is left to update, on a few others beside it, and reads each
// tile once for all vectors.
type substitution[T Element] struct {
	ctx     context.Context
	engine  *Engine
	kernels op.Vectors[T]
}

func newSubstitution[T Element](ctx context.Context, e *Engine) substitution[T] {
	return substitution[T]{ctx, e, op.VectorsFor[T](exec.Here())}
}

// shareFrom is the number of elements from which on an update is shared out: they take some 20 µs.
const shareFrom = 1 << 16

// solve overwrites the vectors with op(A)⁻¹·x for a triangle of a, whose tiles are here.
func (s substitution[T]) solve(uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, a *blocked.Matrix[T], vectors [][]T) error {
	n, nb := a.Dim(), a.NB()
	nt := tiles.Count(n, nb)
	transposed, workers := trans != blas.NoTrans, s.engine.options().Workers
	part := func(x []T, k int) []T { return x[k*nb : min((k+1)*nb, n)] }
	for step := range nt {
		if err := s.engine.ready(s.ctx); err != nil {
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
		share(left*nb*nb*len(vectors), min(workers, left), update)
	}
	return nil
}

// share calls work for all of its parts, each begun at one of the first numbers from 1 on and
// going on by their number: on so many goroutines if there is enough to do.
func share(elements, workers int, work func(first, stride int)) {
	if elements < shareFrom || workers < 2 {
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

// inT calls f with vectors in T, and copies them back.
func inT[T Element](vectors [][]float64, f func(x [][]T) error) error {
	if same, ok := any(vectors).([][]T); ok {
		return f(same)
	}
	x := make([][]T, len(vectors))
	for i, v := range vectors {
		x[i] = make([]T, len(v))
		for k, s := range v {
			x[i][k] = T(s)
		}
	}
	if err := f(x); err != nil {
		return err
	}
	for i, v := range vectors {
		for k, s := range x[i] {
			v[k] = float64(s)
		}
	}
	return nil
}

// onVectors returns f, which overwrites a matrix in tiles of nb rows, for its columns in float64.
func onVectors[T Element](nb int, f func(x *blocked.Matrix[T]) error) func(x ...[]float64) error {
	return func(x ...[]float64) error {
		v := blocked.New[T](blocked.Full, len(x[0]), len(x), nb)
		for j, column := range x {
			for i, s := range column {
				v.Set(i, j, T(s))
			}
		}
		if err := f(v); err != nil {
			return err
		}
		for j, column := range x {
			for i := range column {
				column[i] = float64(v.At(i, j))
			}
		}
		return nil
	}
}

// triangularInverse returns what solves with op(A) for estimates, where A is a triangle of a, on e
// if it is on its nodes.
func triangularInverse[T Element](ctx context.Context, e *Engine, uplo blas.Uplo, trans blas.Transpose, a *blocked.Matrix[T]) inverse {
	solve := func(trans blas.Transpose) func(x ...[]float64) error {
		if a.IsDistributed() {
			return onVectors(a.NB(), func(x *blocked.Matrix[T]) error {
				return run(ctx, e, func(p *blocked.Program[T]) error {
					return p.Trsm(blas.Left, uplo, trans, blas.NonUnit, 1, a, x)
				})
			})
		}
		s := newSubstitution[T](ctx, e)
		return func(x ...[]float64) error {
			return inT(x, func(x [][]T) error { return s.solve(uplo, trans, blas.NonUnit, a, x) })
		}
	}
	return inverse{n: a.Dim(), apply: solve(trans), transposed: solve(scalar.Compose[T](trans, blas.Trans))}
}
