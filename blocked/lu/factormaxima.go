package lu

import (
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/abssum"
)

// FactorMaxima returns how large the elements of an LU factorization in a are,
// as [Getrf] leaves it: l[k] is the largest magnitude in tile column k
// of L, whose ones count, and u[k] that in tile row k of U, for the panels k. A
// NaN makes the maximum NaN.
//
// With top the largest magnitude in A, max(u)/top is the growth factor of the
// factorization, and max(l[k]·u[k])/top bounds, times n, the elements of |L|·|U|
// and so the backward error in units of ε·top, whatever the pivots are.
//
// At most the given number of goroutines work (0 or less: GOMAXPROCS), all of
// which have ended when it returns. It panics with ErrKind if a is not Full.
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

// FactorMaximaOf returns what [FactorMaxima] does, of the result of [blocked.Program.ColumnMax] for a.
// It reads the diagonal tiles, so that the matrix must be as it was.
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

// factorTops is the largest magnitudes of L and U in a tile, as bits.
type factorTops struct{ l, u uint64 }

// topsOf returns those of tile (i, j) of a.
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

// factorMaxima returns the maxima of those of the tiles.
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
