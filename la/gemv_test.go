package la_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/internal/sorted"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// only shows nothing of a matrix but its elements.
type only struct{ mat.Matrix }

// strided returns a vector whose elements lie inc apart, between NaN.
func strided(rnd *rand.Rand, n, inc int) *mat.VecDense {
	data := make([]float64, n*inc)
	for i := range data {
		data[i] = math.NaN()
		if i%inc == 0 {
			data[i] = rnd.NormFloat64()
		}
	}
	v := new(mat.VecDense)
	v.SetRawVector(blas64.Vector{N: n, Inc: inc, Data: data})
	return v
}

// TestGemv compares with gonum's products, for matrices and vectors of all kinds.
func TestGemv(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 1))
	for name, e := range sorted.Map(engines(t)) {
		for _, d := range [][2]int{{1, 1}, {1, 7}, {9, 1}, {9, 7}, {40, 55}, {300, 17}} {
			m, n := d[0], d[1]
			square := max(m, n)
			dense := asDense(random[float64](rnd, m, n, 2))
			sym, tri := mat.NewSymDense(square, nil), mat.NewTriDense(square, mat.Lower, nil)
			for i := range square {
				for j := range i + 1 {
					sym.SetSym(i, j, rnd.NormFloat64())
					tri.SetTri(i, j, rnd.NormFloat64())
				}
			}
			for kind, a := range sorted.Map(map[string]mat.Matrix{"dense": dense, "transposed": dense.T(), "elements": only{dense}, "symmetric": sym, "triangular": tri}) {
				for _, trans := range []blas.Transpose{blas.NoTrans, blas.Trans} {
					for _, alpha := range []float64{1, -0.5, 0} {
						for _, beta := range []float64{0, 1, 2} {
							what := fmt.Sprintf("%s: %s %d×%d %c, alpha %v, beta %v", name, kind, m, n, trans, alpha, beta)
							op := a
							if trans == blas.Trans {
								op = a.T()
							}
							rows, cols := op.Dims()
							x, y := strided(rnd, cols, 1+rnd.IntN(3)), strided(rnd, rows, 1+rnd.IntN(3))
							var want, scaled mat.VecDense
							want.MulVec(op, x)
							want.ScaleVec(alpha, &want)
							scaled.ScaleVec(beta, y)
							want.AddVec(&want, &scaled)
							if alpha == 0 {
								x.SetVec(0, math.NaN())
							}
							if beta == 0 {
								y.SetVec(rows-1, math.NaN())
							}
							if err := la.Gemv(t.Context(), e, trans, alpha, a, x, beta, y); err != nil {
								t.Errorf("%s: %v", what, err)
							}
							if !mat.EqualApprox(y, &want, 1e-12*float64(cols+1)) {
								t.Errorf("%s: got %v, want %v", what, mat.Formatted(y.T()), mat.Formatted(want.T()))
							}
							for i, v := range y.RawVector().Data {
								if i%y.RawVector().Inc != 0 && v == v {
									t.Fatalf("%s: wrote between the elements", what)
								}
							}
						}
					}
				}
			}
		}
		// y is x, or a part of A.
		for _, a := range []mat.Matrix{asDense(random[float64](rnd, 60, 60, 0)), symmetricOf(rnd, 60)} {
			x := strided(rnd, 60, 1)
			var want mat.VecDense
			want.MulVec(a, x)
			if err := la.Gemv(t.Context(), e, blas.NoTrans, 1, a, x, 0, x); err != nil || !mat.EqualApprox(x, &want, 1e-12) {
				t.Errorf("%s: y is x, of a %T: %v", name, a, err)
			}
		}
		own := asDense(random[float64](rnd, 30, 30, 0))
		x := strided(rnd, 30, 1)
		var want mat.VecDense
		want.MulVec(own, x)
		column := own.ColView(3).(*mat.VecDense)
		if err := la.Gemv(t.Context(), e, blas.NoTrans, 1, own, x, 0, column); err != nil || !mat.EqualApprox(column, &want, 1e-12) {
			t.Errorf("%s: y is a column of A: %v", name, err)
		}
	}
}

func symmetricOf(rnd *rand.Rand, n int) *mat.SymDense {
	a := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			a.SetSym(i, j, rnd.NormFloat64())
		}
	}
	return a
}

// TestMulVec: empty destinations take the length, float32 works on plain slices, large
// matrices go to tasks, and wrong lengths are told.
func TestMulVec(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 2))
	const n = 1300 // beyond what one kernel is given
	for _, a := range []mat.Matrix{asDense(random[float64](rnd, n, n, 0)), symmetricOf(rnd, n)} {
		x := strided(rnd, n, 1)
		var got, want mat.VecDense
		want.MulVec(a, x)
		if err := la.MulVec(&got, a, x); err != nil || !mat.EqualApprox(&got, &want, 1e-10) {
			t.Errorf("%T: %v", a, err)
		}
	}
	y := make(la.Vector[float32], 2)
	if err := la.MulVec(y, la.General[float32]{Rows: 2, Cols: 3, Stride: 3, Data: []float32{1, 2, 3, 4, 5, 6}}, la.Vector[float32]{1, 0, -1}); err != nil || y[0] != -2 || y[1] != -2 {
		t.Errorf("float32: %v, %v", y, err)
	}
	var shape *la.ShapeError
	var none mat.VecDense
	a := mat.NewDense(2, 3, nil)
	for what, err := range map[string]error{
		"x":     la.MulVec(&none, a, mat.NewVecDense(2, nil)),
		"dst":   la.MulVec(mat.NewVecDense(3, nil), a, mat.NewVecDense(3, nil)),
		"y":     la.Gemv(t.Context(), nil, blas.Trans, 1, a, mat.NewVecDense(2, nil), 1, &none),
		"trans": la.Gemv(t.Context(), nil, 'X', 1, a, mat.NewVecDense(2, nil), 1, &none),
	} {
		if !errors.As(err, &shape) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
