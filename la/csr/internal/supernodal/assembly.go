package supernodal

import "github.com/tessera-la/tessera/internal/scalar"

// parts returns in how many parts n rows with so many elements together are worth sharing with the crew.
func (w *Workspace[T]) parts(n, elements int) int {
	const part = 1 << 16 // elements: some 50 µs
	if w.crew == nil {
		return 1
	}
	return max(1, min(n, elements/part))
}

// assemble sets the panel of s to the elements of the matrix, and notes where its rows are.
func (f *Factor[T]) assemble(w *Workspace[T], s int32, panel []T) {
	rows, columns := f.rows(s)
	for i, row := range rows {
		w.at[row] = int32(i)
	}
	if parts := w.parts(columns, len(panel)); parts > 1 {
		w.crew(parts, 0, func(i, parts int, _ []T) {
			f.assembleRows(w, rows, panel, i*columns/parts, (i+1)*columns/parts)
		})
		return
	}
	f.assembleRows(w, rows, panel, 0, columns)
}

// assembleRows is assemble for rows lo to hi−1 of the panel.
func (f *Factor[T]) assembleRows(w *Workspace[T], rows []int32, panel []T, lo, hi int) {
	n := len(rows)
	clear(panel[lo*n : hi*n])
	for k, row := range rows[lo:hi] {
		to := panel[(lo+k)*n : (lo+k+1)*n]
		i := f.Order[row]
		from, end := f.m.Ptr[i], f.m.Ptr[i+1]
		data := f.m.Data[from:end]
		for e, j := range f.m.Cols[from:end] {
			if c := f.Inverse[j]; c >= row {
				to[w.at[c]] = T(f.scale * data[e])
			}
		}
	}
}

// places returns the contribution of c, where its rows are in the front of its parent, and how many of them are in the
// panel, which has so many columns.
func (f *Factor[T]) places(w *Workspace[T], c int32, columns int) (part contribution[T], to []int32, inPanel int) {
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
	return contribution[T]{f.waiting[c], len(rows), f.across[c].at < 0}, to, inPanel
}

// addToPanel adds the part of the contribution of c that is in the panel of its parent.
func (f *Factor[T]) addToPanel(w *Workspace[T], c int32, columns int, panel []T, n int) {
	part, to, inPanel := f.places(w, c, columns)
	part.add(w, 0, inPanel, target[T]{panel: panel, ld: n}, to)
}

// addToFront adds the rest of the contribution of c to what its parent contributes.
func (f *Factor[T]) addToFront(w *Workspace[T], c int32, columns int, front contribution[T]) {
	part, to, inPanel := f.places(w, c, columns)
	for i := inPanel; i < len(to); i++ {
		to[i] -= int32(columns)
	}
	part.add(w, inPanel, len(to), target[T]{front: front}, to)
}

// target is a triangle that contributions are added to: the panel of a front, or what it contributes itself.
type target[T scalar.Real] struct {
	panel []T // nil for what it contributes
	ld    int // of the panel
	front contribution[T]
}

// row returns row i from the diagonal on.
func (t target[T]) row(i int) []T {
	if t.panel != nil {
		return t.panel[i*t.ld+i : (i+1)*t.ld]
	}
	return t.front.row(i)
}

// add adds rows first to last−1 of c to y, where they are the rows and columns to.
func (c contribution[T]) add(w *Workspace[T], first, last int, y target[T], to []int32) {
	if parts := w.parts(last-first, (last-first)*(2*c.n-first-last)/2); parts > 1 {
		w.crew(parts, 0, func(i, parts int, _ []T) {
			c.addRows(first+i*(last-first)/parts, first+(i+1)*(last-first)/parts, y, to)
		})
		return
	}
	c.addRows(first, last, y, to)
}

// addRows is add by one goroutine.
func (c contribution[T]) addRows(first, last int, y target[T], to []int32) {
	for i := first; i < last; i++ {
		scatter(y.row(int(to[i])), to[i:], c.row(i))
	}
}

// scatter adds the first elements of x to the elements of y, which begins at place to[0], at the places to, which ascend.
func scatter[T float32 | float64](y []T, to []int32, x []T) {
	x = x[:len(to)]
	first := to[0]
	if int(to[len(to)-1]-first) == len(to)-1 {
		y = y[:len(to)]
		for i, v := range x {
			y[i] += v
		}
		return
	}
	for i, t := range to {
		y[t-first] += x[i]
	}
}
