package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
)

// Sb2st is the parameter of op "sb2st" (LAPACK xSYTRD_SB2ST): the reduction of a symmetric n×n matrix with B superdiagonals
// to tridiagonal form,
//
//	Qᵀ·C·Q = T.
//
// Operands: T (out, 2×n: the diagonal, and in the first n−1 elements of its second row what is beside it); the reflectors
// of Q (out), [SweepTile] for each Sweeps sweeps, if Sweeps > 0; the rows of C (in), as op "sy2sbqr" leaves them.
//
// If the context ends, the version returns the cause of that.
//
// Reference: see [cpu.Tridiagonal.Sb2st].
type Sb2st struct {
	B, Sweeps int
}

// Validate returns an error if a field is out of range.
func (p *Sb2st) Validate() error { return check("sb2st", p) }

// SweepTiles returns the number of tiles of the reflectors of a chase of order n, in parts of so many sweeps.
func SweepTiles(n, sweeps int) int { return (max(n-1, 0) + sweeps - 1) / sweeps }

// SweepTile returns the shape of tile i of these reflectors, for b superdiagonals. Row s has the vectors of sweep
// i·sweeps+s in the columns that they have in the matrix without its first i·sweeps columns, and then their factors.
func SweepTile(n, b, sweeps, i int) (rows, cols int) {
	rest := n - i*sweeps
	return min(sweeps, rest-1), rest + cpu.ChaseSteps(rest, b)
}

// sb2stOp defines op "sb2st".
func sb2stOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "sb2st", Work: sb2stWork[T], NewParams: fresh[Sb2st]},
		about: "reduction of a band to tridiagonal form",
		run:   sb2st[T],
		help:  inStep[T](syevdAlone, func(call *versions.Call) float64 { return float64(arg[T](call, 0).Cols) }),
	}
}

// sb2stOf returns the operands of op "sb2st".
func sb2stOf[T kernels.Element](call *versions.Call) (t *kernels.Tile[T], sweeps, rows []any) {
	p := params[Sb2st](call)
	t = arg[T](call, 0)
	n, tiles := t.Cols, 0
	panicIf(p.B < 1 || t.Rows != 2, kernels.ErrShape)
	if p.Sweeps > 0 {
		tiles = SweepTiles(n, p.Sweeps)
	}
	panicIf(len(call.Args) < 1+tiles, kernels.ErrArgs)
	sweeps, rows = call.Args[1:1+tiles], call.Args[1+tiles:]
	for i := range sweeps {
		q := arg[T](call, 1+i)
		if m, k := SweepTile(n, p.B, p.Sweeps, i); q.Rows != m || q.Cols != k {
			panic(kernels.ErrShape)
		}
	}
	all := 0
	for i := range rows {
		c := arg[T](call, 1+tiles+i)
		if all += c.Rows; c.Cols < p.B+c.Rows {
			panic(kernels.ErrShape)
		}
	}
	panicIf(all != n, kernels.ErrShape)
	return t, sweeps, rows
}

// sb2stWork returns 6·B·n².
func sb2stWork[T kernels.Element](call *versions.Call) float64 {
	t, _, _ := sb2stOf[T](call)
	return 6 * float64(params[Sb2st](call).B) * float64(t.Cols) * float64(t.Cols)
}

// sb2st returns the function of a version of op "sb2st".
func sb2st[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		t, sweeps, rows := sb2stOf[T](call)
		p, n := params[Sb2st](call), t.Cols
		if n == 0 {
			return nil
		}
		watch := startStages(call)
		b, size, ld := p.B, cpu.BandSize[T](n, p.B), cpu.BandStride[T](p.B)
		live, steps := cpu.LiveSweeps(n, b), cpu.ChaseSteps(n, b)
		all := versions.Scratch[T](call.Work, size+live*(n+steps))
		band, q := all[:size], cpu.Sweeps[T]{V: all[size:][:live*n], Stride: n, Tau: all[size+live*n:], Live: live}
		clear(band)
		if p.Sweeps > 0 {
			q.Done = func(s int, v, taus []T) {
				row := sweeps[s/p.Sweeps].(*kernels.Tile[T]).Row(s % p.Sweeps)
				at := s%p.Sweeps + 1 // of the first vector
				clear(row[:at])
				copy(row[at:], v)
				copy(row[at+len(v):], taus)
				clear(row[at+len(v)+len(taus):])
			}
		}
		first := 0
		for _, x := range rows {
			c := x.(*kernels.Tile[T])
			for i := range c.Rows {
				r := first + i
				for l, v := range c.Row(i)[i : i+min(b+1, n-r)] {
					band[r*ld+r+l+b-1] = v
					if l < b {
						band[(r+l)*ld+r+b-1] = v
					}
				}
			}
			first += c.Rows
		}
		reduction := cpu.NewTridiagonal(by.blas, crewOrAlone[T](call))
		reduction.Stop = watch.stop
		reduction.Sb2st(n, b, band, q, t.Row(0), t.Row(1)[:n-1])
		t.Row(1)[n-1] = 0
		return watch.stop()
	}
}
