package la_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/sorted"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// engines returns engines that go each way through la: in small tiles, and
// straight to a kernel.
func engines(t *testing.T) map[string]*la.Engine {
	return map[string]*la.Engine{
		"tiles":  start(t, la.Options{Workers: 2, NB: 5, Direct: -1, Deterministic: true}),
		"direct": start(t, la.Options{Workers: 1, Deterministic: true}),
		"nil":    nil,
	}
}

// sources returns g in all the forms in which a matrix can be had.
func sources(g la.General[float64]) map[string]la.Source[float64] {
	d := mat.NewDense(g.Rows+2, g.Cols+3, nil)
	s := d.Slice(1, g.Rows+1, 2, g.Cols+2).(*mat.Dense)
	tr := mat.NewDense(g.Cols, g.Rows, nil)
	for i := range g.Rows {
		for j := range g.Cols {
			s.Set(i, j, g.At(i, j))
			tr.Set(j, i, g.At(i, j))
		}
	}
	same, _ := blocked.From[float64](g, blocked.Full, 5, blocked.CopyOptions{})
	other, _ := blocked.From[float64](g, blocked.Full, 4, blocked.CopyOptions{})
	g2 := clone(g)
	return map[string]la.Source[float64]{
		"General": clone(g), "*General": &g2, "Dense": mat.DenseCopyOf(s), "slice": s, "transpose": tr.T(),
		"transpose twice": mat.Transpose{Matrix: mat.Transpose{Matrix: s}}, "tiles": same, "other tiles": other, "hidden": hidden[float64]{clone(g)},
	}
}

// TestGemmOperands multiplies matrices of all forms into all forms.
func TestGemmOperands(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 1))
	const m, n, k = 11, 9, 12
	a, b, c0 := random[float64](rnd, m, k, 0), random[float64](rnd, k, n, 1), random[float64](rnd, m, n, 2)
	for engine, e := range engines(t) {
		for from, src := range sources(a) {
			for to, dst := range sources(c0) {
				c, ok := dst.(la.Sink[float64])
				if !ok {
					continue
				}
				what := fmt.Sprintf("%s: %s into %s", engine, from, to)
				if err := la.Gemm[float64](t.Context(), e, blas.NoTrans, blas.Trans, -1, src, transposed(b), 2.5, c); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				r := gemmResidual[float64](-1, load[float64](a, blas.NoTrans), load[float64](b, blas.NoTrans), 2.5,
					load[float64](c0, blas.NoTrans), load[float64](c, blas.NoTrans))
				small(t, r, 3, "%s", what)
			}
		}
	}
}

// transposed returns a copy of aᵀ.
func transposed[T la.Element](a la.General[T]) la.General[T] {
	g := padded[T](a.Cols, a.Rows, 0)
	for i := range a.Rows {
		for j := range a.Cols {
			g.Set(j, i, a.At(i, j))
		}
	}
	return g
}

// TestGonumOperands multiplies gonum's matrices that are no mat.Dense.
func TestGonumOperands(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 2))
	const n = 13
	sym, upper, lower := mat.NewSymDense(n, nil), mat.NewTriDense(n, mat.Upper, nil), mat.NewTriDense(n, mat.Lower, nil)
	band := mat.NewBandDense(n, n, 2, 1, nil)
	for i := range n {
		for j := i; j < n; j++ {
			sym.SetSym(i, j, rnd.NormFloat64())
			upper.SetTri(i, j, rnd.NormFloat64())
			lower.SetTri(j, i, rnd.NormFloat64())
			if j == i+1 {
				band.SetBand(i, j, 1)
			}
		}
	}
	col := mat.NewDense(n, 4, nil)
	col.Apply(func(int, int, float64) float64 { return rnd.NormFloat64() }, col)
	vec := col.ColView(2) // its elements lie apart
	for engine, e := range sorted.Map(engines(t)) {
		for name, a := range sorted.Map(map[string]mat.Matrix{
			"SymDense": sym, "upper": upper, "lower": lower, "upper.T": upper.T(), "lower.TTri": lower.TTri(),
			"diagonal": mat.NewDiagDense(n, make([]float64, n)), "band": band, "vector.T": vec.T(), "vector": vec,
		}) {
			r, c := a.Dims()
			b := random[float64](rnd, c, 6, 1)
			var dst mat.Dense
			if err := la.Gemm[float64](t.Context(), e, blas.NoTrans, blas.NoTrans, 1, a, b, 0, &dst); err != nil {
				t.Fatal(err)
			}
			if gr, gc := dst.Dims(); gr != r || gc != 6 {
				t.Fatalf("%s: empty Dense became %d×%d", name, gr, gc)
			}
			small(t, gemmResidual[float64](1, load[float64](a, blas.NoTrans), load[float64](b, blas.NoTrans), 0, dense{},
				load[float64](&dst, blas.NoTrans)), 3, "%s: %s", engine, name)
		}
	}
}

// TestEmptyDestination checks that an empty matrix takes a shape only where
// what it holds does not count.
func TestEmptyDestination(t *testing.T) {
	a := mat.NewDense(3, 4, nil)
	var c mat.Dense
	if err := la.Gemm[float64](t.Context(), nil, blas.NoTrans, blas.Trans, 1, a, a, 1, &c); err == nil || !c.IsEmpty() {
		t.Errorf("beta = 1: %v, empty %v", err, c.IsEmpty())
	}
	var s mat.SymDense
	if err := la.Syrk[float64](t.Context(), nil, blas.NoTrans, 1, a, 1, &s); err == nil || !s.IsEmpty() {
		t.Errorf("syrk, beta = 1: %v, empty %v", err, s.IsEmpty())
	}
	if err := la.Syrk[float64](t.Context(), nil, blas.Trans, 1, a, 0, &s); err != nil || s.SymmetricDim() != 4 {
		t.Errorf("syrk: %v, order %d", err, s.SymmetricDim())
	}
}

// TestGemmAliasing has C share memory with A and B in every way.
func TestGemmAliasing(t *testing.T) {
	const n = 11
	for engine, e := range engines(t) {
		for name, f := range map[string]func(d *mat.Dense) (c *mat.Dense, a, b mat.Matrix){
			"C is A": func(d *mat.Dense) (*mat.Dense, mat.Matrix, mat.Matrix) {
				c := part(d, 0, 0, n)
				return c, c, part(d, 20, 20, n)
			},
			"C is B": func(d *mat.Dense) (*mat.Dense, mat.Matrix, mat.Matrix) {
				c := part(d, 0, 0, n)
				return c, part(d, 20, 20, n), c
			},
			"all one":  func(d *mat.Dense) (*mat.Dense, mat.Matrix, mat.Matrix) { c := part(d, 3, 3, n); return c, c, c },
			"C is A.T": func(d *mat.Dense) (*mat.Dense, mat.Matrix, mat.Matrix) { c := part(d, 0, 0, n); return c, c.T(), c },
			"shifted": func(d *mat.Dense) (*mat.Dense, mat.Matrix, mat.Matrix) {
				return part(d, 5, 5, n), part(d, 3, 8, n), part(d, 8, 2, n)
			},
			"side by side": func(d *mat.Dense) (*mat.Dense, mat.Matrix, mat.Matrix) {
				return part(d, 0, n, n), part(d, 0, 0, n), part(d, 0, 2*n, n)
			},
			"symmetric A": func(d *mat.Dense) (*mat.Dense, mat.Matrix, mat.Matrix) {
				c := part(d, 0, 0, n)
				r := c.RawMatrix()
				var s mat.SymDense
				s.SetRawSymmetric(blas64.Symmetric{Uplo: blas.Upper, N: n, Stride: r.Stride, Data: r.Data})
				return c, &s, part(d, 20, 20, n)
			},
		} {
			rnd := rand.New(rand.NewPCG(4, 3))
			d := mat.NewDense(40, 40, nil)
			d.Apply(func(int, int, float64) float64 { return rnd.NormFloat64() }, d)
			c, a, b := f(d)
			a0, b0, c0 := load[float64](a, blas.NoTrans), load[float64](b, blas.Trans), load[float64](c, blas.NoTrans)
			if err := la.Gemm[float64](t.Context(), e, blas.NoTrans, blas.Trans, 1, a, b, -1, c); err != nil {
				t.Fatal(err)
			}
			small(t, gemmResidual[float64](1, a0, b0, -1, c0, load[float64](c, blas.NoTrans)), 3, "%s: %s", engine, name)
		}
	}
}

// part returns the n×n part of d from (i, j) on.
func part(d *mat.Dense, i, j, n int) *mat.Dense { return d.Slice(i, i+n, j, j+n).(*mat.Dense) }

// TestSyrkTrsmAliasing has the result of Syrk and Trsm share memory with what
// they read.
func TestSyrkTrsmAliasing(t *testing.T) {
	const n = 12
	for engine, e := range engines(t) {
		rnd := rand.New(rand.NewPCG(4, 4))
		a := random[float64](rnd, n, n, 1)
		c := la.Symmetric[float64]{Uplo: blas.Upper, N: n, Data: a.Data, Stride: a.Stride}
		op := load[float64](a, blas.NoTrans)
		if err := la.Syrk[float64](t.Context(), e, blas.NoTrans, 1, a, 0, c); err != nil {
			t.Fatal(err)
		}
		small(t, gemmResidual[float64](1, op, op.t(), 0, dense{}, load[float64](c, blas.NoTrans)), 3, "%s: syrk", engine)

		for _, diag := range []blas.Diag{blas.Unit, blas.NonUnit} {
			tri := triangle[float64](rnd, blas.Lower, diag, n, 0)
			for i := range n {
				for j := i; j < n; j++ {
					tri.Data[i*n+j] = rnd.NormFloat64() + 4 // B is all of the memory
				}
			}
			b := la.General[float64]{Rows: n, Cols: n, Data: tri.Data, Stride: n}
			a0, b0 := load[float64](tri, blas.Trans), load[float64](b, blas.NoTrans)
			if err := la.Trsm[float64](t.Context(), e, blas.Left, blas.Trans, 1, tri, b); err != nil {
				t.Fatal(err)
			}
			small(t, solveResidual[float64](a0, load[float64](b, blas.NoTrans), b0), 30, "%s: trsm %c", engine, diag)
		}
	}
}

// TestTrsmOperands solves with triangles of all forms.
func TestTrsmOperands(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 5))
	const n = 13
	upper, lower := mat.NewTriDense(n, mat.Upper, nil), mat.NewTriDense(n, mat.Lower, nil)
	for i := range n {
		for j := i; j < n; j++ {
			upper.SetTri(i, j, rnd.NormFloat64()/n+2*float64(1-min(1, j-i)))
			lower.SetTri(j, i, upper.At(i, j))
		}
	}
	diagonal := mat.NewDiagDense(n, nil)
	banded := mat.NewTriBandDense(n, 2, mat.Lower, nil)
	for i := range n {
		diagonal.SetDiag(i, 2+float64(i))
		banded.SetTriBand(i, i, 3)
		if i > 1 {
			banded.SetTriBand(i, i-2, 1)
		}
	}
	for engine, e := range sorted.Map(engines(t)) {
		for name, a := range sorted.Map(map[string]la.TriangularSource[float64]{
			"upper": upper, "lower": lower, "upper.TTri": upper.TTri(), "lower.TTri": lower.TTri(), "diagonal": diagonal,
			"band": banded, "band.TTri": banded.TTri(), "unit": triangle[float64](rnd, blas.Upper, blas.Unit, n, 2),
		}) {
			for _, trans := range transposes() {
				for _, side := range []blas.Side{blas.Left, blas.Right} {
					b := random[float64](rnd, n, n, 1)
					x := clone(b)
					if err := la.Trsm[float64](t.Context(), e, side, trans, 1, a, x); err != nil {
						t.Fatal(err)
					}
					op, sol, rhs := load[float64](a, trans), load[float64](x, blas.NoTrans), load[float64](b, blas.NoTrans)
					if side == blas.Right {
						op, sol, rhs = op.t(), sol.t(), rhs.t()
					}
					small(t, solveResidual[float64](op, sol, rhs), 30, "%s: %s, trans %c, side %c", engine, name, trans, side)
				}
			}
		}
	}
}

// counting is a mat.Dense that wants to know what is set.
type counting struct {
	*mat.Dense
	sets int
}

func (c *counting) Set(i, j int, v float64) {
	c.sets++
	c.Dense.Set(i, j, v)
}

// TestOwnSet checks that a type that shows its memory but has a Set of its
// own is written through that.
func TestOwnSet(t *testing.T) {
	for engine, e := range engines(t) {
		c := &counting{Dense: mat.NewDense(7, 7, nil)}
		a := mat.NewDiagDense(7, []float64{1, 2, 3, 4, 5, 6, 7})
		if err := la.Gemm[float64](t.Context(), e, blas.NoTrans, blas.NoTrans, 1, a, a, 1, c); err != nil {
			t.Fatal(err)
		}
		if c.sets != 49 || c.At(6, 6) != 49 {
			t.Errorf("%s: %d sets, last element %v", engine, c.sets, c.At(6, 6))
		}
	}
}
