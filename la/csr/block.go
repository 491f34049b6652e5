package csr

import (
	"fmt"
	"math"
	"slices"

	"github.com/tessera-la/tessera/internal/pages"
)

// ErrShape is the panic of an op whose operands do not fit together.
const ErrShape Error = "csr: the operands of a task do not fit together"

// Block is some rows of a sparse matrix, the operand of tasks on a [Distributed]. How many
// rows, columns and entries it has is known before its entries are there: the memory that nodes
// need is counted by that, and what comes from another node is checked by it. Columns have 32
// bits, so an entry takes 12 bytes.
//
// An op of the program's own fills a block by [Block.Fill], and reads one by [Block.Row].
type Block struct {
	shape
	ia   []int // row i has the columns ja[ia[i]:ia[i+1]]; nil before the block is filled
	ja   []int32
	data []float64
}

// shape is what is known of a block before it is filled.
type shape struct{ rows, cols, entries int }

// check returns what makes no sense in a shape.
func (s shape) check() error {
	for _, n := range [...]int{s.rows, s.cols, s.entries} {
		if n < 0 || n > math.MaxInt32 || s.bytes() > math.MaxInt { // an int may have 32 bits
			return &StructureError{-1, fmt.Sprintf("a block of %d×%d with %d entries", s.rows, s.cols, s.entries)}
		}
	}
	if s.entries > 0 && (s.rows == 0 || s.cols == 0) {
		return &StructureError{-1, fmt.Sprintf("%d entries in a block of %d×%d", s.entries, s.rows, s.cols)}
	}
	return nil
}

// Dims returns how many rows the block has, and columns: all those of the matrix.
func (b *Block) Dims() (rows, cols int) { return b.rows, b.cols }

// Entries returns the number of stored elements.
func (b *Block) Entries() int { return b.entries }

// Row returns row i of the block, which must be filled: its columns and its elements. They
// must not be written.
func (b *Block) Row(i int) (cols []int32, values []float64) {
	lo, hi := b.ia[i], b.ia[i+1]
	return b.ja[lo:hi:hi], b.data[lo:hi:hi]
}

// Fill overwrites the block. It calls row for each of its rows, from 0 on, which calls add for
// each entry of the row, by its column in the matrix. Columns may come in any order, and one may
// come twice: both count.
//
// The error is a *[StructureError] if a column is out of range, or if there are not as many
// entries as the block is to have. The block is then as it was.
func (b *Block) Fill(row func(i int, add func(col int, v float64))) error {
	ia, ja, data := make([]int, 1, b.rows+1), make([]int32, b.entries), make([]float64, b.entries)
	pages.Large(ja)
	pages.Large(data)
	k := 0
	var bad error
	add := func(col int, v float64) {
		switch {
		case bad != nil:
		case uint(col) >= uint(b.cols):
			bad = &StructureError{len(ia) - 1, fmt.Sprintf("column %d of %d", col+1, b.cols)}
		case k == len(ja):
			bad = &StructureError{len(ia) - 1, fmt.Sprintf("has an entry beyond the %d that the block is to have", b.entries)}
		default:
			ja[k], data[k] = int32(col), v
			k++
		}
	}
	for i := range b.rows {
		if row(i, add); bad != nil {
			return bad
		}
		ia = append(ia, k)
	}
	if k < b.entries {
		return &StructureError{-1, fmt.Sprintf("%d entries in a block that is to have %d", k, b.entries)}
	}
	b.ia, b.ja, b.data = ia, ja, data
	return nil
}

// view returns the block as a matrix without a runtime. Its columns are in 32 bits only.
func (b *Block) view() *Matrix {
	return &Matrix{rows: b.rows, cols: b.cols, ia: b.ia, narrow: b.ja, data: b.data}
}

// blockOf returns the rows lo to hi−1 of a, whose columns fit into 32 bits, as a block: it
// aliases the elements of a.
func blockOf(a *Matrix, lo, hi int) Block {
	from, to := a.ia[lo], a.ia[hi]
	ia := slices.Clone(a.ia[lo : hi+1])
	for i := range ia {
		ia[i] -= from
	}
	return Block{shape{hi - lo, a.cols, to - from}, ia, a.narrow[from:to:to], a.data[from:to:to]}
}

// bytes returns how many bytes the arrays of a block take.
func (s shape) bytes() int64 { return 8*(int64(s.rows)+1) + 12*int64(s.entries) }
