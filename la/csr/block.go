package csr

import (
	"fmt"
	"math"
	"slices"

	"github.com/tessera-la/tessera/internal/pages"
)

// ErrShape is the panic of an op whose operands do not fit together.
const ErrShape Error = "csr: the operands of a task do not fit together"

// Block is consecutive rows of a sparse matrix. It is the operand of tasks on a [Distributed]. The numbers
// of its rows, columns and entries are known before the block is filled: the runtime computes the memory
// that nodes need from them, and Decode checks them. Columns have 32 bits, so an entry takes 12 bytes.
//
// An op of the program fills a block by [Block.Fill], and reads one by [Block.Row].
type Block struct {
	shape
	ia   []int // row i has the columns ja[ia[i]:ia[i+1]]; nil before the block is filled
	ja   []int32
	data []float64
}

// shape is the numbers of rows, columns and entries of a block, which may not be filled yet.
type shape struct{ rows, cols, entries int }

// check returns a *StructureError if a number is out of range or the numbers contradict each other.
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

// Dims returns the number of rows of the block, and the number of columns of the matrix.
func (b *Block) Dims() (rows, cols int) { return b.rows, b.cols }

// Entries returns the number of stored elements.
func (b *Block) Entries() int { return b.entries }

// Row returns the columns and the elements of row i. The caller must not write them. The block must be
// filled.
func (b *Block) Row(i int) (cols []int32, values []float64) {
	lo, hi := b.ia[i], b.ia[i+1]
	return b.ja[lo:hi:hi], b.data[lo:hi:hi]
}

// Fill overwrites the block. It calls row for i = 0, 1, …; row must call add for each entry of row i of the
// block, with its column in the matrix. Columns may come in any order. If a column comes twice, both entries
// count.
//
// The error is a *[StructureError] if a column is out of range, or if the number of entries is not that of
// the block. The block is then unchanged.
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

// view returns the block as a matrix without a runtime, which has its columns in 32 bits only.
func (b *Block) view() *Matrix {
	return &Matrix{rows: b.rows, cols: b.cols, ia: b.ia, narrow: b.ja, data: b.data}
}

// blockOf returns rows lo to hi−1 of a as a block, which aliases the elements of a. a must have its columns
// in 32 bits: see narrowed.
func blockOf(a *Matrix, lo, hi int) Block {
	from, to := a.ia[lo], a.ia[hi]
	ia := slices.Clone(a.ia[lo : hi+1])
	for i := range ia {
		ia[i] -= from
	}
	return Block{shape{hi - lo, a.cols, to - from}, ia, a.narrow[from:to:to], a.data[from:to:to]}
}

// bytes returns the size of the arrays of a filled block, in bytes.
func (s shape) bytes() int64 { return 8*(int64(s.rows)+1) + 12*int64(s.entries) }
