package schur

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
)

// small finds the eigenvalues of rows and columns lo to hi of H by the iteration with two shifts. If it does not
// converge, those from row first on have been found; first is 0 otherwise.
//
// Reference: LAPACK xLAHQR.
func (t *Iteration[T]) small(lo, hi int) (first int) {
	h := &t.H
	for j := lo; j+2 <= hi; j++ {
		for i := j + 2; i <= min(j+3, hi); i++ {
			h.Row(i)[j] = 0
		}
	}
	limit := 30 * max(10, hi-lo+1)
	idle := 0
	for i := hi; i >= lo; {
		l := lo
		turn := 0
		for ; turn <= limit; turn++ {
			l = t.split(lo, l, i, hi)
			if l > lo {
				h.Row(l)[l-1] = 0
			}
			if l >= i-1 {
				break
			}
			idle++
			from, to := l, i+1 // the rows and columns of H that change
			if t.Form {
				from, to = 0, h.Rows
			}
			t.step(l, i, from, to, idle)
		}
		if turn > limit {
			return i + 1
		}
		if l == i {
			t.Re[i], t.Im[i] = h.Row(i)[i], 0
		} else {
			t.standardizeAt(l)
		}
		idle = 0
		i = l - 1
	}
	return 0
}

// standardizeAt makes the block whose first row is i one of a Schur form, and stores its eigenvalues.
func (t *Iteration[T]) standardizeAt(i int) {
	x, c, s := standardize(t.block(i), t.eps/2)
	t.setBlock(i, x)
	if t.Form {
		t.rotate(i, i+2, i, T(c), T(s))
	}
	if t.Z.Rows > 0 {
		t.Kernels.Rot(t.Z.Row(i)[t.ZLo:t.ZHi], t.Z.Row(i + 1)[t.ZLo:t.ZHi], T(c), T(s))
	}
	re1, im1, re2, im2 := x.values()
	t.Re[i], t.Im[i], t.Re[i+1], t.Im[i+1] = T(re1), T(im1), T(re2), T(im2)
}

// rotate rotates rows i and i+1 of H from column right on, and columns i and i+1 before row above.
func (t *Iteration[T]) rotate(i, right, above int, c, s T) {
	t.Kernels.Rot(t.H.Row(i)[right:], t.H.Row(i + 1)[right:], c, s)
	for j := range above {
		x := t.H.Data[j*t.H.Stride+i:][:2]
		x[0], x[1] = c*x[0]+s*x[1], c*x[1]-s*x[0]
	}
}

// split returns the first row of the last block of rows l to i that does not come apart. lo and hi are the first and
// last row of all.
//
// Reference: Ahues and Tisseur, A new deflation criterion for the QR algorithm (LAWN 122, 1997).
func (t *Iteration[T]) split(lo, l, i, hi int) int {
	h := &t.H
	for k := i; k > l; k-- {
		below := abs(h.Row(k)[k-1])
		if below <= t.tiny {
			return k
		}
		x, y := float64(h.Row(k - 1)[k-1]), float64(h.Row(k)[k])
		size := math.Abs(x) + math.Abs(y)
		if size == 0 {
			if k-2 >= lo {
				size += abs(h.Row(k - 1)[k-2])
			}
			if k+1 <= hi {
				size += abs(h.Row(k + 1)[k])
			}
		}
		if below <= t.eps*size && t.decouples(below, abs(h.Row(k - 1)[k]), x, y) {
			return k
		}
	}
	return l
}

// decouples reports whether the elements off the diagonal of a block of order 2 whose diagonal is x and y are so small
// that the lower one counts as zero.
func (t *Iteration[T]) decouples(lower, upper, x, y float64) bool {
	ab, ba := max(lower, upper), min(lower, upper)
	aa, bb := max(math.Abs(y), math.Abs(x-y)), min(math.Abs(y), math.Abs(x-y))
	s := aa + ab
	return ba*(ab/s) <= max(t.tiny, t.eps*(bb*(aa/s)))
}

// step is one turn of the iteration for rows and columns l to i, applied to rows from and columns to to−1.
func (t *Iteration[T]) step(l, i, from, to, idle int) {
	h := &t.H
	var x block
	switch at := func(r, c int) float64 { return float64(h.Row(r)[c]) }; {
	case idle%20 == 0: // exceptional shifts
		s := abs(h.Row(i)[i-1]) + abs(h.Row(i - 1)[i-2])
		d := 0.75*s + at(i, i)
		x = block{d, -0.4375 * s, s, d}
	case idle%10 == 0:
		s := abs(h.Row(l + 1)[l]) + abs(h.Row(l + 2)[l+1])
		d := 0.75*s + at(l, l)
		x = block{d, -0.4375 * s, s, d}
	default:
		x = t.block(i - 1)
	}
	re1, im1, re2, im2 := shiftsOf(x)

	// Begin where two small elements below the diagonal follow each other.
	m := i - 2
	var v0, v1, v2 float64
	for ; ; m-- {
		a, b := h.Row(m)[m:], h.Row(m + 1)[m:]
		h11, h12, h21, h22 := float64(a[0]), float64(a[1]), float64(b[0]), float64(b[1])
		s := math.Abs(h11-re2) + math.Abs(im2) + math.Abs(h21)
		scaled := h21 / s
		v0 = scaled*h12 + (h11-re1)*((h11-re2)/s) - im1*(im2/s)
		v1 = scaled * (h11 + h22 - re1 - re2)
		v2 = scaled * float64(h.Row(m + 2)[m+1])
		s = math.Abs(v0) + math.Abs(v1) + math.Abs(v2)
		v0, v1, v2 = v0/s, v1/s, v2/s
		if m == l {
			break
		}
		around := abs(h.Row(m - 1)[m-1]) + math.Abs(h11) + math.Abs(h22)
		if abs(h.Row(m)[m-1])*(math.Abs(v1)+math.Abs(v2)) <= t.eps*math.Abs(v0)*around {
			break
		}
	}
	for k := m; k < i; k++ {
		last := k+1 == i // two rows are left
		if k > m {
			v0, v1, v2 = float64(h.Row(k)[k-1]), float64(h.Row(k + 1)[k-1]), 0
			if !last {
				v2 = float64(h.Row(k + 2)[k-1])
			}
		}
		r, beta := annihilate(v0, v1, v2)
		if k > m {
			h.Row(k)[k-1], h.Row(k + 1)[k-1] = T(beta), 0
			if !last {
				h.Row(k + 2)[k-1] = 0
			}
		} else if m > l {
			// Not −h: that would be wrong if v1 and v2 underflow.
			h.Row(k)[k-1] *= T(1 - r.tau)
		}
		f := factors[T](r)
		if last {
			reflect2(h.Row(k)[k:to], h.Row(k + 1)[k:to], f)
			columns2(h.Data[from*h.Stride+k:], h.Stride, i+1-from, f)
			if t.Z.Rows > 0 {
				reflect2(t.Z.Row(k)[t.ZLo:t.ZHi], t.Z.Row(k + 1)[t.ZLo:t.ZHi], f)
			}
			continue
		}
		t.Kernels.Reflect(h.Row(k)[k:to], h.Row(k + 1)[k:to], h.Row(k + 2)[k:to], f)
		columns3(h.Data[from*h.Stride+k:], h.Stride, min(k+3, i)+1-from, f)
		if t.Z.Rows > 0 {
			t.Kernels.Reflect(t.Z.Row(k)[t.ZLo:t.ZHi], t.Z.Row(k + 1)[t.ZLo:t.ZHi], t.Z.Row(k + 2)[t.ZLo:t.ZHi], f)
		}
	}
}

// shiftsOf returns two shifts, the eigenvalues of x: if they are real, twice the one that is nearer to x.d.
func shiftsOf(x block) (re1, im1, re2, im2 float64) {
	s := math.Abs(x.a) + math.Abs(x.b) + math.Abs(x.c) + math.Abs(x.d)
	if s == 0 {
		return 0, 0, 0, 0
	}
	x = block{x.a / s, x.b / s, x.c / s, x.d / s}
	mean := (x.a + x.d) / 2
	det := (x.a-mean)*(x.d-mean) - x.b*x.c
	root := math.Sqrt(math.Abs(det))
	if det >= 0 { // a pair
		return mean * s, root * s, mean * s, -root * s
	}
	re1, re2 = mean+root, mean-root
	if math.Abs(re1-x.d) > math.Abs(re2-x.d) {
		re1 = re2
	}
	return re1 * s, 0, re1 * s, 0
}

// reflect2 is [cpu.Hessenberg.Reflect] for two rows.
func reflect2[T scalar.Real](x, y []T, f *[5]T) {
	y = y[:len(x)]
	for i, a := range x {
		s := a + f[0]*y[i]
		x[i], y[i] = a-f[2]*s, y[i]-f[3]*s
	}
}

// columns2 applies a reflector to the first two columns of n rows, which are ld elements apart.
func columns2[T scalar.Real](x []T, ld, n int, f *[5]T) {
	for i := range n {
		r := x[i*ld:][:2]
		s := r[0] + f[0]*r[1]
		r[0], r[1] = r[0]-f[2]*s, r[1]-f[3]*s
	}
}

// columns3 applies a reflector to the first three columns of n rows, which are ld elements apart.
func columns3[T scalar.Real](x []T, ld, n int, f *[5]T) {
	f0, f1, f2, f3, f4 := f[0], f[1], f[2], f[3], f[4]
	for i := range n {
		r := x[i*ld:][:3]
		s := r[0] + f0*r[1] + f1*r[2]
		r[0], r[1], r[2] = r[0]-f2*s, r[1]-f3*s, r[2]-f4*s
	}
}
