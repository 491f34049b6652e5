package csr

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/csr/internal/order"
	"github.com/tessera-la/tessera/la/csr/internal/supernodal"
)

// symmetric returns a with both triangles, ascending columns and no column twice in a row. For Both it shares the arrays of
// a if their columns ascend. The error is a *StructureError, *la.NonFiniteError or *SymmetryError.
func symmetric(a *Matrix, t Triangle) (*supernodal.Matrix, error) {
	if a.rows != a.cols || a.rows > math.MaxInt32-1 {
		return nil, &StructureError{-1, fmt.Sprintf("a Cholesky factorization of a %d×%d matrix: it takes square ones of an order up to %d",
			a.rows, a.cols, math.MaxInt32-1)}
	}
	m := &supernodal.Matrix{Ptr: a.ia, Cols: a.ja, Data: a.data}
	switch {
	case t != Both:
		m = mirrored(m, t)
		sortRows(m)
	case !ascending(m):
		m = &supernodal.Matrix{Ptr: slices.Clone(m.Ptr), Cols: slices.Clone(m.Cols), Data: slices.Clone(m.Data)}
		sortRows(m)
	}
	if err := checkFinite(m, t); err != nil {
		return nil, err
	}
	if t == Both {
		return m, checkSymmetry(m)
	}
	return m, nil
}

// checkFinite returns a *la.NonFiniteError for the first element of m that is not finite, with the place in the triangle
// that m was made of.
func checkFinite(m *supernodal.Matrix, t Triangle) error {
	for i := range len(m.Ptr) - 1 {
		for k := m.Ptr[i]; k < m.Ptr[i+1]; k++ {
			if x := m.Data[k]; x-x != 0 {
				j := m.Cols[k]
				if t == Lower { // row j comes first, with the mirror image
					i, j = max(i, j), min(i, j)
				}
				return &la.NonFiniteError{Row: i, Col: j}
			}
		}
	}
	return nil
}

// ascending reports whether the columns of each row ascend, with none twice.
func ascending(m *supernodal.Matrix) bool {
	for i := range len(m.Ptr) - 1 {
		row := m.Cols[m.Ptr[i]:m.Ptr[i+1]]
		for k := 1; k < len(row); k++ {
			if row[k] <= row[k-1] {
				return false
			}
		}
	}
	return true
}

// mirrored returns a matrix with the entries of one triangle of m and their mirror images.
func mirrored(m *supernodal.Matrix, t Triangle) *supernodal.Matrix {
	n := len(m.Ptr) - 1
	each := func(visit func(i, j int, v float64)) {
		for i := range n {
			for k := m.Ptr[i]; k < m.Ptr[i+1]; k++ {
				if j := m.Cols[k]; j == i || j > i == (t == Upper) {
					visit(i, j, m.Data[k])
				}
			}
		}
	}
	s := &supernodal.Matrix{Ptr: make([]int, n+2)}
	// Ptr[i+2] counts row i; summed up, Ptr[i+1] is where the next entry of row i goes.
	each(func(i, j int, _ float64) {
		s.Ptr[i+2]++
		if i != j {
			s.Ptr[j+2]++
		}
	})
	for i := 2; i < len(s.Ptr); i++ {
		s.Ptr[i] += s.Ptr[i-1]
	}
	s.Cols, s.Data = make([]int, s.Ptr[n+1]), make([]float64, s.Ptr[n+1])
	add := func(i, j int, v float64) {
		at := s.Ptr[i+1]
		s.Cols[at], s.Data[at] = j, v
		s.Ptr[i+1]++
	}
	each(func(i, j int, v float64) {
		add(i, j, v)
		if i != j {
			add(j, i, v)
		}
	})
	s.Ptr = s.Ptr[:n+1]
	return s
}

// sortRows sorts the columns of each row of m, and adds up entries of the same column in their order.
func sortRows(m *supernodal.Matrix) {
	if ascending(m) {
		return
	}
	type entry struct {
		j int
		v float64
	}
	var row []entry
	to := 0
	for i := range len(m.Ptr) - 1 {
		row = row[:0]
		for k := m.Ptr[i]; k < m.Ptr[i+1]; k++ {
			row = append(row, entry{m.Cols[k], m.Data[k]})
		}
		m.Ptr[i] = to
		slices.SortStableFunc(row, func(x, y entry) int { return cmp.Compare(x.j, y.j) })
		for k, e := range row {
			if k > 0 && e.j == row[k-1].j {
				m.Data[to-1] += e.v
				continue
			}
			m.Cols[to], m.Data[to] = e.j, e.v
			to++
		}
	}
	m.Ptr[len(m.Ptr)-1] = to
	m.Cols, m.Data = m.Cols[:to], m.Data[:to]
}

// symmetryTolerance is how far an element may be from its mirror image, in units of the geometric mean of the elements on
// the diagonal of its row and its column. No element of a positive definite matrix is larger than that mean.
const symmetryTolerance = 0x1p-44

// checkSymmetry returns a *SymmetryError unless each element has its mirror image, but for a few rounding errors. The
// columns of each row of m ascend.
func checkSymmetry(m *supernodal.Matrix) error {
	n := len(m.Ptr) - 1
	diagonal := make([]float64, n)
	for i := range n {
		if k, ok := slices.BinarySearch(m.Cols[m.Ptr[i]:m.Ptr[i+1]], i); ok {
			diagonal[i] = math.Sqrt(math.Abs(m.Data[m.Ptr[i]+k]))
		}
	}
	next := slices.Clone(m.Ptr[:n]) // the first entry of a row whose mirror image has not come yet
	for i := range n {
		for k := m.Ptr[i]; k < m.Ptr[i+1]; k++ {
			j := m.Cols[k]
			at := next[j]
			if at == m.Ptr[j+1] || m.Cols[at] > i {
				return &SymmetryError{min(i, j), max(i, j)}
			}
			if m.Cols[at] < i {
				return &SymmetryError{min(j, m.Cols[at]), max(j, m.Cols[at])}
			}
			next[j]++
			if math.Abs(m.Data[k]-m.Data[at]) > symmetryTolerance*diagonal[i]*diagonal[j] {
				return &SymmetryError{min(i, j), max(i, j)}
			}
		}
	}
	return nil
}

// size returns the largest magnitude in scale·m, and the 1-norm: the largest sum of the magnitudes in a column, or in a row.
// The elements are finite; the norm may overflow.
func size(m *supernodal.Matrix, scale float64) (top, norm float64) {
	for i := range len(m.Ptr) - 1 {
		sum := 0.0
		for _, v := range m.Data[m.Ptr[i]:m.Ptr[i+1]] {
			v = math.Abs(v) * scale
			sum += v
			if v > top {
				top = v
			}
		}
		norm = max(norm, sum)
	}
	return top, norm
}

// places is what is known of the entries of a matrix that was found to be symmetric, with ascending columns. So another
// one with its pattern is checked in a fraction of the time.
type places struct {
	ptr          []int
	cols, mirror []int32 // of each entry: its column, and the place of its mirror image
}

// placesOf returns the places of m, whose pattern is symmetric. It has fewer than 2³¹ entries.
func placesOf(m *supernodal.Matrix) *places {
	n := len(m.Ptr) - 1
	p := &places{slices.Clone(m.Ptr), make([]int32, len(m.Cols)), make([]int32, len(m.Cols))}
	next := slices.Clone(m.Ptr[:n]) // the first entry of a row whose mirror image has not come yet
	for i := range n {
		for k := m.Ptr[i]; k < m.Ptr[i+1]; k++ {
			j := m.Cols[k]
			p.cols[k], p.mirror[k] = int32(j), int32(next[j])
			next[j]++
		}
	}
	return p
}

// read returns the size of m if it has these places, each element is its mirror image, and all are finite.
func (p *places) read(m *supernodal.Matrix) (top, norm float64, ok bool) {
	if !slices.Equal(m.Ptr, p.ptr) {
		return 0, 0, false
	}
	for k, j := range m.Cols {
		if j != int(p.cols[k]) || m.Data[k] != m.Data[p.mirror[k]] {
			return 0, 0, false
		}
	}
	top, norm = size(m, 1)
	return top, norm, norm <= math.MaxFloat64
}

// graphOf returns the pattern of m.
func graphOf(m *supernodal.Matrix) *order.Graph {
	n := len(m.Ptr) - 1
	g := &order.Graph{Ptr: make([]int, 1, n+1), Adj: make([]int32, 0, len(m.Cols))}
	for i := range n {
		for _, j := range m.Cols[m.Ptr[i]:m.Ptr[i+1]] {
			if j != i {
				g.Adj = append(g.Adj, int32(j))
			}
		}
		g.Ptr = append(g.Ptr, len(g.Adj))
	}
	return g
}

// hasPattern reports whether m has the pattern g.
func hasPattern(m *supernodal.Matrix, g *order.Graph) bool {
	n := len(m.Ptr) - 1
	if g == nil || g.N() != n {
		return false
	}
	for i := range n {
		row := g.Row(int32(i))
		for _, j := range m.Cols[m.Ptr[i]:m.Ptr[i+1]] {
			if j == i {
				continue
			}
			if len(row) == 0 || int(row[0]) != j {
				return false
			}
			row = row[1:]
		}
		if len(row) > 0 {
			return false
		}
	}
	return true
}
