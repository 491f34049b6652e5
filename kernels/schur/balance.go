package schur

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/tridiag"
)

// Balance is what balancing has done to a matrix. Rows and columns Lo to Hi are left: the eigenvalues outside of them are on
// the diagonal.
type Balance[T scalar.Real] struct {
	Lo, Hi int
	// Scale has the powers of two by which columns Lo to Hi have been multiplied, and rows divided, and for other rows
	// the one that each has been exchanged with.
	Scale []T
}

// NewBalance permutes the square matrix a so that it is upper triangular outside of rows and columns Lo to Hi, and
// scales these so that a row and a column with the same index have norms of about the same size. scale has as many
// elements as a has rows.
//
// Reference: LAPACK xGEBAL; James, Langou and Lowery, On matrix balancing and eigenvector computation (2014).
func NewBalance[T scalar.Real](a tridiag.Matrix[T], scale []T) Balance[T] {
	b := Balance[T]{0, a.Rows - 1, scale}
	for i := 0; i >= 0 && b.Hi >= 0; {
		if i = b.isolatedRow(a); i >= 0 {
			b.exchange(a, i, b.Hi)
			b.Hi--
		}
	}
	for j := 0; j >= 0 && b.Lo < b.Hi; {
		if j = b.isolatedColumn(a); j >= 0 {
			b.exchange(a, j, b.Lo)
			b.Lo++
		}
	}
	if b.Hi < b.Lo { // A is triangular
		b.Lo, b.Hi = 0, min(0, a.Rows-1)
		if a.Rows > 0 {
			scale[0] = 1
		}
		return b
	}
	for i := b.Lo; i <= b.Hi; i++ {
		scale[i] = 1
	}
	for again := true; again; {
		again = false
		for i := b.Lo; i <= b.Hi; i++ {
			again = b.scaleAt(a, i) || again
		}
	}
	return b
}

// isolatedRow returns the last row that has no element off the diagonal in the columns that are left, or −1.
func (b *Balance[T]) isolatedRow(a tridiag.Matrix[T]) int {
	for i := b.Hi; i >= 0; i-- {
		found := true
		for j, x := range a.Row(i)[:b.Hi+1] {
			if x != 0 && j != i {
				found = false
				break
			}
		}
		if found {
			return i
		}
	}
	return -1
}

// isolatedColumn returns the first column that has no element off the diagonal in the rows that are left, or −1.
func (b *Balance[T]) isolatedColumn(a tridiag.Matrix[T]) int {
	for j := b.Lo; j <= b.Hi; j++ {
		found := true
		for i := b.Lo; i <= b.Hi && found; i++ {
			found = i == j || a.Row(i)[j] == 0
		}
		if found {
			return j
		}
	}
	return -1
}

// exchange exchanges rows and columns i and to.
func (b *Balance[T]) exchange(a tridiag.Matrix[T], i, to int) {
	b.Scale[to] = T(i)
	if i == to {
		return
	}
	for r := range b.Hi + 1 {
		row := a.Row(r)
		row[i], row[to] = row[to], row[i]
	}
	tridiag.Swap(a.Row(i)[b.Lo:], a.Row(to)[b.Lo:])
}

// scaleAt scales row and column i, and reports whether it has.
func (b *Balance[T]) scaleAt(a tridiag.Matrix[T], i int) bool {
	least := scalar.SafeMin[T]() / (2 * scalar.Eps[T]())
	most := 1 / least
	var sumC, sumR, topC, topR float64
	for r := range b.Hi + 1 {
		x := abs(a.Data[r*a.Stride+i])
		topC = max(topC, x)
		if r >= b.Lo {
			sumC += x * x
		}
	}
	for c, v := range a.Row(i)[b.Lo:] {
		x := abs(v)
		topR = max(topR, x)
		if b.Lo+c <= b.Hi {
			sumR += x * x
		}
	}
	c, r := math.Sqrt(sumC), math.Sqrt(sumR)
	if c == 0 || r == 0 {
		return false
	}
	f, sum := 1.0, c+r
	for c < r/2 && max(f, c, topC) < most/2 && min(r, topR) > 4*least {
		f, c, topC, r, topR = 2*f, 2*c, 2*topC, r/2, topR/2
	}
	for c/2 >= r && max(r, topR) < most/2 && min(f, c, topC) > 4*least {
		f, c, topC, r, topR = f/2, c/2, topC/2, 2*r, 2*topR
	}
	by := float64(b.Scale[i])
	if c+r >= 0.95*sum || f < 1 && by < 1 && f*by <= least || f > 1 && by > 1 && by >= most/f {
		return false
	}
	b.Scale[i] *= T(f)
	for j, x := range a.Row(i)[b.Lo:] {
		a.Row(i)[b.Lo+j] = x * T(1/f)
	}
	for r := range b.Hi + 1 {
		a.Row(r)[i] *= T(f)
	}
	return true
}

// Back makes an eigenvector of the original matrix of one of the balanced matrix, a right or a left one.
//
// Reference: LAPACK xGEBAK.
func (b *Balance[T]) Back(v []T, left bool) {
	if b.Lo < b.Hi {
		for i, s := range b.Scale[b.Lo : b.Hi+1] {
			if left {
				s = 1 / s
			}
			v[b.Lo+i] *= s
		}
	}
	swap := func(i int) {
		k := int(b.Scale[i])
		v[i], v[k] = v[k], v[i]
	}
	for i := b.Lo - 1; i >= 0; i-- {
		swap(i)
	}
	for i := b.Hi + 1; i < len(v); i++ {
		swap(i)
	}
}
