package schur

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/tridiag"
)

// sweep is a QR sweep of rows and columns top to hi with an even number of shifts, two for each bulge of a chain. Pairs
// of complex shifts are beside each other. The chain moves as far as it is long, within a window of twice its length;
// then all else is multiplied by what has been done there.
//
// Reference: LAPACK xLAQR5.
func (t *Iteration[T]) sweep(top, hi int, re, im []float64) {
	h := &t.H
	for i := 0; i+2 < len(re); i += 2 { // real shifts in pairs, too
		if im[i] != -im[i+1] {
			re[i], re[i+1], re[i+2] = re[i+1], re[i+2], re[i]
			im[i], im[i+1], im[i+2] = im[i+1], im[i+2], im[i]
		}
	}
	if top+2 <= hi {
		h.Row(top + 2)[top] = 0
	}
	bulges := len(re) / 2
	size := 4 * bulges
	if t.u.Stride < size+4 {
		t.u = tridiag.Matrix[T]{Stride: size + 4, Data: make([]T, size*(size+4))}
		t.bulges = make([]reflector, bulges)
	}
	u := tridiag.Matrix[T]{Rows: size, Cols: size, Stride: t.u.Stride, Data: t.u.Data}
	c := chain[T]{Iteration: t, top: top, hi: hi, re: re, im: im, u: u}
	for c.left = top - 2*bulges + 1; c.left <= hi-2; c.left += 2 * bulges {
		for i := range size {
			row := u.Row(i)
			clear(row)
			row[i] = 1
		}
		for at := c.left; at <= min(c.left+2*bulges-1, hi-2); at++ {
			c.advance(at)
		}
		// Rows and columns first to last−1 have changed, which are first−left−1 and so on of u.
		first, last := max(top, c.left+1), min(hi, c.left+size)+1
		above, end := top, hi+1
		if t.Form {
			above, end = 0, h.Rows
		}
		k := first - c.left - 1
		t.update(first, u.Block(k, k, last-first, last-first), above, max(top, c.left), last, end)
	}
}

// chain is a chain of bulges in a window of columns left+1 to left+size. Row i of u is that of column left+1+i.
type chain[T scalar.Real] struct {
	*Iteration[T]
	top, hi, left int
	re, im        []float64
	u             tridiag.Matrix[T]
}

// advance moves the chain by one column. Bulge m is in the columns after at+2·m, if that is in the active block.
func (c *chain[T]) advance(at int) {
	t, h := c.Iteration, &c.H
	bulges := len(c.re) / 2
	first := max(0, (c.top-at)/2)
	end := min(bulges, (c.hi-at-1)/2)
	right := min(c.hi, c.left+4*bulges) + 1 // the end of the window
	above := max(c.top, c.left)
	if k := at + 2*end; end < bulges && k == c.hi-2 {
		c.last(end, k, above, right)
	}
	for m := end - 1; m >= first; m-- {
		k := at + 2*m
		r := c.reflect(m, k)
		t.bulges[m] = r
		f := factors[T](r)
		columns3(h.Data[above*h.Stride+k+1:], h.Stride, min(c.hi, k+3)+1-above, f)
		// The next column, since the test below needs it. The others are for later.
		var x [3]T
		for i := range x {
			x[i] = h.Row(k + 1 + i)[k+1]
		}
		s := x[0] + f[0]*x[1] + f[1]*x[2]
		for i := range x {
			h.Row(k + 1 + i)[k+1] = x[i] - f[2+i]*s
		}
		if k >= c.top {
			c.test(k)
		}
	}
	for m := end - 1; m >= first; m-- {
		k := at + 2*m
		f := factors[T](t.bulges[m])
		if j := max(c.top, at+2*(m+1)); j < right {
			t.Kernels.Reflect(h.Row(k + 1)[j:right], h.Row(k + 2)[j:right], h.Row(k + 3)[j:right], f)
		}
		// Of what u has been before this window, these rows have only the elements that earlier steps have brought there.
		i := k - c.left
		lo, hi := max(0, c.top-c.left-1, i-(at-c.left)-1), min(c.u.Cols, at+2*(end-1)-c.left+5)
		t.Kernels.Reflect(c.u.Row(i)[lo:hi], c.u.Row(i + 1)[lo:hi], c.u.Row(i + 2)[lo:hi], f)
	}
}

// reflect returns the reflector that moves bulge m on to the columns after k, and clears column k.
func (c *chain[T]) reflect(m, k int) reflector {
	t, h := c.Iteration, &c.H
	re, im := c.re[2*m:], c.im[2*m:]
	if k == c.top-1 { // it comes into being
		r, _ := annihilate(t.firstColumn(k+1, 3, re, im))
		return r
	}
	// What the bulge's last reflector does in the row below it, where two elements are zero.
	row := h.Row(k + 3)[k : k+3]
	r := t.bulges[m]
	s := r.v2 * r.tau * float64(row[2])
	row[0], row[1], row[2] = T(-s), T(-s*r.v1), T(float64(row[2])-s*r.v2)
	x, y, z := h.Row(k + 1)[k], h.Row(k + 2)[k], row[0]
	r, beta := annihilate(float64(x), float64(y), float64(z))
	if row[0] == 0 && row[1] == 0 && row[2] != 0 {
		// The bulge has collapsed. Begin one anew with the same shifts, if its first column has next to nothing outside.
		v, _ := annihilate(t.firstColumn(k+1, 3, re, im))
		s := v.tau * (float64(x) + v.v1*float64(y))
		size := abs(h.Row(k)[k]) + abs(h.Row(k + 1)[k+1]) + abs(h.Row(k + 2)[k+2])
		if math.Abs(float64(y)-s*v.v1)+math.Abs(s*v.v2) <= t.eps*size {
			r, beta = v, float64(x)-s
		}
	}
	h.Row(k + 1)[k], h.Row(k + 2)[k], h.Row(k + 3)[k] = T(beta), 0, 0
	return r
}

// last is the bulge at the end of the active block, for which there are two rows, k+1 and k+2, and one column before them.
func (c *chain[T]) last(m, k, above, right int) {
	t, h := c.Iteration, &c.H
	var r reflector
	if k == c.top-1 {
		x, y, _ := t.firstColumn(k+1, 2, c.re[2*m:], c.im[2*m:])
		r, _ = annihilate(x, y, 0)
	} else {
		var beta float64
		r, beta = annihilate(float64(h.Row(k + 1)[k]), float64(h.Row(k + 2)[k]), 0)
		h.Row(k + 1)[k], h.Row(k + 2)[k] = T(beta), 0
	}
	f := factors[T](r)
	columns2(h.Data[above*h.Stride+k+1:], h.Stride, min(c.hi, k+3)+1-above, f)
	reflect2(h.Row(k + 1)[k+1:right], h.Row(k + 2)[k+1:right], f)
	if k >= c.top {
		c.test(k)
	}
	i := k - c.left
	lo := max(0, c.top-c.left-1)
	reflect2(c.u.Row(i)[lo:], c.u.Row(i + 1)[lo:], f)
}

// test sets the element below element (k, k) to zero if it is negligible.
func (c *chain[T]) test(k int) {
	t, h := c.Iteration, &c.H
	below := h.Row(k + 1)[k]
	if below == 0 {
		return
	}
	x, y := float64(h.Row(k)[k]), float64(h.Row(k + 1)[k+1])
	size := math.Abs(x) + math.Abs(y)
	if size == 0 {
		for d := 1; d <= 3; d++ {
			if k >= c.top+d {
				size += abs(h.Row(k)[k-d])
			}
			if k <= c.hi-1-d {
				size += abs(h.Row(k + 1 + d)[k+1])
			}
		}
	}
	if abs(below) <= max(t.tiny, t.eps*size) && t.decouples(abs(below), abs(h.Row(k)[k+1]), x, y) {
		h.Row(k + 1)[k] = 0
	}
}

// firstColumn returns a multiple of the first column of (H' − s1·I)·(H' − s2·I), where H' is n rows and columns from i
// on, and n is 2 or 3.
//
// Reference: LAPACK xLAQR1.
func (t *Iteration[T]) firstColumn(i, n int, re, im []float64) (v0, v1, v2 float64) {
	at := func(r, c int) float64 { return float64(t.H.Row(i + r)[i+c]) }
	h21, h31 := at(1, 0), 0.0
	if n == 3 {
		h31 = at(2, 0)
	}
	s := math.Abs(at(0, 0)-re[1]) + math.Abs(im[1]) + math.Abs(h21) + math.Abs(h31)
	if s == 0 {
		return 0, 0, 0
	}
	a, b := h21/s, h31/s
	v0 = (at(0, 0)-re[0])*((at(0, 0)-re[1])/s) - im[0]*(im[1]/s) + at(0, 1)*a
	v1 = a * (at(0, 0) + at(1, 1) - re[0] - re[1])
	if n == 3 {
		v0 += at(0, 2) * b
		v1 += at(1, 2) * b
		v2 = b*(at(0, 0)+at(2, 2)-re[0]-re[1]) + a*at(2, 1)
	}
	return v0, v1, v2
}
