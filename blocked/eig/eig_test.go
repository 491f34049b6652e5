package eig_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/eig"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/exec"
)

// decomposition returns the eigenvalues of a, which is overwritten, and the eigenvectors of those from first on, one after the other.
func decomposition(t *testing.T, rt *exec.Local, a *blocked.Matrix[float64], first int) (values, v []float64) {
	t.Helper()
	n := a.Dim()
	s, err := eig.NewSymmetric(rt, a, true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Select(first, n); err != nil {
		t.Fatal(err)
	}
	columns := blocked.New[float64](blocked.Full, n, n-first, 5)
	if _, err := blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error {
		for _, stage := range []func(*blocked.Program[float64], *eig.Symmetric[float64]) error{
			eig.Sy2sb[float64], eig.Sb2st[float64], eig.Stedc[float64], eig.Ormsb2st[float64], eig.Ormsy2sb[float64],
		} {
			if err := stage(p, s); err != nil {
				return err
			}
		}
		return eig.CopyVectors(p, s, columns)
	}); err != nil {
		t.Fatal(err)
	}
	values = make([]float64, n)
	if err := s.Values(context.Background(), values); err != nil {
		t.Fatal(err)
	}
	strips := 0
	if err := s.EachStrip(context.Background(), func(at int, rows *blocked.Tile[float64]) {
		strips++
		for i := range rows.Rows {
			for j, x := range rows.Row(i) {
				if columns.At(j, at+i) != x {
					t.Fatalf("order %d: element %d of vector %d is %v, its copy %v", n, j, first+at+i, x, columns.At(j, at+i))
				}
			}
			v = append(v, rows.Row(i)...)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if n-first > 1 && strips%2 != 0 {
		t.Errorf("order %d: %d strips, want an even number", n, strips)
	}
	return values, v
}

// TestStages: the stages have small residuals and orthogonal vectors, and the same bits for any number of workers, for
// panels that fill tiles and others.
func TestStages(t *testing.T) {
	workers := []*exec.Local{blockedtest.StartLocal(t, exec.Options{Workers: 1}), blockedtest.StartLocal(t, exec.Options{Workers: 3})}
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, size := range [][2]int{{1, 4}, {2, 4}, {5, 1}, {9, 4}, {47, 50}, {130, 50}, {90, 100}, {101, 32}} {
		n, nb := size[0], size[1]
		a := blocked.New[float64](blocked.SymUpper, n, n, nb)
		for i := range n {
			for j := i; j < n; j++ {
				a.Set(i, j, rnd.NormFloat64())
			}
		}
		first := n / 3
		values, v := decomposition(t, workers[0], a.Clone(), first)
		again, w := decomposition(t, workers[1], a.Clone(), first)
		if !slices.Equal(values, again) || !slices.Equal(v, w) {
			t.Errorf("%v: the bits depend on the number of workers", size)
		}
		bound := 30 * float64(n) * 0x1p-52
		norm := max(math.Abs(values[0]), math.Abs(values[n-1]))
		for k := range n - first {
			x := v[k*n:][:n]
			for i := range n {
				residual := -values[first+k] * x[i]
				for j := range n {
					residual += a.At(i, j) * x[j]
				}
				if !(math.Abs(residual) <= bound*norm) {
					t.Fatalf("%v: residual %g of vector %d", size, residual, first+k)
				}
			}
			for l := range k + 1 {
				dot := 0.0
				if l == k {
					dot = -1
				}
				for i, y := range v[l*n:][:n] {
					dot += x[i] * y
				}
				if !(math.Abs(dot) <= bound) {
					t.Fatalf("%v: vectors %d and %d: %g", size, first+l, first+k, dot)
				}
			}
		}
	}
}

// TestMisuse: what is not symmetric, and eigenvalues that there are not, panic.
func TestMisuse(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 1})
	s, err := eig.NewSymmetric(rt, blocked.New[float64](blocked.SymUpper, 5, 5, 2), true)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Select(0, 5); err != nil {
		t.Fatal(err)
	}
	blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error {
		for what, c := range map[string]struct {
			f    func()
			want blocked.Error
		}{
			"lower": {func() { eig.NewSymmetric(rt, blocked.New[float64](blocked.SymLower, 5, 5, 2), true) }, blocked.ErrKind},
			"order": {func() { s.Select(2, 6) }, blocked.ErrIndex},
			"none":  {func() { s.Select(3, 2) }, blocked.ErrIndex},
			"kind":  {func() { eig.CopyVectors(p, s, blocked.New[float64](blocked.SymUpper, 5, 5, 2)) }, blocked.ErrKind},
			"shape": {func() { eig.CopyVectors(p, s, blocked.New[float64](blocked.Full, 5, 4, 2)) }, blocked.ErrShape},
		} {
			if v := blockedtest.Recovered(c.f); v != c.want {
				t.Errorf("%s: panic %v, want %v", what, v, c.want)
			}
		}
		return nil
	})
	a := blocked.New[float64](blocked.SymUpper, 30, 30, 5)
	if err := a.SetLayout(blocked.BlockCyclic{P: 2, Q: 2}, 4); err != nil {
		t.Fatal(err)
	}
	owned := map[int]int{}
	for j := range a.NT() {
		o := eig.Columns(a).Owner(0, j)
		if owned[o]++; o != eig.Columns(a).Owner(j, j) {
			t.Errorf("column %d has several owners", j)
		}
	}
	if len(owned) != 4 {
		t.Errorf("the owners of columns are %v, by their number of columns", owned)
	}
}
