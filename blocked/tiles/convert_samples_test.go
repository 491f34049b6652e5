package tiles_test

import (
	"math"

	"github.com/tessera-la/tessera/blocked/tiles"

	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// sample is a source with what its elements are.
type sample[T tiles.Element] struct {
	name string
	src  tiles.Source[T]
	want func(i, j int) T
}

// hidden is a source, and sink, of which only the methods are known.
type hidden[T tiles.Element] struct{ g tiles.General[T] }

func (h hidden[T]) Dims() (int, int)  { return h.g.Dims() }
func (h hidden[T]) At(i, j int) T     { return h.g.At(i, j) }
func (h hidden[T]) Set(i, j int, v T) { h.g.Set(i, j, v) }
func nan[T tiles.Element]() T         { return T(math.NaN()) }

// value is a number that tells its place, exact in float32.
func value[T tiles.Element](i, j int) T {
	return T((i*131+j*17)%1009-504) / 8
}

// samples returns an m×n source of every type there is for T; the square ones
// only if m = n. What their memory holds beside the matrix is NaN.
func samples[T tiles.Element](m, n, pad, nb int) []sample[T] {
	v := value[T]
	g := tiles.General[T]{Rows: m, Cols: n, Stride: max(1, n) + pad, Data: blockedtest.Filled[T](m * (max(1, n) + pad))}
	for i := range m {
		for j := range n {
			g.Set(i, j, v(i, j))
		}
	}
	tiled := tiles.New[T](tiles.Full, m, n, nb)
	tiled.CopyFrom(g, tiles.CopyOptions{})
	out := []sample[T]{
		{"General", g, v},
		{"*General", &g, v},
		{"At only", hidden[T]{g}, v},
		{"Matrix full", tiled, v},
		{"view", tiles.View(g, nb), v},
	}
	if m == n {
		for _, uplo := range []blas.Uplo{blas.Lower, blas.Upper} {
			stored := func(i, j int) bool { return i == j || (i > j) == (uplo == blas.Lower) }
			mirrored := func(i, j int) T {
				if stored(i, j) {
					return v(i, j)
				}
				return v(j, i)
			}
			cut := func(i, j int) T {
				if stored(i, j) {
					return v(i, j)
				}
				return 0
			}
			unit := func(i, j int) T {
				if i == j {
					return 1
				}
				return cut(i, j)
			}
			s := tiles.Symmetric[T]{Uplo: uplo, N: n, Stride: max(1, n) + pad, Data: blockedtest.Filled[T](n * (max(1, n) + pad))}
			t := tiles.Triangular[T]{Uplo: uplo, Diag: blas.NonUnit, N: n, Stride: s.Stride, Data: blockedtest.Filled[T](len(s.Data))}
			u := tiles.Triangular[T]{Uplo: uplo, Diag: blas.Unit, N: n, Stride: s.Stride, Data: blockedtest.Filled[T](len(s.Data))}
			for i := range n {
				for j := range n {
					if stored(i, j) {
						s.SetSym(i, j, v(i, j))
						t.SetTri(i, j, v(i, j))
						if i != j {
							u.SetTri(i, j, v(i, j))
						}
					}
				}
			}
			name := string(rune(uplo))
			out = append(out,
				sample[T]{"Symmetric " + name, s, mirrored},
				sample[T]{"*Symmetric " + name, &s, mirrored},
				sample[T]{"Triangular " + name, t, cut},
				sample[T]{"*Triangular " + name, &t, cut},
				sample[T]{"unit Triangular " + name, u, unit},
				sample[T]{"Matrix symmetric " + name, tiles.ViewSymmetric(s, nb), mirrored},
				sample[T]{"Matrix triangular " + name, tiles.ViewTriangular(t, nb), cut},
			)
		}
	}
	if out, ok := any(&out).(*[]sample[float64]); ok {
		*out = append(*out, gonumSamples(m, n, pad)...)
	}
	return out
}

func gonumSamples(m, n, pad int) []sample[float64] {
	if m == 0 || n == 0 {
		return nil // gonum has no such matrices
	}
	v := value[float64]
	flip := func(i, j int) float64 { return v(j, i) }
	rows, cols := max(m, n)+pad, max(m, n)+pad
	big := mat.NewDense(rows, cols, blockedtest.Filled[float64](rows*cols))
	dense := big.Slice(pad, m+pad, 0, n).(*mat.Dense)
	for i := range m {
		for j := range n {
			dense.Set(i, j, v(i, j))
		}
	}
	back := mat.NewDense(n, m, nil)
	back.Copy(dense.T())
	out := []sample[float64]{
		{"Dense", dense, v},
		{"Dense.T", back.T(), v},
		{"Dense.T.T", mat.Transpose{Matrix: dense.T()}, v},
		{"embedded Dense", struct{ *mat.Dense }{dense}, v},
	}
	if n == 1 {
		vec := mat.NewVecDense(m, mat.Col(nil, 0, dense))
		out = append(out, sample[float64]{"VecDense", vec, v},
			sample[float64]{"column of Dense", dense.ColView(0), v})
	}
	if m == 1 {
		vec := mat.NewVecDense(n, mat.Row(nil, 0, dense))
		out = append(out, sample[float64]{"VecDense.T", vec.T(), v})
	}
	if m != n {
		return out
	}
	s := mat.NewSymDense(n, blockedtest.Filled[float64](n*n))
	up := mat.NewTriDense(n, mat.Upper, blockedtest.Filled[float64](n*n))
	low := mat.NewTriDense(n, mat.Lower, blockedtest.Filled[float64](n*n))
	diag := mat.NewDiagDense(n, nil)
	for i := range n {
		diag.SetDiag(i, v(i, i))
		for j := i; j < n; j++ {
			s.SetSym(i, j, v(i, j))
			up.SetTri(i, j, v(i, j))
			low.SetTri(j, i, v(j, i))
		}
	}
	upper := func(i, j int) float64 {
		if i > j {
			return 0
		}
		return v(i, j)
	}
	lower := func(i, j int) float64 {
		if i < j {
			return 0
		}
		return v(i, j)
	}
	transposed := func(f func(i, j int) float64) func(i, j int) float64 {
		return func(i, j int) float64 { return f(j, i) }
	}
	onDiag := func(i, j int) float64 {
		if i != j {
			return 0
		}
		return v(i, i)
	}
	return append(out,
		sample[float64]{"Dense.T of itself", dense.T(), flip},
		sample[float64]{"SymDense", s, func(i, j int) float64 { return v(min(i, j), max(i, j)) }},
		sample[float64]{"SymDense transposed", mat.Transpose{Matrix: s}, func(i, j int) float64 { return v(min(i, j), max(i, j)) }},
		sample[float64]{"TriDense upper", up, upper},
		sample[float64]{"TriDense lower", low, lower},
		sample[float64]{"TriDense upper.T", up.T(), transposed(upper)},
		sample[float64]{"TriDense lower.TTri", low.TTri(), transposed(lower)},
		sample[float64]{"DiagDense", diag, onDiag},
	)
}
