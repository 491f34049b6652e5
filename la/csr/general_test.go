package csr_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/csr"
	"github.com/tessera-la/tessera/la/krylov"
	"gonum.org/v1/gonum/mat"
)

// convection returns −Δu + (p, q)·∇u with central differences on x×y points, times the square of their distance:
// the usual matrix that is not symmetric.
func convection(x, y int, p, q float64) *triples {
	t := &triples{n: x * y}
	for i := range t.n {
		t.add(i, i, 4)
		if i%x+1 < x {
			t.add(i, i+1, -1+p)
			t.add(i+1, i, -1-p)
		}
		if i+x < t.n {
			t.add(i, i+x, -1+q)
			t.add(i+x, i, -1-q)
		}
	}
	return t
}

// general makes the preconditioners for matrices that are not symmetric.
var general = map[string]func(a *csr.Matrix) (krylov.Preconditioner, error){
	"none":   func(*csr.Matrix) (krylov.Preconditioner, error) { return nil, nil },
	"Jacobi": func(a *csr.Matrix) (krylov.Preconditioner, error) { return csr.NewJacobi(a) },
	"SSOR":   func(a *csr.Matrix) (krylov.Preconditioner, error) { return csr.NewSSOR(a, 1) },
	"ILU(0)": func(a *csr.Matrix) (krylov.Preconditioner, error) { return csr.NewILU(a, csr.ILUOptions{}) },
	"ILU(2)": func(a *csr.Matrix) (krylov.Preconditioner, error) { return csr.NewILU(a, csr.ILUOptions{Levels: 2}) },
	"ILU, drop": func(a *csr.Matrix) (krylov.Preconditioner, error) {
		return csr.NewILU(a, csr.ILUOptions{Drop: 1e-3})
	},
	"MILU": func(a *csr.Matrix) (krylov.Preconditioner, error) { return csr.NewILU(a, csr.ILUOptions{Relax: 1}) },
	"blocks": func(a *csr.Matrix) (krylov.Preconditioner, error) {
		return csr.NewBlockJacobi(a, csr.BlockJacobiOptions{Size: 20})
	},
	"ILU in blocks": func(a *csr.Matrix) (krylov.Preconditioner, error) {
		return csr.NewBlockJacobi(a, csr.BlockJacobiOptions{Blocks: 4, Solver: func(b *csr.Matrix) (krylov.Preconditioner, error) { return csr.NewILU(b, csr.ILUOptions{}) }})
	},
}

// TestGeneral: GMRES and BiCGSTAB have the solution of a factorization with every preconditioner, and the iterations
// that these are known to take.
func TestGeneral(t *testing.T) {
	entries := convection(25, 20, 0.4, -0.2)
	a, n := entries.matrix(t, start(t, 2)), entries.n
	b := vector(n, 1)
	var want mat.VecDense
	if _, err := la.Solve(t.Context(), nil, &want, dense(entries), mat.NewVecDense(n, b)); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{} // docs/solving.md has them
	for name, make1 := range general {
		m, err := make1(a)
		if err != nil {
			t.Fatal(name, err)
		}
		x, y := make([]float64, n), make([]float64, n)
		g, err := krylov.GMRES(t.Context(), a, x, b, krylov.GMRESOptions{Tolerance: 1e-12, Preconditioner: m})
		s, err2 := krylov.BiCGSTAB(t.Context(), a, y, b, krylov.BiCGSTABOptions{Tolerance: 1e-12, Preconditioner: m})
		w := want.RawVector().Data
		if err := errors.Join(err, err2); err != nil || distance(x, w) > 1e-9*norm(w) || distance(y, w) > 1e-9*norm(w) {
			t.Errorf("%s: %v, differ by %v and %v", name, err, distance(x, w), distance(y, w))
		}
		count[name] = g.Iterations
		t.Logf("%-14s GMRES %3d, BiCGSTAB %3d", name, g.Iterations, s.Iterations)
	}
	if better := []string{"ILU, drop", "ILU(2)", "ILU(0)", "SSOR", "none"}; !slices.IsSortedFunc(better, func(a, b string) int { return count[a] - count[b] }) {
		t.Errorf("iterations %v, want them in the order of %v", count, better)
	}
}

// TestILUOracle: L·U is A where A has elements, and where elimination makes elements of a low enough level; without
// limits it is A, and with Relax the row sums are those of A.
func TestILUOracle(t *testing.T) {
	for _, entries := range []*triples{convection(7, 6, 0.5, 0.1), unsymmetric(50, 1)} {
		n, rt := entries.n, start(t, 2)
		a, d := entries.matrix(t, rt), dense(entries)
		for _, opt := range []csr.ILUOptions{{}, {Levels: 1}, {Levels: 100}, {Relax: 1}, {Drop: 1e-300}, {Drop: 0.05, Relax: 1}} {
			m, err := csr.NewILU(a, opt)
			if err != nil {
				t.Fatal(err)
			}
			inverse := mat.NewDense(n, n, nil)
			x, e := make([]float64, n), make([]float64, n)
			for j := range n {
				clear(e)
				e[j] = 1
				if err := m.SolveVecTo(t.Context(), x, e); err != nil {
					t.Fatal(err)
				}
				inverse.SetCol(j, x)
			}
			var lu mat.Dense
			if err := lu.Inverse(inverse); err != nil {
				t.Fatal(err)
			}
			whole, worst, sums := opt.Levels == 100 || opt.Drop == 1e-300, 0.0, 0.0
			for i := range n {
				sum := 0.0
				for j := range n {
					v := lu.At(i, j) - d.At(i, j)
					if sum += v; whole || opt.Drop == 0 && (opt.Relax == 0 || i != j) && d.At(i, j) != 0 {
						worst = max(worst, math.Abs(v))
					}
				}
				sums = max(sums, math.Abs(sum))
			}
			if worst > 1e-10 || opt.Relax == 1 && sums > 1e-9 {
				t.Errorf("%+v of order %d: differs by %v, row sums by %v", opt, n, worst, sums)
			}
			if opt == (csr.ILUOptions{}) && m.Entries() != pattern(d) {
				t.Errorf("%d entries, want %d", m.Entries(), pattern(d))
			}
		}
	}
}

func pattern(d *mat.Dense) (count int) {
	for _, v := range d.RawMatrix().Data {
		if v != 0 {
			count++
		}
	}
	return count
}

// unsymmetric returns a matrix without symmetry, neither of elements nor of their places, with entries in two parts.
func unsymmetric(n int, seed uint64) *triples {
	t := dominant(n, seed)
	for k := range t.v {
		if k%3 == 0 && t.i[k] != t.j[k] {
			t.i[k], t.j[k] = t.j[k], (t.i[k]*7+k)%n
		}
	}
	for i := range n {
		t.add(i, i, 8)
	}
	return t
}

// TestSSOR: M is what its definition says.
func TestSSOR(t *testing.T) {
	entries := unsymmetric(40, 2)
	const omega = 1.3
	n, d := entries.n, dense(entries)
	m, err := csr.NewSSOR(entries.matrix(t, start(t, 1)), omega)
	if err != nil {
		t.Fatal(err)
	}
	l, u, middle, want := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil), mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
	for i := range n {
		middle.Set(i, i, 1/d.At(i, i)/omega/(2-omega))
		for j := range n {
			v := d.At(i, j)
			if i != j {
				v *= omega
			}
			if i >= j {
				l.Set(i, j, v)
			}
			if i <= j {
				u.Set(i, j, v)
			}
		}
	}
	want.Product(l, middle, u)
	x, r, back := make([]float64, n), vector(n, 1), mat.NewVecDense(n, nil)
	if err := m.SolveVecTo(t.Context(), x, r); err != nil {
		t.Fatal(err)
	}
	if back.MulVec(want, mat.NewVecDense(n, x)); distance(back.RawVector().Data, r) > 1e-12*norm(r) {
		t.Errorf("M·M⁻¹·r differs from r by %v", distance(back.RawVector().Data, r))
	}
}

// TestBlockJacobi: M is the diagonal blocks.
func TestBlockJacobi(t *testing.T) {
	entries := unsymmetric(50, 3)
	n, d := entries.n, dense(entries)
	a := entries.matrix(t, start(t, 2))
	for _, size := range []int{1, 7, 50, 100} {
		m, err := csr.NewBlockJacobi(a, csr.BlockJacobiOptions{Size: size})
		if err != nil || m.Blocks() != (n+size-1)/size {
			t.Fatal(size, err)
		}
		x, r := make([]float64, n), vector(n, 1)
		if err := m.SolveVecTo(t.Context(), x, r); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			sum := 0.0
			for j := i / size * size; j < min(n, (i/size+1)*size); j++ {
				sum += d.At(i, j) * x[j]
			}
			if math.Abs(sum-r[i]) > 1e-12 {
				t.Errorf("size %d: row %d differs by %v", size, i, sum-r[i])
			}
		}
	}
	// A permutation: all pivots are elsewhere.
	p := &triples{n: 5}
	for i := range 5 {
		p.add(i, (i+2)%5, float64(i+1))
	}
	m, err := csr.NewBlockJacobi(p.matrix(t, start(t, 1)), csr.BlockJacobiOptions{})
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, 5)
	if err := m.SolveVecTo(t.Context(), x, []float64{1, 2, 3, 4, 5}); err != nil || !slices.Equal(x, []float64{1, 1, 1, 1, 1}) {
		t.Error(x, err)
	}
}

// TestGeneralErrors: what has no such preconditioner says why.
func TestGeneralErrors(t *testing.T) {
	rt := start(t, 1)
	var oe *la.OptionsError
	a := convection(60, 60, 0, 0).matrix(t, rt)
	for _, omega := range []float64{0, 2, -1, math.NaN()} {
		if _, err := csr.NewSSOR(a, omega); !errors.As(err, &oe) {
			t.Errorf("ω = %v: %v", omega, err)
		}
	}
	for _, opt := range []csr.ILUOptions{{Levels: -1}, {Drop: 1}, {Relax: math.NaN()}} {
		if _, err := csr.NewILU(a, opt); !errors.As(err, &oe) {
			t.Errorf("%+v: %v", opt, err)
		}
	}
	for _, opt := range []csr.BlockJacobiOptions{{Size: -1}, {Blocks: -1}, {Size: 1, Blocks: 1}, {Size: 3000}, {Blocks: 1}} {
		if _, err := csr.NewBlockJacobi(a, opt); !errors.As(err, &oe) {
			t.Errorf("%+v: %v", opt, err)
		}
	}
	// Zeros of the diagonal: fill comes there, or not.
	saddle := &triples{n: 3}
	saddle.add(0, 0, 2)
	saddle.add(1, 1, 3)
	saddle.both(0, 2, 1)
	if m, err := csr.NewILU(saddle.matrix(t, rt), csr.ILUOptions{}); err != nil || m.Entries() != 5 {
		t.Error(err)
	}
	var pe *csr.PivotError
	saddle.add(1, 1, -3)
	if _, err := csr.NewILU(saddle.matrix(t, rt), csr.ILUOptions{}); !errors.As(err, &pe) || pe.Row != 1 || pe.Method != "NewILU" {
		t.Error(err)
	}
	cause := errors.New("not this one")
	_, err := csr.NewBlockJacobi(a, csr.BlockJacobiOptions{Blocks: 3, Solver: func(*csr.Matrix) (krylov.Preconditioner, error) { return nil, cause }})
	if err != cause {
		t.Error(err)
	}
}
