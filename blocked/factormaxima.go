package blocked

import (
	"math"

	"github.com/tessera-la/tessera/internal/abssum"
)

// FactorMaxima returns how large the elements of an LU factorization in a are,
// as [Program.Getrf] leaves it: l[k] is the largest magnitude in tile column k
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
func (a *Matrix[T]) FactorMaxima(workers int) (l, u []float64) {
	if a.kind != Full {
		panic(ErrKind)
	}
	of := make([]factorTops, len(a.tiles))
	a.eachTile(workers, func(i, j int) { of[i*a.nt+j] = a.factorTops(i, j) })
	return a.factorMaxima(func(i, j int) factorTops { return of[i*a.nt+j] })
}

// FactorMaxima returns what [Matrix.FactorMaxima] does, of [Program.ColumnMax]. It reads the
// diagonal tiles, so that the matrix must be as it was.
func (m *Magnitudes[T]) FactorMaxima() (l, u []float64) {
	return m.a.factorMaxima(func(i, j int) factorTops {
		if i == j {
			return m.a.factorTops(i, j)
		}
		top := 0.0
		for _, v := range m.tiles[i*m.a.nt+j].Row(0) {
			top = max(top, v)
		}
		if i < j {
			return factorTops{u: math.Float64bits(top)}
		}
		return factorTops{l: math.Float64bits(top)}
	})
}

// factorTops is the largest magnitudes of L and U in a tile, as bits.
type factorTops struct{ l, u uint64 }

// factorTops returns those of tile (i, j).
func (a *Matrix[T]) factorTops(i, j int) (top factorTops) {
	t := a.here(i*a.nt + j)
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
func (a *Matrix[T]) factorMaxima(of func(i, j int) factorTops) (l, u []float64) {
	steps := min(a.mt, a.nt)
	l, u = make([]float64, steps), make([]float64, steps)
	for k := range steps {
		l[k] = 1
		for i := k; i < a.mt; i++ {
			l[k] = max(l[k], math.Float64frombits(of(i, k).l))
		}
		for j := k; j < a.nt; j++ {
			u[k] = max(u[k], math.Float64frombits(of(k, j).u))
		}
	}
	return l, u
}
