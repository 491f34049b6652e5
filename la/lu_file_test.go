package la_test

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

var rewriteUnsymmetric = flag.Bool("rewrite-unsymmetric", false, "rewrite the unsymmetric matrices in ../blocked/file/testdata/files")

// convection is the upwind discretization of -Δu + v·∇u on a grid of nx×ny
// points, with a flow that turns around the middle of the grid: unsymmetric, and
// the stiffer the faster the flow is.
func convection(nx, ny int, speed float64) *blocked.Matrix[float64] {
	a := blocked.New[float64](blocked.Full, nx*ny, nx*ny, 32)
	add := func(i, j int, v float64) { a.Set(i, j, a.At(i, j)+v) }
	for y := range ny {
		for x := range nx {
			i := y*nx + x
			vx, vy := speed*(float64(y)-float64(ny-1)/2), -speed*(float64(x)-float64(nx-1)/2)
			add(i, i, 4+math.Abs(vx)+math.Abs(vy))
			for _, d := range []struct {
				dx, dy int
				v      float64
			}{{-1, 0, vx}, {1, 0, -vx}, {0, -1, vy}, {0, 1, -vy}} {
				if u, w := x+d.dx, y+d.dy; u >= 0 && u < nx && w >= 0 && w < ny {
					add(i, w*nx+u, -1-max(d.v, 0))
				}
			}
		}
	}
	return a
}

// circuit is the modified nodal analysis of a ladder of n resistors between
// voltage sources: zeros on the diagonal, so that there is no factorization
// without pivots, and conductances over twelve decades.
func circuit(n int) *blocked.Matrix[float64] {
	const sources = 4
	a := blocked.New[float64](blocked.Full, n+sources, n+sources, 32)
	for i := range n {
		g := math.Pow(10, 6-float64(i*7%13))
		a.Set(i, i, a.At(i, i)+g)
		if i > 0 {
			a.Set(i, i-1, -g)
			a.Set(i-1, i, -g)
			a.Set(i-1, i-1, a.At(i-1, i-1)+g)
		}
	}
	for k := range sources {
		i := k * n / sources
		a.Set(n+k, i, 1)
		a.Set(i, n+k, 1)
		if k > 0 {
			a.Set(n+k, i-1, -2.5) // controlled by the voltage beside it
		}
	}
	return a
}

// kinetics is 1 - h·J for the Jacobian J of a chain of n reactions, each of
// which also feeds the first substance, whose rate constants grow from 10⁻⁸ to
// 10⁸: as implicit methods solve with.
func kinetics(n int) *blocked.Matrix[float64] {
	a := blocked.New[float64](blocked.Full, n, n, 32)
	for i := range n {
		rate := math.Pow(10, -8+16*float64(i*11%n)/float64(n-1))
		a.Set(i, i, 1+rate)
		if i+1 < n {
			a.Set(i+1, i, -0.75*rate)
		}
		if i > 1 {
			a.Set(0, i, -0.25*rate)
		}
	}
	return a
}

// smoothing is an integral equation of the first kind on n points, a blur with a
// shift, and so close to singular that little can be said of what was blurred.
func smoothing(n int) *blocked.Matrix[float64] {
	a := blocked.New[float64](blocked.Full, n, n, 32)
	for i := range n {
		for j := range n {
			d := float64(i-j-2) / 4
			a.Set(i, j, math.Exp(-d*d))
		}
	}
	return a
}

// TestUnsymmetricFiles factors unsymmetric matrices that are kept in Matrix
// Market files, and solves with them.
func TestUnsymmetricFiles(t *testing.T) {
	for _, c := range []struct {
		name string
		a    *blocked.Matrix[float64]
		cond float64 // at least
	}{
		{"convection12x9.mtx", convection(12, 9, 20), 10},
		{"circuit80.mtx", circuit(80), 1e11},
		{"kinetics61.mtx", kinetics(61), 1e7},
		{"smooth32.mtx", smoothing(32), 1e14},
	} {
		path := filepath.Join("..", "blocked", "file", "testdata", "files", c.name)
		var buf bytes.Buffer
		if err := file.WriteMatrixMarket(&buf, c.a, &file.WriteOptions{Coordinate: true, Comment: "made by TestUnsymmetricFiles"}); err != nil {
			t.Fatal(err)
		}
		if *rewriteUnsymmetric {
			if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		m, err := file.Read[float64](path, &file.ReadOptions{NB: 32})
		if err != nil {
			t.Fatal(err)
		}
		a := load[float64](m, blas.NoTrans)
		made := load[float64](c.a, blas.NoTrans)
		for i := range a.x {
			if !(math.Abs(a.x[i]-made.x[i]) <= 1e-14*math.Abs(made.x[i])) {
				t.Fatalf("%s: element %d is %v, made was %v", c.name, i, a.x[i], made.x[i])
			}
		}
		solveFile[float64](t, c.name, m, a, c.cond)
		single := padded[float32](a.m, a.n, 0)
		for i := range a.m {
			for j := range a.n {
				single.Set(i, j, float32(a.at(i, j)))
			}
		}
		solveFile[float32](t, c.name, single, load[float32](single, blas.NoTrans), 0)
	}
}

// solveFile factors src, which is a, with every pivoting and solves with it.
func solveFile[T la.Element](t *testing.T, name string, src la.Source[T], a dense, cond float64) {
	t.Helper()
	for engine, e := range map[string]*la.Engine{"tiles": start(t, la.Options{Workers: 2, NB: 16, Direct: -1}), "auto": nil} {
		for pivoting, f := range lus[T](t, e) {
			if err := f.Factorize(src); err != nil {
				t.Errorf("%s, %s, %s: %v", name, engine, pivoting, err)
				continue
			}
			small(t, luResidual(f, a), 30, "%s, %s, %s", name, engine, pivoting)
			if got := f.Cond(); got < cond {
				t.Errorf("%s: condition %.3g, want above %.3g", name, got, cond)
			}
			b := rectangle[T](t, matgen.Spec{M: a.n, N: 3}, 0)
			for _, trans := range []bool{false, true} {
				x := padded[T](a.n, 3, 0)
				if err := f.SolveTo(x, trans, b); err != nil {
					if _, ok := err.(mat.Condition); !ok {
						t.Errorf("%s, %s, %s: %v", name, engine, pivoting, err)
						continue
					}
				}
				op := a
				if trans {
					op = a.t()
				}
				small(t, solveResidual[T](op, load[T](x, blas.NoTrans), load[T](b, blas.NoTrans)), 30, "%s, %s, %s, transposed %v", name, engine, pivoting, trans)
				small(t, hpl[T](op, newDense(a.n, 1, func(i, _ int) float64 { return float64(x.At(i, 0)) }), newDense(a.n, 1, func(i, _ int) float64 { return float64(b.At(i, 0)) })), 16, "%s, %s, %s, transposed %v: HPL", name, engine, pivoting, trans)
			}
		}
	}
}
