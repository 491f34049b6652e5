package schur

import (
	"math"

	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/tridiag"
)

// open returns the iteration for a window, the last w rows and columns before row hi+1.
func (t *Iteration[T]) open(hi, w int) *Iteration[T] {
	x := t.window(w)
	from := hi - w + 1
	for i := range w {
		row := x.H.Row(i)
		clear(row)
		lo := max(i-1, 0)
		copy(row[lo:], t.H.Row(from + i)[from+lo:from+w])
		z := x.Z.Row(i)
		clear(z)
		z[i] = 1
	}
	return x
}

// deflate is aggressive early deflation in a window at the end of the active block, which is rows and columns top to
// hi. x is the Schur form of the window, of which rows before done have not converged and count as not negligible. The
// column before the window is a spike then. Where an element of the spike is negligible, an eigenvalue has been found.
// deflate returns how many have, and how many others it has put before them in shiftRe and shiftIm, from index hi on
// downwards.
//
// Reference: LAPACK xLAQR3.
func (t *Iteration[T]) deflate(x *Iteration[T], top, hi, done int) (left, gone int) {
	h, w := &t.H, x.H.Rows
	from := hi - w + 1
	spike := 0.0
	if from > top {
		spike = float64(h.Row(from)[from-1])
	}
	for i := 2; i < w; i++ {
		clear(x.H.Row(i)[:i-1])
	}
	last := t.detect(x, done, spike)
	if last == 0 {
		spike = 0
	}
	if last < w {
		x.sort(done, last)
	}
	for i := w - 1; i >= done; i-- {
		if i > done && x.H.Row(i)[i-1] != 0 {
			y, _, _ := standardize(x.block(i-1), t.eps/2)
			t.shiftRe[from+i-1], t.shiftIm[from+i-1], t.shiftRe[from+i], t.shiftIm[from+i] = y.values()
			i--
			continue
		}
		t.shiftRe[from+i], t.shiftIm[from+i] = float64(x.H.Row(i)[i]), 0
	}
	for i := last; i < w; i++ {
		t.Re[from+i], t.Im[from+i] = T(t.shiftRe[from+i]), T(t.shiftIm[from+i])
	}
	if last < w || spike == 0 {
		if last > 1 && spike != 0 {
			t.restore(x, last)
		}
		if from > 0 {
			h.Row(from)[from-1] = T(spike * float64(x.Z.Row(0)[0]))
		}
		for i := range w {
			lo := max(i-1, 0)
			copy(h.Row(from + i)[from+lo:from+w], x.H.Row(i)[lo:])
		}
		above, end := top, hi+1
		if t.Form {
			above, end = 0, h.Rows
		}
		t.update(from, x.Z, above, from, hi+1, end)
	}
	return last - done, w - last
}

// detect brings the eigenvalues of window x that are not negligible in the spike to its beginning, from row done on,
// and returns how many rows are before the negligible ones.
func (t *Iteration[T]) detect(x *Iteration[T], done int, spike float64) (last int) {
	last = x.H.Rows
	first := done
	for first < last {
		i := last - 1
		size, part, order := abs(x.H.Row(i)[i]), abs(x.Z.Row(i)[0]), 1
		if i > 0 && x.H.Row(i)[i-1] != 0 {
			size += math.Sqrt(abs(x.H.Row(i)[i-1])) * math.Sqrt(abs(x.H.Row(i - 1)[i]))
			part, order = max(part, abs(x.Z.Row(i - 1)[0])), 2
		}
		if size == 0 {
			size = math.Abs(spike)
		}
		if math.Abs(spike)*part <= max(t.tiny, t.eps*size) {
			last -= order
			continue
		}
		first, _ = x.move(i-order+1, first)
		first += order
	}
	return last
}

// sort sorts the eigenvalues of rows first to last−1 of a Schur form by magnitude, the largest one first: that is more
// accurate for graded matrices. Exchanges that fail leave some out of order.
func (t *Iteration[T]) sort(first, last int) {
	size := func(i int) float64 {
		s := abs(t.H.Row(i)[i])
		if t.order(i) == 2 {
			s += math.Sqrt(abs(t.H.Row(i + 1)[i])) * math.Sqrt(abs(t.H.Row(i)[i+1]))
		}
		return s
	}
	for end, sorted := last, false; !sorted && end > first; {
		sorted = true
		i := first
		for k := i + t.order(i); k < end; k = i + t.order(i) {
			if size(i) >= size(k) {
				i = k
				continue
			}
			sorted = false
			if next := t.order(k); t.exchange(i, t.order(i), next) {
				i += next
			} else {
				i = k
			}
		}
		end = i
	}
}

// restore makes the window a Hessenberg matrix again, whose spike has one element: it reflects the first n elements of
// the spike, and reduces the window.
func (t *Iteration[T]) restore(x *Iteration[T], n int) {
	w := x.H.Rows
	size := w + max(2*w, cpu.GehrdWork(w))
	if len(t.work) < size {
		t.work = make([]T, size)
	}
	tau, work := t.work[:w], t.work[w:]
	v := work[:n]
	for i := range v {
		v[i] = x.Z.Row(i)[0]
	}
	factor, _ := x.Kernels.Larfg(v)
	v[0] = 1
	x.apply(x.H, v, factor, 0, work[n:])
	for i := range n { // the others have zeros there
		row := x.H.Row(i)[:n]
		var s T
		for j, y := range v {
			s += y * row[j]
		}
		x.Kernels.Axpy(-factor*s, v, row)
	}
	x.apply(x.Z, v, factor, 0, work[n:])
	x.Kernels.Gehrd(w, 0, n-1, x.H.Data, x.H.Stride, tau, work)
	for i := range n - 1 {
		v := work[:n-i-1]
		v[0] = 1
		for j := 1; j < len(v); j++ {
			v[j] = x.H.Row(i + 1 + j)[i]
			x.H.Row(i + 1 + j)[i] = 0
		}
		x.apply(x.Z, v, tau[i], i+1, work[n:])
	}
}

// apply multiplies rows i to i+len(v)−1 of y by I − tau·v·vᵀ from the left. work has as many elements as y has columns.
func (t *Iteration[T]) apply(y tridiag.Matrix[T], v []T, tau T, i int, work []T) {
	s := work[:y.Cols]
	clear(s)
	for j, f := range v {
		t.Kernels.Axpy(f, y.Row(i+j), s)
	}
	for j, f := range v {
		t.Kernels.Axpy(-tau*f, s, y.Row(i+j))
	}
}
