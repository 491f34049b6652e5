package kerneltest

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
)

// Sygvd judges by the residual and by orthogonality with B, as LAPACK's own tests do, and eigenvalues alone by those that
// come with vectors. The elements of B are about 1 on and 1/n beside the diagonal.
func (s *suite[T]) Sygvd(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 20, 64, 65, 130} {
		for form := op.AxIsLambdaBx; form <= op.BAxIsLambdaX; form++ {
			for _, size := range []float64{1, 1 / extreme[T]()} {
				what := fmt.Sprintf("form %d, order %d, size of B %.3g", form, n, size)
				// Elements of A·size and A/size are in range.
				a, b := newTile[T](n, n, 2), newTile[T](n, n, 1)
				plain := func(x *kernels.Tile[T], at func(i, j int) float64) [][]float64 {
					whole := make([][]float64, n)
					for i := range whole {
						whole[i] = make([]float64, n)
					}
					for i := range n {
						for j := i; j < n; j++ {
							x.Set(i, j, T(at(i, j)))
							whole[i][j] = float64(x.At(i, j))
							whole[j][i] = whole[i][j]
						}
					}
					return whole
				}
				wholeA := plain(a, func(i, j int) float64 { return s.rnd.NormFloat64() })
				wholeB := plain(b, func(i, j int) float64 {
					return size * (max(0, float64(1-j+i)) + (s.rnd.Float64()-0.5)/float64(n))
				})
				alone, copyB := clone(a), clone(b)
				w, z := newTile[T](1, n, 1), newTile[T](n, n, 3)
				s.mark(z, func(int, int) bool { return true })
				before := clone(z)
				s.must(t, &op.Sygvd{Form: form}, a, b, w, z)
				untouched(t, "sygvd: Z", z, before, func(i, j int) bool { return true })
				untouched(t, "sygvd: B", b, copyB, func(i, j int) bool { return j >= i })
				norm := 0.0
				for i := range n {
					norm = max(norm, math.Abs(float64(w.At(0, i))))
				}
				residual, loss := generalizedErrors(form, size, norm, wholeA, wholeB, w, z)
				if !(residual < 30 && loss < 30) {
					t.Errorf("%s: residual %.3g, orthogonality %.3g", what, residual, loss)
				}
				v := newTile[T](1, n, 1)
				s.must(t, &op.Sygvd{Form: form, Syevd: op.Syevd{Values: true}}, alone, copyB, v)
				sameValues(t, what, v, w, norm)
			}
		}
	}
	a, b, w, z := newTile[T](3, 3, 0), newTile[T](3, 3, 0), newTile[T](1, 3, 0), newTile[T](3, 3, 0)
	s.work(t, 14*9+4*9+27, &op.Sygvd{}, a, b, w, z)
	for i, j := range cells(3, 3) {
		a.Set(i, j, 1)
		b.Set(i, j, T(max(0, 1-(j-i)*(j-i))))
	}
	b.Set(1, 1, -1)
	if bad, ok := errors.AsType[*kernels.NotPositiveDefiniteError](s.run(&op.Sygvd{}, a, b, w, z)); !ok || bad.Minor != 2 {
		t.Errorf("B is not definite: %v", bad)
	}
}

// generalizedErrors returns the residual of eigenvectors x in the rows of z, in units of n·ε, relative to the largest terms
// of it, and the loss of orthogonality with B or its inverse. The elements of B are of the given size, and x is about
// size^(-1/2), or its reciprocal for the last form. norm is the size of the largest eigenvalue.
func generalizedErrors[T kernels.Element](form op.GeneralizedForm, size, norm float64, a, b [][]float64, w, z *kernels.Tile[T]) (residual, loss float64) {
	n := len(a)
	root := math.Sqrt(size)
	if form == op.BAxIsLambdaX {
		root = 1 / root
	}
	times := func(m [][]float64, x []float64) []float64 {
		y := make([]float64, n)
		for i, row := range m {
			for j, v := range row {
				y[i] += v * x[j]
			}
		}
		return y
	}
	var xs [][]float64 // scaled to about 1
	for k := range n {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(z.At(k, i)) * root
		}
		lambda := float64(w.At(0, k))
		ax, bx := times(a, x), times(b, x)
		left, right, unit := ax, bx, max(1, norm*size) // λ is about 1/size
		switch form {
		case op.ABxIsLambdaX: // λ is about size
			left, right, unit = times(a, bx), x, norm
		case op.BAxIsLambdaX:
			left, right, unit = times(b, ax), x, norm
		}
		for i := range n {
			residual = max(residual, math.Abs(left[i]-lambda*right[i])/unit)
		}
		xs = append(xs, x)
	}
	// Xᵀ·B·X = I, or Xᵀ·B⁻¹·X = I, which is X·Xᵀ = B.
	for k, x := range xs {
		bx := times(b, x)
		for l := range n {
			dot := 0.0
			for i := range n {
				if form == op.BAxIsLambdaX {
					dot += xs[i][k] * xs[i][l]
				} else {
					dot += xs[l][i] * (bx[i] / size)
				}
			}
			if form == op.BAxIsLambdaX {
				dot -= b[k][l] / size
			} else if k == l {
				dot--
			}
			loss = max(loss, math.Abs(dot))
		}
	}
	scale := max(float64(n), 1) * 2 * eps[T]()
	return residual / scale, loss / scale
}
