package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/tridiag"
	"github.com/tessera-la/tessera/versions"
)

// Laed3 is the parameter of op "laed3" (LAPACK xLAED3): eigenvalues and some columns of the eigenvectors of a
// tridiagonal matrix of order n ≥ 2, by those of its halves,
//
//	T = Zᵀ·diag(w)·Z.
//
// Operands: w (out, 1×n, ascending) if Values is set; tiles (out) that get the columns, of the eigenvectors of the
// eigenvalues from First on, a row each; the same columns of the eigenvectors of the half to which they belong, the second
// one if Second is set (in, a tile of op "laed0"); the results of op "laed4" for all Parts (in); the W of both halves (in);
// T (in, 2×n).
//
// If the context ends, the version returns the cause of that.
type Laed3 struct {
	First, Parts   int
	Second, Values bool
}

// Validate returns an error if a field is out of range.
func (p *Laed3) Validate() error { return check("laed3", p) }

// laed3Op defines op "laed3".
func laed3Op[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "laed3", Work: laed3Work[T], NewParams: fresh[Laed3]},
		about: "eigenvectors of a tridiagonal matrix by its halves",
		run:   laed3[T],
		help:  byWork[T](laed3Work[T]),
	}
}

// laed3Args is the operands of op "laed3".
type laed3Args[T kernels.Element] struct {
	w, q, w1, w2, t *kernels.Tile[T]
	z, found        []any
	end             int // of the eigenvectors
}

// laed3Of returns the operands of op "laed3".
func laed3Of[T kernels.Element](call *versions.Call) (a laed3Args[T]) {
	p, last := params[Laed3](call), len(call.Args)-1
	at, tiles := 0, last-3-p.Parts // where the operands of Z begin and end
	if p.Values {
		at = 1
	}
	panicIf(p.Parts < 1 || tiles < at, kernels.ErrArgs)
	a.q, a.w1, a.w2, a.t = arg[T](call, tiles), arg[T](call, last-2), arg[T](call, last-1), arg[T](call, last)
	a.z, a.found, a.end = call.Args[at:tiles], call.Args[tiles+1:last-2], p.First
	checkHalves(a.w1, a.w2, a.t)
	if p.Values {
		if a.w = arg[T](call, 0); a.w.Rows != 1 || a.w.Cols != a.t.Cols {
			panic(kernels.ErrShape)
		}
	}
	for i := range a.z {
		z := arg[T](call, at+i)
		if a.end += z.Rows; z.Cols != a.q.Cols {
			panic(kernels.ErrShape)
		}
	}
	for i := range a.found {
		if f := arg[T](call, tiles+1+i); f.Rows != RootsRows || f.Cols != a.t.Cols {
			panic(kernels.ErrShape)
		}
	}
	if m := HalfOrder(a.t.Cols, p.Second); a.q.Rows != m || a.q.Cols > m || a.end > a.t.Cols {
		panic(kernels.ErrShape)
	}
	return a
}

// laed3Work returns 2 operations for each element of the result and row of the half.
func laed3Work[T kernels.Element](call *versions.Call) float64 {
	a := laed3Of[T](call)
	return 2 * float64(a.end-params[Laed3](call).First) * float64(a.q.Cols) * float64(a.q.Rows)
}

// laed3 returns the function of a version of op "laed3".
func laed3[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	tools := Conquering(by.blas)
	return func(call *versions.Call) error {
		a := laed3Of[T](call)
		p, n, cols := params[Laed3](call), a.t.Cols, a.q.Cols
		work := versions.Scratch[T](call.Work, n*(1+cols+max(cols, p.Parts, 2)))
		values, work := work[:n], work[n:]
		q, work := tridiag.Matrix[T]{Rows: n, Cols: cols, Stride: cols, Data: work[:n*cols]}, work[n*cols:]
		clear(q.Data)
		first := 0
		if p.Second {
			first = n - a.q.Rows
		}
		for i := range a.q.Rows {
			copy(q.Row(first+i), a.q.Row(i))
		}
		merge := top(a.w1, a.w2, a.t, q, p.Second, tools, crewOrAlone[T](call), work)
		found := make([]tridiag.Matrix[T], p.Parts)
		for i := range found {
			found[i] = matrixOf(a.found[i].(*kernels.Tile[T]))
		}
		merge.Found(found, values, work)
		if p.Values {
			copy(a.w.Row(0), values)
		}
		if err := startStages(call).stop(); err != nil {
			return err
		}
		z, at := a.z, p.First // the tiles that are not full, and the vector that is the first one's first row
		merge.Vectors(p.First, a.end, work, func(i int, x []T) {
			to := z[0].(*kernels.Tile[T])
			for ; i >= at+to.Rows; to = z[0].(*kernels.Tile[T]) {
				at, z = at+to.Rows, z[1:]
			}
			copy(to.Row(i-at), x)
		})
		return startStages(call).stop()
	}
}
