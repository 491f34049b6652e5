package schur

import (
	"math"

	"github.com/tessera-la/tessera/kernels/tridiag"
)

const (
	// smallOrder is the largest order of blocks for the iteration with two shifts.
	smallOrder = 100
	// tinyOrder is the largest order of matrices for which nothing else is possible.
	tinyOrder = 15
	// nibble is how many percent of a window have to be deflated to do without the sweep.
	nibble = 14
	// After so many turns without a deflation the window changes, and the shifts are made up.
	turnsForWindow, turnsForShifts = 5, 6
)

// shifts returns the number of shifts of a sweep, and the order of windows of deflations, for an active block of order
// n. Narrower windows than LAPACK's for n below 2000 take off fewer eigenvalues, but no other unit has anything to do
// meanwhile.
func shifts(n int) (count, window int) {
	switch {
	case n < 30:
		return 2, 2
	case n < 60:
		return 4, 4
	case n < 150:
		return 10, 10
	case n < 590:
		count = max(10, int(float64(n)/math.Log2(float64(n)))) &^ 1
		return count, count
	case n < 2000:
		return 64, 64
	case n < 3000:
		return 64, 96
	}
	return 128, 192
}

// Run finds the eigenvalues of rows and columns lo to hi of H, which is upper triangular elsewhere. If the iteration does
// not converge, the error is a *tridiag.ConvergenceError, and those after row first−1 and before row lo have been found;
// first is 0 otherwise. Run asks Kernels.Stop between two sweeps whether to go on, and returns its error.
//
// Elements must be finite, and their squares must neither overflow nor underflow.
//
// Reference: LAPACK xHSEQR.
func (t *Iteration[T]) Run(lo, hi int) (first int, err error) {
	n := t.H.Rows
	for i := range n {
		if i < lo || i > hi {
			t.Re[i], t.Im[i] = t.H.Row(i)[i], 0
		}
	}
	if lo <= hi {
		first = t.iterate(lo, hi)
	}
	if stop := t.Kernels.Stop; stop != nil {
		if err := stop(); err != nil {
			return first, err
		}
	}
	if first > 0 {
		return first, &tridiag.ConvergenceError{Found: n - (first - lo), Order: n}
	}
	return 0, nil
}

// iterate is Run without the eigenvalues outside of rows lo to hi.
//
// Reference: LAPACK xLAQR0.
func (t *Iteration[T]) iterate(lo, hi int) (first int) {
	t.begin()
	if hi-lo < smallOrder {
		if first = t.small(lo, hi); first == 0 || t.H.Rows <= tinyOrder {
			return first
		}
		hi = first - 1 // what this iteration cannot do, the other one sometimes can
	}
	n := t.H.Rows
	count, wide := shifts(hi - lo + 1)
	count = max(2, min(count, (n-3)/6, hi-lo)&^1)
	wide = max(2, min(wide, (n-1)/3, hi-lo+1))
	widest := (n - 1) / 3
	if len(t.shiftRe) <= hi {
		t.shiftRe, t.shiftIm = make([]float64, hi+1), make([]float64, hi+1)
	}
	idle, shrink, w := 1, 0, 0 // turns since the last deflation, and by how much the window is smaller than its greatest order
	for turns := 0; hi >= lo; turns++ {
		if turns == 60*max(10, t.H.Rows) || t.Kernels.Stop != nil && t.Kernels.Stop() != nil {
			return hi + 1
		}
		top := hi
		for top > lo && t.H.Row(top)[top-1] != 0 {
			top--
		}
		// The window: all of the active block, if it may be; else the usual one or one more, so that a small element is
		// before it. If there is no progress, wider ones, and then narrower ones again.
		order := hi - top + 1
		limit := min(order, widest)
		if idle < turnsForWindow {
			w = min(limit, wide)
		} else {
			w = min(limit, 2*w)
		}
		if w < widest {
			if w >= order-1 {
				w = order
			} else if k := hi - w + 1; abs(t.H.Row(k)[k-1]) > abs(t.H.Row(k - 1)[k-2]) {
				w++
			}
		}
		if idle < turnsForWindow {
			shrink = -1
		} else if shrink >= 0 || w >= limit {
			shrink++
			if w-shrink < 2 {
				shrink = 0
			}
			w -= shrink
		}
		x := t.open(hi, w)
		left, gone := t.deflate(x, top, hi, x.iterate(0, w-1))
		hi -= gone
		if gone > 0 && (100*gone > w*nibble || hi-top+1 <= min(smallOrder, widest)) {
			idle = 1
			continue
		}
		s := min(count, max(2, hi-top)) &^ 1
		from := t.chooseShifts(top, hi, hi-left+1, s, idle%turnsForShifts == 0)
		s = min(s, hi-from+1) &^ 1
		t.sweep(top, hi, t.shiftRe[hi-s+1:hi+1], t.shiftIm[hi-s+1:hi+1])
		if gone > 0 {
			idle = 1
		} else {
			idle++
		}
	}
	return 0
}

// chooseShifts puts shifts before index hi+1 of shiftRe and shiftIm, pairs beside each other, and returns where they
// begin. Those from from on are there already. It makes up others if that is set, and takes the eigenvalues of the last
// rows of the active block if there are too few.
func (t *Iteration[T]) chooseShifts(top, hi, from, count int, madeUp bool) int {
	re, im := t.shiftRe, t.shiftIm
	if madeUp {
		from = hi - count + 1
		for i := hi; i > max(from, top+1); i -= 2 {
			size := abs(t.H.Row(i)[i-1]) + abs(t.H.Row(i - 1)[i-2])
			x, _, _ := standardize(block{0.75*size + float64(t.H.Row(i)[i]), size, -0.4375 * size, 0.75*size + float64(t.H.Row(i)[i])}, t.eps/2)
			re[i-1], im[i-1], re[i], im[i] = x.values()
		}
		if from == top {
			re[from+1], im[from+1] = float64(t.H.Row(from + 1)[from+1]), 0
			re[from], im[from] = re[from+1], 0
		}
	} else {
		if hi-from+1 <= count/2 {
			from = t.trailing(hi, count)
		}
		if hi-from+1 > count { // the smallest ones are better
			for sorted, k := false, hi; k > from && !sorted; k-- {
				sorted = true
				for i := from; i < k; i++ {
					if math.Abs(re[i])+math.Abs(im[i]) < math.Abs(re[i+1])+math.Abs(im[i+1]) {
						sorted = false
						re[i], re[i+1], im[i], im[i+1] = re[i+1], re[i], im[i+1], im[i]
					}
				}
			}
		}
		for i := hi; i > from+1; i -= 2 { // a real one between pairs moves to the next real one
			if im[i] != -im[i-1] {
				re[i], re[i-1], re[i-2] = re[i-1], re[i-2], re[i]
				im[i], im[i-1], im[i-2] = im[i-1], im[i-2], im[i]
			}
		}
	}
	if hi-from+1 == 2 && im[hi] == 0 { // of two real ones, that which is nearer
		d := float64(t.H.Row(hi)[hi])
		if math.Abs(re[hi]-d) < math.Abs(re[hi-1]-d) {
			re[hi-1] = re[hi]
		} else {
			re[hi] = re[hi-1]
		}
	}
	return from
}

// trailing makes shifts of the eigenvalues of the last count rows and columns of the active block, and returns where
// they begin.
func (t *Iteration[T]) trailing(hi, count int) (from int) {
	from = hi - count + 1
	x := t.window(count)
	for i := range count {
		copy(x.H.Row(i), t.H.Row(from + i)[from:hi+1])
	}
	x.Z.Rows, x.Form = 0, false
	from += x.small(0, count-1)
	for i := from; i <= hi; i++ {
		t.shiftRe[i], t.shiftIm[i] = float64(x.Re[i-hi+count-1]), float64(x.Im[i-hi+count-1])
	}
	if from >= hi {
		y, _, _ := standardize(t.block(hi-1), t.eps/2)
		from = hi - 1
		t.shiftRe[from], t.shiftIm[from], t.shiftRe[hi], t.shiftIm[hi] = y.values()
	}
	return from
}
