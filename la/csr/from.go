package csr

import (
	"fmt"

	"github.com/james-bowman/sparse"
	"github.com/tessera-la/tessera/exec"
	"gonum.org/v1/gonum/mat"
)

// From returns a copy of a as a Matrix whose products run on the workers of rt. a is a matrix of package
// sparse, as *sparse.COO, *sparse.CSC, *sparse.DOK or *sparse.DIA, or of gonum's mat, as *mat.BandDense and
// *mat.TriDense: From takes the elements that its DoNonZero passes, in any order, and adds up those of the same
// index. A *sparse.CSR is not copied: see [New].
//
// From does not call the conversions of package sparse, as ToCSR: that of a COO leaves duplicates of the first
// column of a row apart, and then its elements and its products disagree. Package sparse takes the first for both
// in sums and products of two DIA, but not in those of their From and [Matrix.CSR].
//
// The error is a *[StructureError], also if a has no DoNonZero.
func From(rt exec.Runtime, a mat.Matrix) (*Matrix, error) {
	if c, ok := a.(*sparse.CSR); ok {
		return New(rt, c)
	}
	doer, ok := a.(mat.NonZeroDoer)
	if !ok {
		return nil, &StructureError{-1, fmt.Sprintf("a %T cannot name its elements that are not zero (mat.NonZeroDoer)", a)}
	}
	var i, j []int
	var v []float64
	if s, ok := a.(sparse.Sparser); ok {
		i, j, v = make([]int, 0, s.NNZ()), make([]int, 0, s.NNZ()), make([]float64, 0, s.NNZ())
	}
	doer.DoNonZero(func(row, col int, value float64) {
		i, j, v = append(i, row), append(j, col), append(v, value)
	})
	m, n := a.Dims()
	return FromCOO(rt, m, n, i, j, v)
}
