package csr

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tessera-la/tessera/versions"
)

// rowsParams is the parameter of ops "csrilu" and "csrsolve".
type rowsParams struct{ First int } // the number of the block's first row in the matrix

// Validate returns an error if the number, which another node may have sent, is out of range.
func (p *rowsParams) Validate() error {
	if p.First < 0 {
		return &StructureError{-1, fmt.Sprintf("a block with first row %d", p.First)}
	}
	return nil
}

// runILU is op "csrilu". The elements beside the diagonal block stay as they are. If a column occurs twice in a row,
// the first entry gets the element, and the others become zero.
func runILU(call *versions.Call) error {
	b, to, first := call.Args[0].(*Block), call.Args[1].(*Block), call.Params.(*rowsParams).First
	switch {
	case b.ia == nil:
		return errUnfilled()
	case first > b.cols-b.rows:
		panic(ErrShape)
	}
	to.Restore(b)
	n := to.rows
	at := slices.Repeat([]int{-1}, n) // the entry of the present row in each column of the block
	diag := make([]int, n)
	for i := range n {
		row := sorted{to.ja[to.ia[i]:to.ia[i+1]], to.data[to.ia[i]:to.ia[i+1]]}
		row.sort()
		size := 0.0
		var own []int // the entries of the row in the block
		for e := to.ia[i]; e < to.ia[i+1]; e++ {
			c := int(to.ja[e]) - first
			switch {
			case c < 0 || c >= n:
			case at[c] >= 0:
				to.data[at[c]] += to.data[e]
				to.data[e] = 0
			default:
				at[c], own = e, append(own, e)
			}
		}
		for _, e := range own {
			size = max(size, math.Abs(to.data[e]))
		}
		for _, e := range own {
			c := int(to.ja[e]) - first
			if c >= i {
				break
			}
			by := to.data[e] / to.data[diag[c]]
			to.data[e] = by
			for k := diag[c] + 1; k < to.ia[c+1]; k++ {
				if j := int(to.ja[k]) - first; j < n && at[j] >= 0 {
					to.data[at[j]] -= by * to.data[k]
				}
			}
		}
		pivot := 0.0
		if diag[i] = at[i]; at[i] >= 0 {
			pivot = to.data[at[i]]
		}
		if !(math.Abs(pivot) > breakdown*size) || math.IsInf(pivot, 0) {
			return &PivotError{"NewDistributedILU", first + i, pivot, "too small, or out of range"}
		}
		for _, e := range own {
			at[int(to.ja[e])-first] = -1
		}
	}
	return nil
}

// sorted is a row that is sorted by columns, stably.
type sorted struct {
	ja   []int32
	data []float64
}

func (s sorted) sort() {
	if slices.IsSorted(s.ja) {
		return
	}
	order := make([]int, len(s.ja))
	for k := range order {
		order[k] = k
	}
	ja, data := slices.Clone(s.ja), slices.Clone(s.data)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ja[a], ja[b]) })
	for k, from := range order {
		s.ja[k], s.data[k] = ja[from], data[from]
	}
}

// runSolve is op "csrsolve", with a block that op "csrilu" has made.
func runSolve(call *versions.Call) error {
	b, first := call.Args[0].(*Block), call.Params.(*rowsParams).First
	r, y := elements(call.Args[1].(*tile)), elements(call.Args[2].(*tile))
	switch {
	case b.ia == nil:
		return errUnfilled()
	case len(r) != b.rows || len(y) != b.rows:
		panic(ErrShape)
	}
	for i := range b.rows {
		v := r[i]
		for e := b.ia[i]; e < b.ia[i+1]; e++ {
			if c := int(b.ja[e]) - first; c >= i {
				break
			} else if c >= 0 {
				v -= b.data[e] * y[c]
			}
		}
		y[i] = v
	}
	for i := b.rows - 1; i >= 0; i-- {
		v, pivot := y[i], 0.0
		for e := b.ia[i+1] - 1; e >= b.ia[i]; e-- {
			switch c := int(b.ja[e]) - first; {
			case c < i:
				e = b.ia[i]
			case c == i:
				pivot += b.data[e] // all but one are zeros
			case c < b.rows:
				v -= b.data[e] * y[c]
			}
		}
		y[i] = v / pivot
	}
	return nil
}
