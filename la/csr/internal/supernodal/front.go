package supernodal

import "gonum.org/v1/gonum/blas"

// compute computes the front of supernode s: its panel of the factor, and what it contributes to its parent. The
// contributions of the children of s in the same part are what is on top of the stack of w.
func (f *Factor[T]) compute(w *Workspace[T], s int32) {
	rows, columns := f.rows(s)
	n := len(rows)
	below := n - columns
	panel := f.Panels[f.Panel[s]:f.Panel[s+1]]
	children := f.children(s)
	f.assemble(w, s, panel)
	for _, c := range children {
		f.addToPanel(w, c, columns, panel, n)
	}
	if info := w.r.Potrf(blas.Upper, columns, panel, n, w.work); info > 0 {
		f.fail(s, f.First[s]+int32(info)-1)
		return
	}
	across := f.across[s]
	front := contribution[T]{w.front, below, false}
	if across.at >= 0 {
		front.data = f.arenas[across.arena][across.at:]
	}
	if below > 0 {
		w.r.Trsm(blas.Left, blas.Upper, blas.Trans, blas.NonUnit, columns, below, 1, panel, n, panel[columns:], n, w.work)
	}
	for lo := 0; lo < below; lo += bandRows {
		h, band := front.band(lo)
		left, rest := panel[columns+lo:], below-lo-h
		w.r.Syrk(blas.Upper, blas.Trans, h, columns, -1, left, n, 0, band, below-lo, w.work)
		if rest > 0 {
			w.r.Gemm(blas.Trans, blas.NoTrans, h, rest, columns, -1, left, n, left[h:], n, 0, band[h:], below-lo, w.work)
		}
	}
	for _, c := range children {
		f.addToFront(w, c, columns, front)
	}
	for _, c := range children {
		if f.across[c].at < 0 {
			w.top -= len(f.waiting[c])
		}
		f.waiting[c] = nil
	}
	if across.at >= 0 {
		f.waiting[s] = front.data
		return
	}
	f.waiting[s] = w.stack[w.top : w.top+int(packedSize(below))]
	w.top += len(f.waiting[s])
	front.pack(f.waiting[s])
}
