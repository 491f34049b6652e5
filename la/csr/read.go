package csr

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/pages"
)

// ReadOptions says how a file is read. The zero value works, and nil means the zero value.
type ReadOptions struct {
	// MaxBytes limits the memory that the matrix may take; 0 means 8 GiB. During the reading
	// about twice as much is in use. Read compares the size that the file announces with the
	// limit before it allocates, and then allocates as entries come.
	MaxBytes int64

	// Warn, if not nil, is called once for each kind of deviation from the rules of the format
	// that was read nevertheless, and if integers were rounded: see file.ReadMatrixMarket.
	Warn func(file.Warning)
}

// Read reads a Matrix Market file, plain or compressed with gzip, into a sparse matrix. It accepts the files
// that file.ReadMatrixMarket accepts. It leaves out entries that are zero, and adds up entries of the same
// index in the order of the file. The columns of a row are ascending. opt may be nil.
//
// The error is a *file.FormatError, if possible with the line, if the file is malformed or too large;
// otherwise it is that of the operating system.
func Read(rt exec.Runtime, path string, opt *ReadOptions) (*Matrix, error) {
	var o ReadOptions
	if opt != nil {
		o = *opt
	}
	if o.MaxBytes < 0 {
		return nil, fmt.Errorf("csr: ReadOptions.MaxBytes = %d is negative", o.MaxBytes)
	}
	limit := o.MaxBytes
	if limit == 0 {
		limit = 8 << 30
	}
	limit = min(limit, math.MaxInt) // no slice is larger
	var c coo
	if err := file.ReadEntries(path, o.Warn, func(rows, cols int, entries int64, _ bool) error {
		c.rows, c.cols = rows, cols
		if pointers := 8 * (int64(rows) + 1); pointers > limit || entries > (limit-pointers)/16 {
			return &file.FormatError{File: path, Reason: fmt.Sprintf("%d×%d matrix of %d entries takes more than the limit of %d bytes (ReadOptions.MaxBytes)", rows, cols, entries, limit)}
		}
		return nil
	}, c.add); err != nil {
		return nil, err
	}
	return c.matrix(rt)
}

// coo is entries in any order.
type coo struct {
	rows, cols int
	list       []entry
}

// entry is element (i, j).
type entry struct {
	i, j int32
	v    float64
}

// add appends an entry, unless it is zero.
func (c *coo) add(i, j int, v float64) {
	if v != 0 {
		c.list = append(c.list, entry{int32(i), int32(j), v})
	}
}

// matrix returns the matrix of the entries. It sorts c.list, and adds up entries of the same index in their
// order.
func (c *coo) matrix(rt exec.Runtime) (*Matrix, error) {
	ia := make([]int, c.rows+1)
	slices.SortStableFunc(c.list, func(a, b entry) int { return cmp.Or(cmp.Compare(a.i, b.i), cmp.Compare(a.j, b.j)) })
	n := 0
	for k, e := range c.list {
		if k > 0 && e.i == c.list[n-1].i && e.j == c.list[n-1].j {
			c.list[n-1].v += e.v
			continue
		}
		c.list[n] = e
		n++
	}
	ja, data := make([]int, n), make([]float64, n)
	pages.Large(ja)
	pages.Large(data)
	for k, e := range c.list[:n] {
		ia[e.i+1]++
		ja[k], data[k] = int(e.j), e.v
	}
	for i := range c.rows {
		ia[i+1] += ia[i]
	}
	return of(rt, c.rows, c.cols, ia, ja, data)
}

// FromCOO returns the m×n matrix with elements v[k] in row i[k] and column j[k], in any order. It adds up
// elements of the same index in the order of k. The error is a *[StructureError].
func FromCOO(rt exec.Runtime, m, n int, i, j []int, v []float64) (*Matrix, error) {
	if len(i) != len(v) || len(j) != len(v) {
		return nil, &StructureError{-1, fmt.Sprintf("%d rows, %d columns and %d values", len(i), len(j), len(v))}
	}
	if m < 0 || n < 0 || m > math.MaxInt32 || n > math.MaxInt32 || int64(m) >= math.MaxInt/8 { // an int may have 32 bits
		return nil, &StructureError{-1, fmt.Sprintf("%d×%d matrix", m, n)}
	}
	c := coo{rows: m, cols: n, list: make([]entry, len(v))}
	for k := range v {
		if uint(i[k]) >= uint(m) {
			return nil, &StructureError{-1, fmt.Sprintf("row %d of %d, of entry %d (all counted from 1)", i[k]+1, m, k+1)}
		}
		if uint(j[k]) >= uint(n) {
			return nil, &StructureError{i[k], fmt.Sprintf("column %d of %d", j[k]+1, n)}
		}
		c.list[k] = entry{int32(i[k]), int32(j[k]), v[k]}
	}
	return c.matrix(rt)
}
