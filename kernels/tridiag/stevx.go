package tridiag

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
)

// Constants of [Stevx].
const (
	steinGap        = 1000 // times ε·‖T‖: vectors of values that are closer depend on more than their own values
	steinTurns      = 5    // solutions for a vector, but for the first one; one is enough as a rule
	steinPart       = 4    // vectors that one part computes
	factorRows      = 5    // of n elements, for the factors of T − λ·I
	orthogonalTurns = 4    // corrections of all vectors; one is enough as a rule
	orthogonalPart  = 48   // vectors that one part corrects
)

// Stevx is [Stedc] for few of the eigenvectors: all eigenvalues by [Values], and the chosen vectors by inverse iteration,
// some n operations each,
//
//	(T − λ·I)·y = x, x = y/‖y‖
//
// which are then made orthogonal all together. The vectors of well separated values need little of that: those of λ and μ
// that rounding leaves have a product of some ε·‖T‖/|λ−μ|. If two values are closer than 1000·ε·‖T‖, or vectors do not become
// what they should, Stevx is Stedc, which takes all its time again. So choose is called once or twice.
//
// References: LAPACK xSTEVX and xSTEIN; Jessup and Ipsen, Improving the accuracy of inverse iteration (1992). Making
// vectors orthogonal: Löwdin, On the non-orthogonality problem (1950), by Newton's iteration.
func Stevx[T scalar.Real](d, e []T, q Matrix[T], work []T, tools Tools[T], crew Crew[T], choose Choice[T]) error {
	n := len(d)
	if n <= Leaf {
		return Stedc(d, e, q, work, tools, crew, choose)
	}
	kept := make([]T, 2*n)
	t := scaled[T]{d: kept[:n], e: kept[n : 2*n-1]}
	copy(t.d, d)
	copy(t.e, e)
	if err := Values(d, e, work, tools, crew); err != nil {
		return err
	}
	first, last := choose(d)
	scale := ScaleFor(t.d, t.e, 1)
	Multiply(t.d, scale)
	Multiply(t.e, scale)
	v := q.Block(0, 0, last-first, n)
	if n*v.Rows+v.Rows*(n+v.Rows) <= len(work) && t.separate(d[first:last], scale) && t.vectors(d[first:last], scale, v, crew) && orthogonal(v, work, tools, crew) {
		return nil
	}
	Multiply(t.d, 1/scale)
	Multiply(t.e, 1/scale)
	copy(d, t.d)
	copy(e, t.e)
	return Stedc(d, e, q, work, tools, crew, choose)
}

// Count returns how many eigenvalues of T are less than x: the number of negative pivots of T − x·I = L·D·Lᵀ. Squares of
// the elements neither overflow nor underflow.
//
// Reference: LAPACK xLAEBZ.
func Count[T scalar.Real](d, e []T, x T) (count int) {
	least := T(scalar.SafeMin[T]())
	for _, y := range e {
		least = max(least, T(scalar.SafeMin[T]())*y*y)
	}
	pivot := T(1)
	for i, y := range d {
		square := T(0)
		if i > 0 {
			square = e[i-1] * e[i-1]
		}
		if pivot = y - x - square/pivot; abs(pivot) <= least {
			pivot = -least
		}
		if pivot < 0 {
			count++
		}
	}
	return count
}

// scaled is T times a power of two, so that its largest element is about 1.
type scaled[T scalar.Real] struct{ d, e []T }

// separate says whether all of values, times scale, are separate, and T is not denormal.
func (t scaled[T]) separate(values []T, scale T) bool {
	if ScaleFor(t.d, t.e, 1) != 1 {
		return false
	}
	for i := 1; i < len(values); i++ {
		if !((values[i]-values[i-1])*scale > T(steinGap*scalar.Eps[T]())) {
			return false
		}
	}
	return true
}

// vectors sets the rows of v to the eigenvectors of values, times scale. It returns false if one of them is not found.
func (t scaled[T]) vectors(values []T, scale T, v Matrix[T], crew Crew[T]) bool {
	parts := (len(values) + steinPart - 1) / steinPart
	found := make([]bool, parts)
	crew(parts, factorRows*v.Cols, func(part, _ int, work []T) {
		found[part] = true
		for i := part * steinPart; i < min((part+1)*steinPart, len(values)) && found[part]; i++ {
			found[part] = t.vector(values[i]*scale, uint32(i), v.Row(i), work)
		}
	})
	for _, ok := range found {
		if !ok {
			return false
		}
	}
	return true
}

// vector sets x to the eigenvector of value. seed decides with which vector it begins. It returns false if the residual does not
// become small. work holds factorRows·n elements.
func (t scaled[T]) vector(value T, seed uint32, x, work []T) bool {
	n := len(x)
	f := factorsOf(t, value, work)
	for i := range x {
		seed = seed*1664525 + 1013904223
		x[i] = T(int32(seed)) * 0x1p-31
	}
	f.backward(x)
	small := math.Sqrt(float64(n)) * 4 * scalar.Eps[T]()
	for range steinTurns {
		if !normalize(x) {
			return false
		}
		f.forward(x)
		f.backward(x)
		if !normalize(x) {
			return false
		}
		if t.residual(value, x) <= small {
			return true
		}
	}
	return false
}

// normalize divides x by its norm. It returns false if elements are not finite.
func normalize[T scalar.Real](x []T) bool {
	most := T(0)
	for _, y := range x {
		most = max(most, abs(y)) // NaN if one is
	}
	if !(most > 0) || math.IsInf(float64(most), 0) {
		return false
	}
	sum := T(0)
	for i, y := range x {
		y /= most
		x[i] = y
		sum += y * y
	}
	Multiply(x, 1/T(math.Sqrt(float64(sum))))
	return true
}

// residual returns the norm of T·x − value·x.
func (t scaled[T]) residual(value T, x []T) float64 {
	n, sum := len(x), 0.0
	for i, y := range x {
		r := (t.d[i] - value) * y
		if i > 0 {
			r += t.e[i-1] * x[i-1]
		}
		if i < n-1 {
			r += t.e[i] * x[i+1]
		}
		sum += float64(r) * float64(r)
	}
	return math.Sqrt(sum)
}

// tridiagonalLU is P·L·U = T − λ·I. U has three diagonals, the reciprocals of the first one; L has one multiplier each
// column, whose row was exchanged with the next one if swapped is not 0.
type tridiagonalLU[T scalar.Real] struct{ inverse, second, third, multipliers, swapped []T }

// factorsOf returns the factors of t − value·I, of order 2 or more, in work. Pivots that are less than ε are ε.
//
// Reference: LAPACK xGTTRF, xLAGTF.
func factorsOf[T scalar.Real](t scaled[T], value T, work []T) (f tridiagonalLU[T]) {
	n := len(t.d)
	for i, x := range []*[]T{&f.inverse, &f.second, &f.third, &f.multipliers, &f.swapped} {
		*x = work[i*n:][:n:n]
	}
	eps := T(scalar.Eps[T]())
	pivot, beside := t.d[0]-value, t.e[0]
	for i := range n {
		var below, diagonal, right T // of the next row
		if i < n-1 {
			below, diagonal = t.e[i], t.d[i+1]-value
		}
		if i < n-2 {
			right = t.e[i+1]
		}
		largest, swap := pivot, abs(pivot) < abs(below)
		if swap {
			largest = below
		}
		if abs(largest) < eps {
			largest = sign(eps, largest)
		}
		inverse := 1 / largest
		if f.inverse[i] = inverse; swap {
			m := pivot * inverse
			f.second[i], f.third[i], f.multipliers[i], f.swapped[i] = diagonal, right, m, 1
			pivot, beside = beside-m*diagonal, -m*right
			continue
		}
		m := below * inverse
		f.second[i], f.third[i], f.multipliers[i], f.swapped[i] = beside, 0, m, 0
		pivot, beside = diagonal-m*beside, right
	}
	return f
}

// forward overwrites x with the solution of P·L·y = x.
func (f tridiagonalLU[T]) forward(x []T) {
	for i, m := range f.multipliers[:len(x)-1] {
		if f.swapped[i] != 0 {
			x[i], x[i+1] = x[i+1], x[i]
		}
		x[i+1] -= m * x[i]
	}
}

// backward overwrites x with the solution of U·y = x.
func (f tridiagonalLU[T]) backward(x []T) {
	one, two := T(0), T(0)
	for i := len(x) - 1; i >= 0; i-- {
		x[i] = (x[i] - f.second[i]*one - f.third[i]*two) * f.inverse[i]
		one, two = x[i], one
	}
}

// orthogonal makes rows of v, which are nearly so, orthonormal: V − ½·(V·Vᵀ − I)·V is so but for the square of what V
// lacks. A row gets a part of another one that is in proportion to their product, so little of one with another eigenvalue.
// orthogonal returns false if the rows are not nearly orthonormal. work holds v twice, and as many elements as rows·rows.
func orthogonal[T scalar.Real](v Matrix[T], work []T, tools Tools[T], crew Crew[T]) bool {
	k, n := v.Rows, v.Cols
	if k == 0 {
		return true
	}
	gram := Matrix[T]{Rows: k, Cols: k, Stride: k, Data: work[:k*k]}
	columns, change := work[k*k:][:n*k], work[k*k+n*k:][:n*k]
	parts := (k + orthogonalPart - 1) / orthogonalPart
	lacks := make([]float64, parts)
	inParts := func(work int, do func(part, lo, rows int, work []T)) {
		crew(parts, work, func(part, _ int, work []T) {
			lo := part * orthogonalPart
			do(part, lo, min(orthogonalPart, k-lo), work)
		})
	}
	for range orthogonalTurns {
		InChunks(n, crew, func(lo, hi int) {
			for j := lo; j < hi; j++ {
				for i := range k {
					columns[j*k+i] = v.Data[i*v.Stride+j]
				}
			}
		})
		inParts(tools.Work(n), func(part, lo, rows int, work []T) {
			tools.Mul(rows, k, n, v.Data[lo*v.Stride:], v.Stride, columns, k, gram.Data[lo*k:], k, work)
			lacks[part] = 0
			for i := lo; i < lo+rows; i++ {
				gram.Row(i)[i]--
				sum := 0.0
				for j, x := range gram.Row(i) {
					sum += math.Abs(float64(x))
					gram.Row(i)[j] = x / 2
				}
				lacks[part] = max(lacks[part], sum)
			}
		})
		lack := 0.0
		for _, x := range lacks {
			lack = max(lack, x) // NaN if one is
		}
		if !(lack < 0.1) {
			return false
		}
		inParts(tools.Work(n), func(_, lo, rows int, work []T) {
			tools.Mul(rows, n, k, gram.Data[lo*k:], k, v.Data, v.Stride, change[lo*n:], n, work)
		})
		inParts(0, func(_, lo, rows int, _ []T) {
			for i := lo; i < lo+rows; i++ {
				x := v.Row(i)
				for j, y := range change[i*n:][:n] {
					x[j] -= y
				}
			}
		})
		if lack*lack <= scalar.Eps[T]() {
			return true
		}
	}
	return false
}
