package simplicial

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/la/csr/internal/order"
	"github.com/tessera-la/tessera/la/csr/internal/supernodal"
)

// Factor is the factor L of P·A·Pᵀ = L·Lᵀ.
type Factor[T scalar.Real] struct {
	Order, Inverse []int32 // column k is that of row Order[k] of the matrix

	// Column j has the rows rows[ptr[j]:ptr[j+1]], in ascending order, and the values of the same places. Its first
	// row is j.
	ptr    []int
	rows   []int32
	values []T
	inv    []T // reciprocals of the diagonal

	// Row k has the entries left[rowPtr[k]:rowPtr[k+1]] before the diagonal, in ascending order of their columns.
	rowPtr []int
	left   []entry

	x []T // a row that is computed; zeros between rows
}

// entry is an entry of a row: its column, and where it is in values.
type entry struct {
	column int32
	at     int32
}

// NewFactor returns a factor without values for an order of elimination of g, of which c are the columns. It has fewer
// than 2³¹ entries.
func NewFactor[T scalar.Real](g *order.Graph, c *supernodal.Columns) *Factor[T] {
	n := len(c.Order)
	f := &Factor[T]{Order: c.Order, ptr: make([]int, n+1), rowPtr: make([]int, n+1), inv: make([]T, n), x: make([]T, n)}
	f.Inverse, _ = order.Inverse(c.Order)
	for j, entries := range c.Counts {
		f.ptr[j+1] = f.ptr[j] + int(entries)
	}
	f.rows, f.values = make([]int32, f.ptr[n]), make([]T, f.ptr[n])
	next := make([]int, n) // where the next row of a column goes
	seen := make([]int32, n)
	for k := range int32(n) {
		f.rows[f.ptr[k]], next[k], seen[k] = k, f.ptr[k]+1, k
		entries := 0
		// Row k is a subtree of the elimination tree: from each entry of the matrix up to k.
		for _, i := range g.Row(f.Order[k]) {
			for j := f.Inverse[i]; j < k && seen[j] != k; j = c.Parent[j] {
				seen[j] = k
				f.rows[next[j]] = k
				next[j]++
				entries++
			}
		}
		f.rowPtr[k+1] = f.rowPtr[k] + entries
	}
	f.left = make([]entry, f.rowPtr[n])
	copy(next, f.rowPtr)
	for j := range int32(n) {
		for at := f.ptr[j] + 1; at < f.ptr[j+1]; at++ {
			k := f.rows[at]
			f.left[next[k]] = entry{j, int32(at)}
			next[k]++
		}
	}
	return f
}

// Entries returns the number of entries of L.
func (f *Factor[T]) Entries() int64 { return int64(len(f.values)) }

// contextEvery is the number of rows after which stop is asked.
const contextEvery = 1 << 12

// Factorize computes the factor of m, whose elements are multiplied by scale. The error is a *supernodal.NotPositiveDefiniteError
// for the first pivot that is not positive, or that of stop, which is asked now and then.
func (f *Factor[T]) Factorize(m *supernodal.Matrix, scale float64, stop func() error) error {
	x := f.x
	for k, i := range f.Order {
		if k%contextEvery == 0 {
			if err := stop(); err != nil {
				return err
			}
		}
		from, end := m.Ptr[i], m.Ptr[i+1]
		data := m.Data[from:end]
		for e, j := range m.Cols[from:end] {
			if c := f.Inverse[j]; int(c) <= k {
				x[c] = T(scale * data[e])
			}
		}
		d := x[k]
		x[k] = 0
		for _, e := range f.left[f.rowPtr[k]:f.rowPtr[k+1]] {
			y := x[e.column] * f.inv[e.column]
			x[e.column] = 0
			first := f.ptr[e.column] + 1
			rows := f.rows[first:e.at]
			for p, v := range f.values[first:e.at] {
				x[rows[p]] -= v * y
			}
			f.values[e.at] = y
			d -= y * y
		}
		if !(d > 0) {
			return &supernodal.NotPositiveDefiniteError{Row: i}
		}
		d = T(math.Sqrt(float64(d)))
		f.values[f.ptr[k]], f.inv[k] = d, 1/d
	}
	return nil
}

// Solve overwrites the n×nrhs matrix X with A⁻¹·X. Its rows are in the order of the factor.
func (f *Factor[T]) Solve(x []T, nrhs int) {
	if nrhs == 1 {
		f.solveVec(x)
		return
	}
	n := len(f.Order)
	row := func(k int) []T { return x[k*nrhs : (k+1)*nrhs] }
	each := func(k int, do func(l T, row []T)) {
		for at := f.ptr[k] + 1; at < f.ptr[k+1]; at++ {
			do(f.values[at], row(int(f.rows[at])))
		}
	}
	divide := func(k int, own []T) {
		for c := range own {
			own[c] *= f.inv[k]
		}
	}
	for k := range n {
		own := row(k)
		divide(k, own)
		each(k, func(l T, row []T) {
			for c, v := range own {
				row[c] -= l * v
			}
		})
	}
	for k := n - 1; k >= 0; k-- {
		own := row(k)
		each(k, func(l T, row []T) {
			for c, v := range row {
				own[c] -= l * v
			}
		})
		divide(k, own)
	}
}

// solveVec is Solve of one right-hand side.
func (f *Factor[T]) solveVec(x []T) {
	n := len(f.Order)
	for k := range n {
		from, end := f.ptr[k], f.ptr[k+1]
		y := x[k] * f.inv[k]
		x[k] = y
		rows := f.rows[from+1 : end]
		for p, l := range f.values[from+1 : end] {
			x[rows[p]] -= l * y
		}
	}
	for k := n - 1; k >= 0; k-- {
		from, end := f.ptr[k], f.ptr[k+1]
		y := x[k]
		rows := f.rows[from+1 : end]
		for p, l := range f.values[from+1 : end] {
			y -= l * x[rows[p]]
		}
		x[k] = y * f.inv[k]
	}
}

// LogDet returns the logarithm of the determinant of the matrix.
func (f *Factor[T]) LogDet() float64 {
	sum := 0.0
	for k := range f.Order {
		sum += math.Log(float64(f.values[f.ptr[k]]))
	}
	return 2 * sum
}
