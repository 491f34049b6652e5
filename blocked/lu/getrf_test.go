package lu_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/blocked/lu"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/sorted"
	"gonum.org/v1/gonum/blas"
)

// pivotings are the LU factorizations.
func pivotings[T blocked.Element]() map[string]func(p *blocked.Program[T], a *blocked.Matrix[T], v *lu.Pivots) error {
	return map[string]func(p *blocked.Program[T], a *blocked.Matrix[T], v *lu.Pivots) error{
		"partial":    lu.Getrf[T],
		"tournament": lu.GetrfTournament[T],
		"tile":       lu.GetrfTile[T],
	}
}

// dominant returns a random matrix that any pivoting can factor: its diagonal
// is large, but not so large that there would be no interchanges.
func dominant[T blocked.Element](rnd *rand.Rand, m, n int) blocked.General[T] {
	g := blockedtest.Normal[T](rnd, m, n)
	for i := range min(m, n) {
		g.Set(i, i, g.At(i, i)+2)
	}
	return g
}

// interchanged returns the rows of A in their order in L·U.
func interchanged(v *lu.Pivots, m int) []int {
	swaps, rows := make([]int, v.Len()), make([]int, m)
	v.Swaps(swaps)
	for i := range rows {
		rows[i] = i
	}
	for i, r := range swaps {
		rows[i], rows[r] = rows[r], rows[i]
	}
	return rows
}

func testGetrf[T blocked.Element](t *testing.T, rt *exec.Local) {
	rnd := rand.New(rand.NewPCG(11, 1))
	for name, factor := range sorted.Map(pivotings[T]()) {
		for _, nb := range []int{1, 3, 7} {
			dims := []int{0, 1, nb - 1, nb, nb + 1, 2*nb + 1, 9*nb + 2}
			for _, m := range dims {
				for _, n := range dims {
					what := fmt.Sprintf("%s, %d×%d, nb %d", name, m, n, nb)
					g := dominant[T](rnd, m, n)
					g0 := blockedtest.CopyOf(g)
					v := lu.NewPivots(m, n, nb)
					tasks, err := blockedtest.Compute(t, rt, func(p *blocked.Program[T]) error { return factor(p, blocked.View(g, nb), v) })
					if err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					if want := getrfTasks(blockedtest.TileCount(m, nb), blockedtest.TileCount(n, nb)); name == "partial" && tasks != want {
						t.Errorf("%s: %d tasks, want %d", what, tasks, want)
					}
					blockedtest.Kept(t, what, g, g0, blockedtest.Anywhere)
					k := min(m, n)
					lu := blockedtest.Of(g, blas.NoTrans)
					l := func(i, j int) float64 {
						if i == j {
							return 1
						}
						return lu.Only(blas.Lower)(i, j)
					}
					rows := interchanged(v, m)
					a := func(i, j int) float64 { return float64(g0.At(rows[i], j)) }
					residual := blockedtest.Minus(1, blockedtest.Element(l).Times(lu.Only(blas.Upper), k), 1, a).Norm(m, n)
					// Of tile pivoting no more is asked than that it solves
					// something.
					limit := map[string]float64{"partial": 30, "tournament": 30, "tile": 1e7}[name]
					if limit *= float64(max(m, n)) * blockedtest.Element(a).Norm(m, n) * blockedtest.Roundoff[T](); !(residual <= limit) {
						t.Errorf("%s: ‖LU−PᵀA‖ = %g, want at most %g", what, residual, limit)
					}
					if v.Info() != 0 {
						t.Errorf("%s: info %d", what, v.Info())
					}
					for i, r := range swaps(v) {
						if r < i || r >= m || name == "tile" && r/nb != i/nb {
							t.Errorf("%s: row %d exchanged with row %d", what, i, r)
						}
					}
				}
			}
		}
	}
}

func swaps(v *lu.Pivots) []int {
	s := make([]int, v.Len())
	v.Swaps(s)
	return s
}

// getrfTasks is the number of tasks of a factorization of mt×nt tiles.
func getrfTasks(mt, nt int) (tasks int) {
	for k := range min(mt, nt) {
		tasks += 1 + (nt-1-k)*(2+mt-1-k) + k // the panel; laswp, trsm, gemm to the right; laswp to the left
	}
	return tasks
}

func TestGetrf(t *testing.T) {
	for _, opt := range []exec.Options{{Workers: 1}, {Workers: 3, Float: true, Window: 5}} {
		rt := blockedtest.StartLocal(t, opt)
		testGetrf[float64](t, rt)
		testGetrf[float32](t, rt)
	}
}

// TestGetrfZero factors matrices without a pivot in one column or in all.
func TestGetrfZero(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 2, Float: true})
	rnd := rand.New(rand.NewPCG(11, 2))
	const n, nb = 11, 3
	for zero := range n {
		g := dominant[float64](rnd, n, n)
		for i := range n {
			g.Set(i, zero, 0)
		}
		for name, factor := range pivotings[float64]() {
			a, _ := blocked.From[float64](g, blocked.Full, nb, blocked.CopyOptions{})
			v := lu.NewPivots(n, n, nb)
			if _, err := blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error { return factor(p, a, v) }); err != nil {
				t.Fatal(err)
			}
			if v.Info() != zero+1 {
				t.Errorf("%s: info %d, want %d", name, v.Info(), zero+1)
			}
		}
	}
	// Tournaments of more than one task, too.
	a, v := blocked.New[float64](blocked.Full, 40, 20, 3), lu.NewPivots(40, 20, 3)
	if _, err := blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error { return lu.GetrfTournament(p, a, v) }); err != nil || v.Info() != 1 {
		t.Errorf("%v, info %d", err, v.Info())
	}
}

// TestGetrs solves, inverts and multiplies back without waiting in between.
func testGetrs[T blocked.Element](t *testing.T, rt *exec.Local) {
	rnd := rand.New(rand.NewPCG(11, 3))
	for _, nb := range []int{1, 3, 7} {
		for _, n := range []int{0, 1, nb, nb + 1, 2*nb + 1, 5*nb + 2} {
			for _, trans := range []blas.Transpose{blas.NoTrans, blas.Trans} {
				what := fmt.Sprintf("n %d, nb %d, trans %c", n, nb, trans)
				const nrhs = 5
				full, rhs := dominant[T](rnd, n, n), blockedtest.Normal[T](rnd, n, nrhs)
				a, _ := blocked.From[T](full, blocked.Full, nb, blocked.CopyOptions{})
				av, v := blocked.View(full, nb), lu.NewPivots(n, n, nb)
				x, r := blocked.View(blockedtest.CopyOf(rhs), nb), blocked.View(blockedtest.CopyOf(rhs), nb)
				inv, one := blocked.View(blockedtest.Memory[T](n, n), nb), blocked.New[T](blocked.Full, n, n, nb)
				one.SetIdentity()
				_, err := blockedtest.Compute(t, rt, func(p *blocked.Program[T]) error {
					for _, err := range []error{
						lu.Getrf(p, a, v), lu.Getrs(p, trans, a, v, x), p.Gemm(trans, blas.NoTrans, -1, av, x, 1, r),
						lu.Getri(p, a, v, inv), p.Gemm(blas.NoTrans, blas.NoTrans, -1, av, inv, 1, one),
						// Once more, into what is in use.
						lu.Getri(p, a, v, inv),
					} {
						if err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				for name, res := range map[string][2]*blocked.Matrix[T]{"solution": {r, x}, "inverse": {one, inv}} {
					norm := func(m *blocked.Matrix[T]) float64 {
						r, c := m.Dims()
						return blockedtest.Element(func(i, j int) float64 { return float64(m.At(i, j)) }).Norm(r, c)
					}
					limit := 30 * float64(n) * max(norm(av), norm(av.Transposed())) * norm(res[1]) * blockedtest.Roundoff[T]()
					if got := norm(res[0]); !(got <= limit) {
						t.Errorf("%s: residual of the %s %g, want at most %g", what, name, got, limit)
					}
				}
			}
		}
	}
}

func TestGetrs(t *testing.T) {
	for _, opt := range []exec.Options{{Workers: 1}, {Workers: 3, Float: true, Window: 5}} {
		rt := blockedtest.StartLocal(t, opt)
		testGetrs[float64](t, rt)
		testGetrs[float32](t, rt)
	}
}

// TestLaswp exchanges there and back.
func TestLaswp(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 2})
	rnd := rand.New(rand.NewPCG(11, 4))
	const m, n, nb = 11, 5, 3
	v := lu.NewPivots(m, 7, nb)
	s := make([]int, v.Len())
	for i := range s {
		s[i] = i + rnd.IntN(m-i)
	}
	v.SetSwaps(s, 0)
	g := blockedtest.Normal[float64](rnd, m, n)
	b, _ := blocked.From[float64](g, blocked.Full, nb, blocked.CopyOptions{})
	rows := interchanged(v, m)
	blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error { return lu.Laswp(p, v, false, b) })
	for i := range m {
		for j := range n {
			if b.At(i, j) != g.At(rows[i], j) {
				t.Fatalf("(%d, %d) is %v, want %v", i, j, b.At(i, j), g.At(rows[i], j))
			}
		}
	}
	blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error { return lu.Laswp(p, v, true, b) })
	for i := range m {
		for j := range n {
			if b.At(i, j) != g.At(i, j) {
				t.Fatalf("back: (%d, %d) is %v, want %v", i, j, b.At(i, j), g.At(i, j))
			}
		}
	}
}

func TestGetrfPanics(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 1})
	full := func(m, n, nb int) *blocked.Matrix[float64] { return blocked.New[float64](blocked.Full, m, n, nb) }
	sym := blocked.New[float64](blocked.SymLower, 4, 4, 2)
	v := lu.NewPivots(4, 4, 2)
	blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error {
		for name, f := range map[string]struct {
			f    func()
			want any
		}{
			"Getrf, kind":            {func() { lu.Getrf(p, sym, v) }, blocked.ErrKind},
			"Getrf, pivots":          {func() { lu.Getrf(p, full(4, 5, 2), v) }, blocked.ErrShape},
			"Getrf, tiles":           {func() { lu.Getrf(p, full(4, 4, 3), v) }, blocked.ErrShape},
			"GetrfTournament, kind":  {func() { lu.GetrfTournament(p, sym, v) }, blocked.ErrKind},
			"GetrfTile, pivots":      {func() { lu.GetrfTile(p, full(5, 4, 2), v) }, blocked.ErrShape},
			"Getrs, kind":            {func() { lu.Getrs(p, blas.NoTrans, full(4, 4, 2), v, sym) }, blocked.ErrKind},
			"Getrs, not square":      {func() { lu.Getrs(p, blas.NoTrans, full(4, 5, 2), lu.NewPivots(4, 5, 2), full(4, 1, 2)) }, blocked.ErrShape},
			"Getrs, rows":            {func() { lu.Getrs(p, blas.NoTrans, full(4, 4, 2), v, full(5, 1, 2)) }, blocked.ErrShape},
			"Getrs, tiles":           {func() { lu.Getrs(p, blas.NoTrans, full(4, 4, 2), v, full(4, 1, 3)) }, blocked.ErrShape},
			"Getri, kind":            {func() { lu.Getri(p, full(4, 4, 2), v, sym) }, blocked.ErrKind},
			"Getri, shape":           {func() { lu.Getri(p, full(4, 4, 2), v, full(4, 5, 2)) }, blocked.ErrShape},
			"Laswp, kind":            {func() { lu.Laswp(p, v, false, sym) }, blocked.ErrKind},
			"Laswp, rows":            {func() { lu.Laswp(p, v, false, full(5, 1, 2)) }, blocked.ErrShape},
			"NewPivots":              {func() { lu.NewPivots(1, 1, 0) }, blocked.ErrShape},
			"SetSwaps, length":       {func() { v.SetSwaps(make([]int, 3), 0) }, blocked.ErrShape},
			"SetSwaps, upwards":      {func() { v.SetSwaps([]int{0, 0, 2, 3}, 0) }, blocked.ErrIndex},
			"SetSwaps, out of range": {func() { v.SetSwaps([]int{0, 4, 2, 3}, 0) }, blocked.ErrIndex},
			"Panel":                  {func() { v.Panel(2) }, blocked.ErrIndex},
			"Leading, kind":          {func() { sym.Leading(1, 1) }, blocked.ErrKind},
			"Leading, shape":         {func() { full(4, 4, 2).Leading(5, 1) }, blocked.ErrShape},
			"FactorMaxima":           {func() { lu.FactorMaxima(sym, 0) }, blocked.ErrKind},
		} {
			if got := blockedtest.Recovered(f.f); got != f.want {
				t.Errorf("%s: panic %v, want %v", name, got, f.want)
			}
		}
		return nil
	})
}

// TestPivots checks the forms of pivots.
func TestPivots(t *testing.T) {
	v := lu.NewPivots(9, 7, 3)
	if got := swaps(v); !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6}) || v.Info() != 0 {
		t.Errorf("new: %v, info %d", got, v.Info())
	}
	want := []int{8, 3, 2, 8, 7, 5, 8}
	v.SetSwaps(want, 5)
	if got := swaps(v); !slices.Equal(got, want) || v.Info() != 5 {
		t.Errorf("%v, info %d", got, v.Info())
	}
	if got := v.Panel(1).Rows; !slices.Equal(got, []int{5, 4, 2}) || v.Panel(1).Info != 5 {
		t.Errorf("panel 1: %v", got)
	}
	c := v.Clone()
	v.SetSwaps([]int{0, 1, 2, 3, 4, 5, 6}, 0)
	if got := swaps(c); !slices.Equal(got, want) || c.Info() != 5 || v.Info() != 0 {
		t.Errorf("clone: %v, info %d", got, c.Info())
	}
}

// TestLeading checks that a leading block is one and shares memory.
func TestLeading(t *testing.T) {
	a := blocked.New[float64](blocked.Full, 7, 8, 3)
	for i := range 7 {
		for j := range 8 {
			a.Set(i, j, float64(10*i+j))
		}
	}
	for m := range 8 {
		for n := range 9 {
			b := a.Leading(m, n)
			if r, c := b.Dims(); r != m || c != n {
				t.Fatalf("%d×%d: %d×%d", m, n, r, c)
			}
			for i := range m {
				for j := range n {
					if b.At(i, j) != float64(10*i+j) {
						t.Fatalf("%d×%d: (%d, %d) is %v", m, n, i, j, b.At(i, j))
					}
				}
			}
			if m > 0 && n > 0 {
				b.Set(m-1, n-1, -1)
				if a.At(m-1, n-1) != -1 {
					t.Fatal("memory of its own")
				}
				a.Set(m-1, n-1, float64(10*(m-1)+n-1))
			}
		}
	}
}

// TestFactorMaxima compares with what a loop finds.
func TestFactorMaxima(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 5))
	for _, nb := range []int{1, 3, 20} {
		for _, d := range [][2]int{{7, 7}, {5, 11}, {11, 5}, {0, 3}} {
			a, _ := blocked.From[float32](blockedtest.Normal[float32](rnd, d[0], d[1]), blocked.Full, nb, blocked.CopyOptions{})
			l, u := lu.FactorMaxima(a, 2)
			wantL, wantU := make([]float64, len(l)), make([]float64, len(l))
			for i := range d[0] {
				for j := range d[1] {
					x := math.Abs(float64(a.At(i, j)))
					if k := j / nb; i > j && k < len(l) {
						wantL[k] = max(wantL[k], x, 1)
					}
					if k := i / nb; i <= j {
						wantU[k] = max(wantU[k], x)
						wantL[k] = max(wantL[k], 1)
					}
				}
			}
			if !slices.Equal(l, wantL) || !slices.Equal(u, wantU) {
				t.Errorf("nb %d, %v: %v, %v, want %v, %v", nb, d, l, u, wantL, wantU)
			}
			if len(l) > 0 {
				a.Set(d[0]-1, 0, float32(math.NaN()))
				if l, _ := lu.FactorMaxima(a, 2); d[0] > 1 && l[0] == l[0] {
					t.Error("a NaN is not seen")
				}
			}
		}
	}
}
