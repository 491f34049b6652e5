package lu

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// FactorMaxima returns how large the factors are in an LU factorization that [Getrf]
// has left in a. For each panel k, l[k] is the largest magnitude in tile column k of
// L, whose unit diagonal counts, and u[k] is that in tile row k of U. A NaN makes the
// maximum NaN.
//
// Let top be the largest magnitude in A. Then max(u)/top is the growth factor of the
// factorization. n·max(l[k]·u[k]) bounds the elements of |L|·|U|, and so, divided by
// top, the backward error in units of ε·top, for any choice of pivots.
//
// At most workers goroutines work (0 or less: GOMAXPROCS). All have ended when
// FactorMaxima returns. It panics with ErrKind if a is not Full.
//
// Reference: N. J. Higham, Accuracy and Stability of Numerical Algorithms,
// theorem 9.3.
func FactorMaxima[T blocked.Element](a *blocked.Matrix[T], workers int) (l, u []float64) {
	if a.Kind() != blocked.Full {
		panic(blocked.ErrKind)
	}
	tops := make([]float64, a.MT()*a.NT())
	a.EachTile(workers, func(i, j int) {
		if i != j {
			tops[i*a.NT()+j] = op.MaxMagnitude(blas.All, a.Read(i, j))
		}
	})
	return factorMaxima(a, func(i, j int) float64 { return tops[i*a.NT()+j] })
}

// FactorMaximaOf is [FactorMaxima] with the result of [blocked.Program.ColumnMax] for a. It also reads
// the diagonal tiles, so a must not have changed since.
func FactorMaximaOf[T blocked.Element](a *blocked.Matrix[T], m *blocked.Magnitudes[T]) (l, u []float64) {
	return factorMaxima(a, m.Max)
}

// factorMaxima returns the maxima by tile column of L and by tile row of U. of returns the largest
// magnitude of a tile off the diagonal.
func factorMaxima[T blocked.Element](a *blocked.Matrix[T], of func(i, j int) float64) (l, u []float64) {
	steps := min(a.MT(), a.NT())
	l, u = make([]float64, steps), make([]float64, steps)
	for k := range steps {
		d := a.Read(k, k)
		u[k] = op.MaxMagnitude(blas.Upper, d)
		l[k] = 1
		if d.Rows > 1 { // the triangle below the diagonal
			low := &blocked.Tile[T]{Rows: d.Rows - 1, Cols: d.Cols, Stride: d.Stride, Data: d.Data[d.Stride:]}
			l[k] = max(1, op.MaxMagnitude(blas.Lower, low))
		}
		for i := k + 1; i < a.MT(); i++ {
			l[k] = max(l[k], of(i, k))
		}
		for j := k + 1; j < a.NT(); j++ {
			u[k] = max(u[k], of(k, j))
		}
	}
	return l, u
}
