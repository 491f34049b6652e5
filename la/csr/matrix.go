package csr

import (
	"fmt"
	"math"
	"math/bits"
	"sort"
	"sync"
	"unsafe"

	"github.com/james-bowman/sparse"
	"github.com/tessera-la/tessera/blocked/parts"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/internal/pages"
)

// Error is the type of the constants that misuse panics with.
type Error string

func (e Error) Error() string { return string(e) }

// ErrOverlap is the panic of a product whose result shares memory with an operand.
const ErrOverlap Error = "csr: the result shares memory with an operand"

// ErrChanged is the panic of a product that finds row pointers or columns out of range, because the caller
// has changed its arrays.
const ErrChanged Error = "csr: the caller's row pointers or columns have changed"

// StructureError reports arrays or numbers that do not describe a sparse matrix.
type StructureError struct {
	Row    int // the row with the error, from 0; −1 if it concerns the whole matrix
	Reason string
}

func (e *StructureError) Error() string {
	if e.Row < 0 {
		return "csr: " + e.Reason
	}
	return fmt.Sprintf("csr: row %d (counted from 1): %s", e.Row+1, e.Reason)
}

// Matrix is an m×n sparse matrix in compressed sparse rows. It is safe for concurrent use as long as no
// goroutine writes its elements.
type Matrix struct {
	rows, cols int
	ia, ja     []int // row i has the columns ja[ia[i]:ia[i+1]]
	data       []float64
	starts     []int // the first row of each block, and the end
	rt         exec.Runtime
	products   loop.Site // of MulVecTo
	wide       loop.Site // of MulTo
	grams      loop.Site // of GramTo

	once sync.Once
	t    *Matrix // the transpose; nil before the first call of T

	narrows sync.Once
	narrow  []int32 // ja in 32 bits; nil before the first product with a vector

	work workspace // of iterations
}

// blockWork is the number of entries and rows together of a block of rows. It is some 10 µs of work: the
// cost of handing out a chunk is small against it, and so is the wait for the last block of a loop.
const blockWork = 1 << 13

// New returns a as a Matrix whose products run on the workers of rt. The Matrix shares the arrays of a, so
// it sees later changes of elements. a must not get other arrays, as by Set or Cull. The columns of a row may
// be in any order. If a column occurs twice, both entries count. The error is a *[StructureError].
func New(rt exec.Runtime, a *sparse.CSR) (*Matrix, error) {
	r := a.RawMatrix()
	return of(rt, r.I, r.J, r.Indptr, r.Ind, r.Data)
}

// of returns the matrix with these arrays. The error is a *StructureError.
func of(rt exec.Runtime, rows, cols int, ia, ja []int, data []float64) (*Matrix, error) {
	if err := checkRows(rows, cols, ia, ja, len(data)); err != nil {
		return nil, err
	}
	return &Matrix{rows: rows, cols: cols, ia: ia, ja: ja[:ia[rows]], data: data[:ia[rows]], starts: balance(ia, blockWork), rt: rt}, nil
}

// checkRows returns a *StructureError unless these arrays describe a matrix.
func checkRows[J int | int32](rows, cols int, ia []int, ja []J, values int) error {
	switch {
	case rows < 0 || cols < 0:
		return &StructureError{-1, fmt.Sprintf("%d×%d matrix", rows, cols)}
	case len(ia) != rows+1:
		return &StructureError{-1, fmt.Sprintf("%d row pointers for %d rows, want one more than rows", len(ia), rows)}
	case ia[0] != 0:
		return &StructureError{0, fmt.Sprintf("begins at entry %d", ia[0])}
	case len(ja) < ia[rows] || values < ia[rows]:
		return &StructureError{-1, fmt.Sprintf("%d columns and %d values for %d entries", len(ja), values, ia[rows])}
	}
	// Check all pointers first: then every row lies in the arrays.
	for i := range rows {
		if ia[i+1] < ia[i] {
			return &StructureError{i, fmt.Sprintf("ends at entry %d before it begins at %d", ia[i+1], ia[i])}
		}
	}
	for i := range rows {
		for _, j := range ja[ia[i]:ia[i+1]] {
			if uint(j) >= uint(cols) {
				return &StructureError{i, fmt.Sprintf("column %d of %d", j+1, cols)}
			}
		}
	}
	return nil
}

// balance cuts rows into blocks of about the given work, which is the number of rows and entries together.
// It returns the first row of each block, and the end.
func balance(ia []int, work int) (starts []int) {
	starts = []int{0}
	from := 0
	for i := range len(ia) - 1 {
		if all := ia[i+1] + i + 1 - from; all >= work {
			starts, from = append(starts, i+1), ia[i+1]+i+1
		}
	}
	if last := len(ia) - 1; starts[len(starts)-1] != last {
		starts = append(starts, last)
	}
	return starts
}

// share returns ⌊c·total/n⌋, for 0 ≤ c ≤ n.
func share(c, n, total int) int {
	hi, lo := bits.Mul64(uint64(c), uint64(total))
	q, _ := bits.Div64(hi, lo, uint64(n)) // c ≤ n
	return int(q)
}

// reach returns the least number of rows, from the first on, that have at least the given work: rows and
// entries together.
func reach(ia []int, work int) int {
	return sort.Search(len(ia)-1, func(r int) bool { return ia[r]+r >= work })
}

// Dims returns the number of rows and columns.
func (a *Matrix) Dims() (m, n int) { return a.rows, a.cols }

// Entries returns the number of stored elements.
func (a *Matrix) Entries() int { return len(a.ja) }

// CSR returns a as a matrix of package sparse with the same arrays.
func (a *Matrix) CSR() *sparse.CSR { return sparse.NewCSR(a.rows, a.cols, a.ia, a.ja, a.data) }

// T returns the transpose. The first call makes it, with as much memory as a, and later calls return the
// same Matrix. A later change of an element of a does not change the transpose. The transpose of the result
// is a.
func (a *Matrix) T() *Matrix {
	a.once.Do(func() {
		t := &Matrix{rows: a.cols, cols: a.rows, ia: make([]int, a.cols+2), ja: make([]int, len(a.ja)), data: make([]float64, len(a.ja)), rt: a.rt}
		pages.Large(t.ja)
		pages.Large(t.data)
		// ia[j+2] counts column j; summed up, ia[j+1] is where the next entry of row j goes.
		for _, j := range a.ja {
			t.ia[j+2]++
		}
		for j := 2; j < len(t.ia); j++ {
			t.ia[j] += t.ia[j-1]
		}
		for i := range a.rows {
			for k := a.ia[i]; k < a.ia[i+1]; k++ {
				j := a.ja[k]
				at := t.ia[j+1]
				t.ja[at], t.data[at] = i, a.data[k]
				t.ia[j+1]++
			}
		}
		t.ia = t.ia[:a.cols+1]
		t.starts = balance(t.ia, blockWork)
		t.once.Do(func() { t.t = a })
		a.t = t
	})
	return a.t
}

// Blocks implements parts.Collection, whose items are the rows. Each block has about the same number of
// entries and rows together, unless a single row has more.
func (a *Matrix) Blocks() int { return len(a.starts) - 1 }

// Rows returns the rows of a block: lo to hi−1.
func (a *Matrix) Rows(block int) (lo, hi int) { return a.starts[block], a.starts[block+1] }

// Items implements parts.Collection.
func (a *Matrix) Items(block int) int { return a.starts[block+1] - a.starts[block] }

// Bytes implements parts.Collection: the entries and row pointers of a block.
func (a *Matrix) Bytes(block int) int64 {
	lo, hi := a.Rows(block)
	return 16*int64(a.ia[hi]-a.ia[lo]) + 8*int64(hi-lo)
}

// Locate implements parts.Collection. It looks up the page of the element in the middle of each block.
func (a *Matrix) Locate(rt exec.Runtime) []int {
	at := make([]unsafe.Pointer, a.Blocks())
	for b := range at {
		lo, hi := a.Rows(b)
		if k := (a.ia[lo] + a.ia[hi]) / 2; k < len(a.data) {
			at[b] = unsafe.Pointer(&a.data[k])
		}
	}
	return parts.Near(rt, at)
}

// narrowed copies the columns into 32 bits at its first call, and reports whether they fit. The time of a
// product with a vector is mostly that of reading the matrix; with the copy it reads 12 bytes per entry
// instead of 16.
func (a *Matrix) narrowed() bool {
	if a.cols > math.MaxInt32 {
		return false
	}
	a.narrows.Do(func() {
		narrow := make([]int32, len(a.ja))
		pages.Large(narrow)
		for k, j := range a.ja {
			if uint(j) >= uint(a.cols) {
				panic(ErrChanged)
			}
			narrow[k] = int32(j)
		}
		a.narrow = narrow
	})
	return len(a.narrow) == len(a.ja)
}

// Memory returns the size of the arrays in bytes, without the transpose and without the columns in 32 bits.
func (a *Matrix) Memory() int64 { return 16*int64(len(a.ja)) + 8*int64(len(a.ia)) }

// NonFinite returns the row and column of the first stored element, by rows, that is infinite or NaN. ok is
// false if there is none.
func (a *Matrix) NonFinite() (row, col int, ok bool) {
	for i := range a.rows {
		for k := a.ia[i]; k < a.ia[i+1]; k++ {
			if math.IsNaN(a.data[k]) || math.IsInf(a.data[k], 0) {
				return i, a.ja[k], true
			}
		}
	}
	return 0, 0, false
}
