package cpu

// operand is op(X): x with its leading dimension, transposed or not. If packed is
// not nil, it is the same as [Packed.PackA] or PackB leaves it.
type operand[T Element] struct {
	x      []T
	ld     int
	trans  bool
	packed []T
}

// from returns op(X) from row i and column j on, as the slice and the strides
// from row to row and from column to column.
func (o operand[T]) from(i, j int) (x []T, rs, cs int) {
	if o.trans {
		return o.x[j*o.ld+i:], 1, o.ld
	}
	return o.x[i*o.ld+j:], o.ld, 1
}
