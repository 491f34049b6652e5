package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Getrf is the parameter of op "getrf" (LAPACK xGETRF): the LU factorization with partial
// pivoting of a panel, a column of tiles that together are an m×n matrix,
//
//	A = P·L·U.
//
// Operands: the tiles from top to bottom (inout), at least one, all of n columns; last a *Pivots
// (out), whose Rows get length min(m, n). U overwrites the upper triangle, L the part below the
// diagonal; its unit diagonal is not stored. The top tile has at least min(m, n) rows. Of
// elements of equal magnitude the uppermost becomes the pivot, as in LAPACK; a NaN becomes the
// pivot only if it is on the diagonal already. A zero pivot is no error: Pivots.Info is then
// Offset plus the column in the panel.
type Getrf struct {
	Offset int // global index of the panel's first column
}

// Validate returns an error if a field is out of range.
func (p *Getrf) Validate() error { return check("getrf", p) }

// getrfOp defines op "getrf".
func getrfOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:      versions.Op{Name: "getrf", Work: getrfWork[T], NewParams: fresh[Getrf]},
		about:   "LU factorization with partial pivoting, PA = LU",
		variant: lapackVariant,
		run:     getrf[T],
		help:    getrfHelp[T],
		cuda: versions.Version{
			Run:    func(call *versions.Call) error { return cudaGetrf[T](call, params[Getrf](call).Offset) },
			Memory: cudaGetrfMemory[T],
		},
	}
}

// getrfWork returns the work of the factorization.
func getrfWork[T kernels.Element](call *versions.Call) float64 {
	_, m, n, _ := luArgs[T](call)
	return getrfFlops(m, n)
}

// getrfFlops returns the multiplications and additions of an LU factorization,
//
//	2·Σ (m−j)·(n−j) = k·(2·m·n − (m + n)·(k − 1) + (k − 1)·(2·k − 1)/3)
//
// over j = 1 … k = min(m, n) up to terms of second order.
func getrfFlops(rows, cols int) float64 {
	m, n := float64(rows), float64(cols)
	k := min(m, n)
	return k * (2*m*n - (m+n)*(k-1) + (k-1)*(2*k-1)/3)
}

// getrf returns the function of a version of op "getrf".
func getrf[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	cache := new(listCache[T])
	return func(call *versions.Call) error {
		p := params[Getrf](call)
		tiles, m, n, piv := luArgs[T](call)
		x := cache.get()
		defer cache.put(x)
		x.blocks = blocks(x.blocks[:0], tiles)
		k := min(m, n)
		piv.Resize(k)
		var zero int
		if call.Gang != nil && by.lu.Parts(m, n) > 1 {
			zero = by.lu.GetrfTall(n, x.blocks, piv.Rows, versions.Scratch[T](call.Work, by.lu.TallWork(m, n)), crew[T](call))
		} else {
			zero = by.lu.Getrf(n, x.blocks, piv.Rows, versions.Scratch[T](call.Work, by.lu.Work(m, n)))
		}
		piv.Info = info(p.Offset, zero)
		return nil
	}
}

// getrfHelp returns how many units a call of op "getrf" uses. They stay until its end, as they
// synchronize once a column.
func getrfHelp[T kernels.Element](by implementation[T]) func(*versions.Call) (units int, stay bool) {
	return func(call *versions.Call) (int, bool) {
		_, m, n, _ := luArgs[T](call)
		return by.lu.Parts(m, n), true
	}
}
