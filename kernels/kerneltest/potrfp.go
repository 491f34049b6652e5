package kerneltest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

func (s *suite[T]) potrfp(t *testing.T) {
	t.Run("sizes", func(t *testing.T) {
		for _, uplo := range uplos {
			for _, n := range [...]int{0, 1, 2, 7, 8, 9, 31, 32, 33, 65, 129} {
				for _, tiles := range [...]int{0, 1, 3} {
					s.potrfpCase(t, uplo, n, tiles)
				}
			}
		}
	})
	t.Run("finished", func(t *testing.T) {
		for _, lazy := range []bool{false, true} {
			a := s.spd(blas.Lower, 9, 0, 1)
			call := []any{a}
			for range 3 {
				b := newTile[T](5, 9, 0)
				s.fill(b, 1, nil)
				call = append(call, b)
			}
			var done finished
			if err := s.v.Run(&versions.Call{Ctx: t.Context(), Params: &kernels.Potrfp{Uplo: blas.Lower, Lazy: lazy}, Args: call, Work: new(versions.Workspace), Task: &done}); err != nil {
				t.Fatal(err)
			}
			slices.Sort(done.operands)
			want := []int{1, 2, 3}
			if lazy {
				want = nil
			}
			if !slices.Equal(done.operands, want) {
				t.Errorf("lazy %v: finished with %v, want %v", lazy, done.operands, want)
			}
		}
	})
	t.Run("minor", func(t *testing.T) {
		for _, uplo := range uplos {
			a := s.spd(uplo, 20, 1, 1)
			a.Set(12, 12, -1)
			b := newTile[T](20, 20, 0)
			s.fill(b, 1, nil)
			b0 := clone(b)
			err := s.run(&kernels.Potrfp{Uplo: uplo, Offset: 100}, a, b)
			var npd *kernels.NotPositiveDefiniteError
			if !errors.As(err, &npd) || npd.Minor != 113 {
				t.Errorf("%c: %v", uplo, err)
			}
			identical(t, "B after a failure", b, b0)
		}
	})
	s.work(t, 14+45+9, &kernels.Potrfp{Uplo: blas.Lower}, newTile[T](3, 3, 0), newTile[T](5, 3, 0), newTile[T](1, 3, 0))
}

// finished is a task that notes which operands are handed on.
type finished struct {
	lock     sync.Mutex
	operands []int
}

// Finished implements versions.Task.
func (f *finished) Finished(i int) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.operands = append(f.operands, i)
}

// potrfpCase checks that the diagonal tile is factored as potrfCase does, and
// every other one by ‖X·Lᵀ−B‖ / (n·‖B‖·ε) < 30 or its transpose.
func (s *suite[T]) potrfpCase(t *testing.T, uplo blas.Uplo, n, tiles int) {
	t.Helper()
	upper := uplo == blas.Upper
	a := s.spd(uplo, n, s.rnd.IntN(3), 1)
	a0 := clone(a)
	args, all := []*kernels.Tile[T]{a}, []any{a}
	var before []*kernels.Tile[T]
	for range tiles {
		m, c := 1+s.rnd.IntN(40), n
		if upper {
			m, c = c, m
		}
		b := newTile[T](m, c, s.rnd.IntN(3))
		s.fill(b, 1, nil)
		args, all, before = append(args, b), append(all, b), append(before, clone(b))
	}
	what := fmt.Sprintf("%c n=%d with %d tiles", uplo, n, tiles)
	if err := s.run(&kernels.Potrfp{Uplo: uplo}, all...); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	factored := clone(a0)
	if err := s.run(&kernels.Potrfp{Uplo: uplo}, factored); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	identical(t, what+": the diagonal tile, with others and alone", a, factored)
	untouched(t, what, a, a0, inTriangle(uplo))
	// L and A in the lower triangle, and X and B by rows.
	l, was := at(a, upper), at(a0, upper)
	residual, size := 0.0, 0.0
	for i := range n {
		for j := range i + 1 {
			sum := 0.0
			for k := range j + 1 {
				sum += l(i, k) * l(j, k)
			}
			residual, size = max(residual, math.Abs(sum-was(i, j))), max(size, math.Abs(was(i, j)))
		}
	}
	ratio(t, what, residual, float64(n)*size*eps[T](), 30)
	for b := range before {
		x, b0 := at(args[b+1], upper), at(before[b], upper)
		rows := before[b].Rows
		if upper {
			rows = before[b].Cols
		}
		residual, size := 0.0, 0.0
		for i := range rows {
			for j := range n {
				sum := 0.0
				for k := range j + 1 {
					sum += x(i, k) * l(j, k)
				}
				residual, size = max(residual, math.Abs(sum-b0(i, j))), max(size, math.Abs(b0(i, j)))
			}
		}
		ratio(t, fmt.Sprintf("%s: tile %d", what, b+1), residual, float64(n)*size*eps[T](), 30)
	}
}
