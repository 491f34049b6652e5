package lu

import (
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/abssum"
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
	of := make([]factorTops, a.MT()*a.NT())
	a.EachTile(workers, func(i, j int) { of[i*a.NT()+j] = topsOf(a, i, j) })
	return factorMaxima(a, func(i, j int) factorTops { return of[i*a.NT()+j] })
}

// FactorMaximaOf is [FactorMaxima] with the result of [blocked.Program.ColumnMax] for a. It also reads
// the diagonal tiles, so a must not have changed since.
func FactorMaximaOf[T blocked.Element](a *blocked.Matrix[T], m *blocked.Magnitudes[T]) (l, u []float64) {
	return factorMaxima(a, func(i, j int) factorTops {
		switch {
		case i < j:
			return factorTops{u: math.Float64bits(m.Max(i, j))}
		case i > j:
			return factorTops{l: math.Float64bits(m.Max(i, j))}
		}
		return topsOf(a, i, j)
	})
}

// factorTops holds the largest magnitudes of L and of U in a tile, as bits.
type factorTops struct{ l, u uint64 }

// topsOf returns the largest magnitudes of L and of U in tile (i, j) of a.
func topsOf[T blocked.Element](a *blocked.Matrix[T], i, j int) (top factorTops) {
	t := a.Read(i, j)
	for r := range t.Rows {
		row := t.Row(r)
		diagonal := len(row) // columns left of it belong to L
		switch {
		case i < j:
			diagonal = 0
		case i == j:
			diagonal = min(r, len(row))
		}
		top.l = max(top.l, abssum.TopBits(row[:diagonal]))
		top.u = max(top.u, abssum.TopBits(row[diagonal:]))
	}
	return top
}

// factorMaxima returns the maxima by tile column of L and by tile row of U. of returns the magnitudes
// of each tile.
func factorMaxima[T blocked.Element](a *blocked.Matrix[T], of func(i, j int) factorTops) (l, u []float64) {
	steps := min(a.MT(), a.NT())
	l, u = make([]float64, steps), make([]float64, steps)
	for k := range steps {
		l[k] = 1
		for i := k; i < a.MT(); i++ {
			l[k] = max(l[k], math.Float64frombits(of(i, k).l))
		}
		for j := k; j < a.NT(); j++ {
			u[k] = max(u[k], math.Float64frombits(of(k, j).u))
		}
	}
	return l, u
}
