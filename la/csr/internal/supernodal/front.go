package supernodal

import (
	"fmt"

	"gonum.org/v1/gonum/blas"
)

// IndefiniteError reports a pivot that is not positive.
type IndefiniteError struct {
	Row int32 // of the matrix, from 0
}

func (e *IndefiniteError) Error() string {
	return fmt.Sprintf("the pivot of row %d (counted from 1) is not positive", e.Row+1)
}

// compute computes the front of supernode s: its panel of the factor, and what it contributes to its parent, which goes
// to the stack of w. The contributions of the children of s are what is on top of that stack.
func (f *Factor[T]) compute(w *Worker[T], m *Matrix, scale float64, s int32) error {
	rows, columns := f.rows(s)
	n := len(rows)
	below := n - columns
	panel := f.Panels[f.Panel[s]:f.Panel[s+1]]
	children := f.children(s)
	f.assemble(w, m, scale, s, panel)
	for _, c := range children {
		f.addToPanel(w, c, columns, panel, n)
	}
	if info := f.r.Potrf(blas.Upper, columns, panel, n, w.work); info > 0 {
		return &IndefiniteError{f.Order[int(f.First[s])+info-1]}
	}
	front := w.front[:below*below]
	if below > 0 {
		f.r.Trsm(blas.Left, blas.Upper, blas.Trans, blas.NonUnit, columns, below, 1, panel, n, panel[columns:], n, w.work)
		f.r.Syrk(blas.Upper, blas.Trans, below, columns, -1, panel[columns:], n, 0, front, below, w.work)
	}
	for _, c := range children {
		f.addToFront(w, c, columns, front, below)
	}
	for _, c := range children {
		w.top -= len(f.waiting[c])
		f.waiting[c] = nil
	}
	size := below * (below + 1) / 2
	f.waiting[s] = w.stack[w.top : w.top+size]
	w.top += size
	pack(f.waiting[s], front, below)
	return nil
}

// children returns the children of s in ascending order.
func (f *Factor[T]) children(s int32) []int32 { return f.Child[f.ChildPtr[s]:f.ChildPtr[s+1]] }

// assemble sets the panel of s to the elements of the matrix, and notes where its rows are.
func (f *Factor[T]) assemble(w *Worker[T], m *Matrix, scale float64, s int32, panel []T) {
	clear(panel)
	rows, columns := f.rows(s)
	for i, row := range rows {
		w.at[row] = int32(i)
	}
	for k, row := range rows[:columns] {
		to := panel[k*len(rows) : (k+1)*len(rows)]
		i := f.Order[row]
		lo, hi := m.Ptr[i], m.Ptr[i+1]
		data := m.Data[lo:hi]
		for e, j := range m.Cols[lo:hi] {
			if c := f.Inverse[j]; c >= row {
				to[w.at[c]] = T(scale * data[e])
			}
		}
	}
}

// places returns where the rows of the contribution of c are in the front of its parent, and how many are in the panel,
// which has so many columns.
func (f *Factor[T]) places(w *Worker[T], c int32, columns int) (to []int32, inPanel int) {
	rows, own := f.rows(c)
	rows = rows[own:]
	to = w.to[:len(rows)]
	inPanel = len(rows)
	for i, row := range rows {
		to[i] = w.at[row]
		if int(to[i]) >= columns && i < inPanel {
			inPanel = i
		}
	}
	return to, inPanel
}

// addToPanel adds the part of the contribution of c that is in the panel of its parent.
func (f *Factor[T]) addToPanel(w *Worker[T], c int32, columns int, panel []T, n int) {
	to, inPanel := f.places(w, c, columns)
	part := f.waiting[c]
	for i := range inPanel {
		row := panel[int(to[i])*n : (int(to[i])+1)*n]
		scatter(row, to[i:], part)
		part = part[len(to)-i:]
	}
}

// addToFront adds the rest of the contribution of c.
func (f *Factor[T]) addToFront(w *Worker[T], c int32, columns int, front []T, below int) {
	to, inPanel := f.places(w, c, columns)
	m := len(to)
	part := f.waiting[c][inPanel*m-inPanel*(inPanel-1)/2:]
	to = to[inPanel:]
	for i := range to {
		to[i] -= int32(columns)
	}
	for i := range to {
		row := front[int(to[i])*below : (int(to[i])+1)*below]
		scatter(row, to[i:], part)
		part = part[len(to)-i:]
	}
}

// scatter adds the first elements of x to the elements of y at the places to, which ascend.
func scatter[T float32 | float64](y []T, to []int32, x []T) {
	x = x[:len(to)]
	if first := int(to[0]); int(to[len(to)-1])-first == len(to)-1 {
		y = y[first : first+len(to)]
		for i, v := range x {
			y[i] += v
		}
		return
	}
	for i, t := range to {
		y[t] += x[i]
	}
}

// pack copies the upper triangle of the n×n matrix a to dst, row by row.
func pack[T float32 | float64](dst, a []T, n int) {
	for i := range n {
		dst = dst[copy(dst, a[i*n+i:(i+1)*n]):]
	}
}
