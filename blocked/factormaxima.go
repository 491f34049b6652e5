package blocked

import "math"

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
	steps := min(a.mt, a.nt)
	type tops struct{ l, u uint64 }
	of := make([]tops, len(a.tiles))
	a.eachTile(workers, func(i, j int) {
		t, top := a.here(i*a.nt+j), &of[i*a.nt+j]
		for r := range t.Rows {
			row := t.Row(r)
			diagonal := len(row) // columns left of it belong to L
			switch {
			case i < j:
				diagonal = 0
			case i == j:
				diagonal = min(r, len(row))
			}
			top.l = max(top.l, topBits(row[:diagonal]))
			top.u = max(top.u, topBits(row[diagonal:]))
		}
	})
	l, u = make([]float64, steps), make([]float64, steps)
	for k := range steps {
		l[k] = 1
		for i := k; i < a.mt; i++ {
			l[k] = max(l[k], math.Float64frombits(of[i*a.nt+k].l))
		}
		for j := k; j < a.nt; j++ {
			u[k] = max(u[k], math.Float64frombits(of[k*a.nt+j].u))
		}
	}
	return l, u
}
