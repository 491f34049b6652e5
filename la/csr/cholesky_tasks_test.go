package csr_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/la/csr"
	"gonum.org/v1/gonum/mat"
)

// TestCholeskyWorkers: the same bits, and the same error, on any number of workers under any policy, also if one
// factorization is used again.
func TestCholeskyWorkers(t *testing.T) {
	s := poisson(18, 19, 20) // its largest fronts are for several workers
	bad := poisson(18, 19, 20)
	for k := range bad.v {
		if i := bad.i[k]; i == bad.j[k] && i%1000 == 77 {
			bad.v[k] = 0.1
		}
	}
	var want []float64
	column := 0
	again := csr.NewCholesky[float64](csr.CholeskyOptions{})
	for _, opt := range []exec.Options{{Workers: 1}, {Workers: 2}, {Workers: 5, Policy: dispatch.FIFO}, {Workers: 3, Policy: dispatch.LIFO}, {Workers: 2}} {
		rt, err := exec.NewLocal(opt)
		if err != nil {
			t.Fatal(err)
		}
		a := s.matrix(t, rt)
		for _, f := range []*csr.Cholesky[float64]{again, csr.NewCholesky[float64](csr.CholeskyOptions{})} {
			if err := f.Factorize(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			x := mat.NewDense(s.n, 4, vector(4*s.n, 4))
			if err := f.SolveTo(t.Context(), x, x); err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = x.RawMatrix().Data
			}
			if !slices.Equal(x.RawMatrix().Data, want) {
				t.Errorf("%d workers: another solution", opt.Workers)
			}
			var e *csr.NotPositiveDefiniteError
			if err := f.Factorize(t.Context(), bad.matrix(t, rt)); !errors.As(err, &e) || column > 0 && e.Column != column {
				t.Errorf("%d workers: %v, want column %d", opt.Workers, err, column)
			} else {
				column = e.Column
			}
		}
		if err := again.Factorize(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		x := mat.NewDense(s.n, 4, nil)
		rt.Close()
		if err := again.SolveTo(t.Context(), x, x); opt.Workers > 1 && !errors.Is(err, exec.ErrClosed) || opt.Workers == 1 && err != nil {
			t.Errorf("solution by %d workers that have ended: %v", opt.Workers, err)
		}
		if err := again.Factorize(t.Context(), a); opt.Workers > 1 && !errors.Is(err, exec.ErrClosed) {
			t.Errorf("%d workers that have ended: %v", opt.Workers, err)
		}
	}
}

// TestCholeskyCancelled: the end of the context ends a factorization by tasks, which may then begin anew.
func TestCholeskyCancelled(t *testing.T) {
	rt := start(t, 2)
	s := poisson(24, 24, 24)
	a := s.matrix(t, rt)
	var f csr.Cholesky[float64]
	if err := f.Factorize(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	for _, after := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		err := f.Factorize(ctx, a)
		cancel()
		if err != nil && (!errors.Is(err, context.DeadlineExceeded) || !f.IsEmpty()) {
			t.Errorf("after %v: %v", after, err)
		}
	}
	if err := f.Factorize(t.Context(), a); err != nil {
		t.Error(err)
	}
}

// TestCholeskyMemory: where there is no memory for several goroutines, one factorizes.
func TestCholeskyMemory(t *testing.T) {
	one, two := poisson(20, 20, 20).matrix(t, start(t, 1)), poisson(20, 20, 20).matrix(t, start(t, 2))
	need := func(a *csr.Matrix, limit int64) *csr.MemoryError {
		f := csr.NewCholesky[float64](csr.CholeskyOptions{MaxBytes: limit})
		var e *csr.MemoryError
		if err := f.Factorize(t.Context(), a); err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
		return e
	}
	e := need(one, 1)
	if e == nil {
		t.Fatal("a factorization in one byte")
	}
	least := e.Factor + e.Work
	if e := need(two, least); e != nil {
		t.Error(e)
	}
	if e := need(two, least-1); e == nil || e.Factor+e.Work != least {
		t.Error(e)
	}
}

// TestCholeskyJumps: diffusion whose coefficients differ by many orders from one edge to the next, and hang on one point.
func TestCholeskyJumps(t *testing.T) {
	rt := start(t, 2)
	for seed := range uint64(3) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		s := poisson(15, 14, 13)
		sum := make([]float64, s.n)
		for k := range s.v {
			if s.i[k] < s.j[k] { // its mirror image follows
				w := math.Pow(10, 12*rnd.Float64()-6)
				s.v[k], s.v[k+1] = -w, -w
				sum[s.i[k]] += w
				sum[s.j[k]] += w
			}
		}
		sum[0] += 1e-6
		for k := range s.v {
			if s.i[k] == s.j[k] {
				s.v[k] = sum[s.i[k]]
			}
		}
		b, x := mat.NewDense(s.n, 1, vector(s.n, 5)), mat.NewDense(s.n, 1, nil)
		for _, o := range []csr.Ordering{csr.AMD, csr.NestedDissection} {
			f := csr.NewCholesky[float64](csr.CholeskyOptions{Ordering: o})
			if err := f.Factorize(t.Context(), s.matrix(t, rt)); err != nil {
				t.Fatal(seed, o, err)
			}
			if err := f.SolveTo(t.Context(), x, b); err != nil {
				t.Fatal(seed, o, err)
			}
			if r := residual(s, x, b, 0x1p-52); !(r < 1) {
				t.Errorf("seed %d, %v: scaled residual %.3g", seed, o, r)
			}
			if c, err := f.Cond(t.Context()); err != nil || c < 1e9 {
				t.Errorf("seed %d, %v: condition %.3g, %v", seed, o, c, err)
			}
		}
	}
}
