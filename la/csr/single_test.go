package csr_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/la/csr"
	"github.com/tessera-la/tessera/la/krylov"
	"gonum.org/v1/gonum/mat"
)

// TestSingle: products are those of the rounded matrix, at any size of the elements and on any number of workers, and
// iterations solve with it.
func TestSingle(t *testing.T) {
	for _, exp := range []int{0, -1060, -200, 200, 1015} {
		var before []float64
		for _, workers := range []int{1, 3} {
			rt := start(t, workers)
			entries := unsymmetric(2000, 5)
			rounded := &triples{n: entries.n}
			for k, v := range entries.v {
				rounded.add(entries.i[k], entries.j[k], math.Ldexp(math.Round(v*4096)/4096, exp)) // sums of entries in one place are exact, too
			}
			a, err := rounded.matrix(t, rt).Single()
			if err != nil {
				t.Fatal(err)
			}
			x := vector(entries.n, 1)
			for _, trans := range []bool{false, true} {
				y, want := make([]float64, len(x)), make([]float64, len(x))
				if err := a.MulVecTo(t.Context(), y, trans, x); err != nil {
					t.Fatal(err)
				}
				for k, v := range rounded.v {
					i, j := rounded.i[k], rounded.j[k]
					if trans {
						i, j = j, i
					}
					want[i] += v * x[j]
				}
				bound := 1e-13
				if exp < -1000 {
					bound = 1e-2 // elements and sums are subnormal
				}
				for i, v := range want {
					if math.Abs(y[i]-v) > bound*math.Ldexp(100, exp) {
						t.Fatalf("2^%d, trans %v: element %d is %v, want %v", exp, trans, i, y[i], v)
					}
				}
				if !trans && before != nil && !slices.Equal(y, before) {
					t.Error("other bits than on one worker")
				}
				if !trans {
					before = y
				}
			}
		}
	}
	entries := poisson(150, 140, 1)
	n := entries.n
	b := vector(n, 1)
	for _, workers := range []int{1, 3} {
		a := entries.matrix(t, start(t, workers))
		s, err := a.Single()
		if err != nil {
			t.Fatal(err)
		}
		m, err := csr.NewIC(a, csr.ICOptions{})
		if err != nil {
			t.Fatal(err)
		}
		x, y := make([]float64, n), make([]float64, n)
		r, err := krylov.CG(t.Context(), s, x, b, krylov.CGOptions{Preconditioner: m})
		w, err2 := krylov.CG(t.Context(), a, y, b, krylov.CGOptions{Preconditioner: m})
		// The elements are exact in float32.
		if err := errors.Join(err, err2); err != nil || r.Iterations != w.Iterations || distance(x, y) > 1e-12*norm(y) {
			t.Error(r, w, err, distance(x, y))
		}
	}
	rt := start(t, 2)
	s, err := csr.NewSingle(rt, 2, 3, []int{0, 2, 3}, []int32{2, 0, 1}, []float32{1, 2, 3})
	if err != nil || s.Entries() != 3 {
		t.Fatal(err)
	}
	d := mat.NewDense(2, 3, []float64{2, 0, 1, 0, 3, 0})
	x, y := make([]float64, 3), make([]float64, 2)
	if _, err := krylov.LSQR(t.Context(), s, x, []float64{3, 3}, krylov.LSQROptions{}); err != nil {
		t.Fatal(err)
	}
	if mat.NewVecDense(2, y).MulVec(d, mat.NewVecDense(3, x)); distance(y, []float64{3, 3}) > 1e-9 {
		t.Error(x)
	}
	if err := s.MulVecTo(t.Context(), y, false, y); !isShape(err) {
		t.Error(err)
	}
	for _, bad := range []struct {
		ia []int
		ja []int32
	}{{[]int{0, 2}, []int32{0, 1}}, {[]int{0, 2, 1}, []int32{0, 1}}, {[]int{0, 1, 2}, []int32{0, 3}}, {[]int{0, 1, 2}, []int32{-1, 0}}, {[]int{0, 1, 5}, []int32{0, 1}}} {
		var se *csr.StructureError
		if _, err := csr.NewSingle(rt, 2, 3, bad.ia, bad.ja, make([]float32, 2)); !errors.As(err, &se) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if fault := panicOf(func() {
		one, _ := csr.NewSingle(rt, 1, 1, []int{0, 1}, []int32{0}, []float32{1})
		one.MulVecTo(t.Context(), y[:1], false, y[:1])
	}); fault != csr.ErrOverlap {
		t.Error(fault)
	}
}
