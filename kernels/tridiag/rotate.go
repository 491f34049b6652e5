package tridiag

import "github.com/tessera-la/tessera/internal/scalar"

// Matrix is a row-major matrix, Rows×Cols elements whose rows are Stride elements apart.
type Matrix[T scalar.Real] struct {
	Rows, Cols, Stride int
	Data               []T
}

// Row returns row i.
func (m *Matrix[T]) Row(i int) []T { return m.Data[i*m.Stride:][:m.Cols:m.Cols] }

// Block returns rows i to i+rows−1 of columns j to j+cols−1.
func (m *Matrix[T]) Block(i, j, rows, cols int) Matrix[T] {
	b := Matrix[T]{Rows: rows, Cols: cols, Stride: m.Stride}
	if rows > 0 && cols > 0 {
		b.Data = m.Data[i*m.Stride+j:]
	}
	return b
}

// Rotations rotates rows of q in turn. cs holds the cosine c and the sine s of each of k rotations. They make
//
//	x, y = c·x + s·y, c·y − s·x
//
// of rows first and first+step, then of rows first+step and first+2·step, and so on. step is 1 or −1.
//
// Reference: LAPACK xLASR with SIDE = 'L', PIVOT = 'V'.
type Rotations[T scalar.Real] func(q Matrix[T], first, step int, cs []T)

// Apply is f or, if that is nil, a loop.
func (f Rotations[T]) Apply(q Matrix[T], first, step int, cs []T) {
	switch {
	case len(cs) == 0 || q.Cols == 0:
	case f != nil:
		f(q, first, step, cs)
	default:
		for i := 0; i < len(cs); i += 2 {
			Rotate(q.Row(first), q.Row(first+step), cs[i], cs[i+1])
			first += step
		}
	}
}

// Rotate overwrites the vectors x and y, which have the same length, with c·x + s·y and c·y − s·x.
func Rotate[T scalar.Real](x, y []T, c, s T) {
	y = y[:len(x)]
	for i, a := range x {
		b := y[i]
		x[i], y[i] = c*a+s*b, c*b-s*a
	}
}
