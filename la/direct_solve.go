package la

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/op"
)

// regular reports whether the matrix with these factors and norms is not singular to working precision. If it is, the
// caller leaves the problem to the engine, which returns the error.
func (d *desk[T]) regular(f *factors[T], k norms) bool {
	if k.fine.Load() {
		return true
	}
	d.by, d.of, d.inverse.n, d.inverse.root = *f, k, f.n, nil
	power := 1.0
	if f.form == formCholesky {
		power, d.inverse.root = 2, d.root
	}
	if nearSingularBy[T](d.at, d.diagonal[:f.n], power, false, d.verdict) != nil {
		return false
	}
	k.fine.Store(true)
	return true
}

// solve is [desk.solve], without a desk for a vector of few elements.
func (f *factors[T]) solve(k norms, transposed bool, dst, b *memory[T]) bool {
	if f.n > op.LoopTrsv || b.rows != f.n || b.cols != 1 || !k.fine.Load() {
		d := takeDesk[T]()
		defer d.leave()
		return d.solve(f, k, transposed, dst, b)
	}
	var memory [op.LoopTrsv]T
	x := memory[:f.n]
	if !copyPlain(x, 1, b) {
		return false
	}
	f.divideVector(transposed, x)
	return deliverPlain(x, dst)
}

// solve writes the quotient of b by the factors f to dst. It returns false, and changes nothing, if an operand or the
// solution is not plain, or the matrix may be singular.
func (d *desk[T]) solve(f *factors[T], k norms, transposed bool, dst, b *memory[T]) bool {
	if b.rows != f.n || !d.regular(f, k) {
		return false
	}
	x, ok := d.right(b)
	if !ok {
		return false
	}
	d.divide(f, transposed, b.cols, x)
	return deliverPlain(x, dst)
}

// invertSymmetric writes A⁻¹ for the factor U of A = Uᵀ·U to the upper triangle of dst, or to the lower one. It returns
// false, and changes nothing, if an element is not plain, or A may be singular.
func (f *factors[T]) invertSymmetric(k norms, dst *memory[T], upper bool) bool {
	const few = 4 // rows, for which it takes no desk
	n := f.n
	if n <= few && k.fine.Load() {
		var memory [2 * few * few]T
		x := memory[:n*n]
		op.LoopPotri(n, f.a, f.ld, memory[few*few:], x, n)
		return deliverTriangle(x, dst, upper)
	}
	d := takeDesk[T]()
	defer d.leave()
	if !d.regular(f, k) {
		return false
	}
	d.f, d.t = atLeast(d.f, n*n), atLeast(d.t, n*n)
	x := d.t[:n*n]
	d.Potri(n, f.a, f.ld, d.f, x, n)
	return deliverTriangle(x, dst, upper)
}

// deliverTriangle copies the upper triangle of x, a matrix W·Wᵀ without gaps, to that of dst or, transposed, to the lower one,
// unless an element may not be finite: none is larger than those on the diagonal, but for rounding.
func deliverTriangle[T Element](x []T, dst *memory[T], upper bool) bool {
	n, s := dst.rows, T(0)
	for i := range n {
		s += 2 * x[i*n+i] * 0
	}
	if s != 0 { // or NaN
		return false
	}
	for i := range n {
		row := x[i*n+i : i*n+n]
		if upper {
			copy(dst.data[i*dst.stride+i:], row)
			continue
		}
		for j, v := range row {
			dst.data[(i+j)*dst.stride+i] = v
		}
	}
	return true
}

// allFinite reports whether x has neither a NaN nor an infinity. Its sums do not wait for one another.
func allFinite[T Element](x []T) bool {
	var s, t, u, v T
	for ; len(x) >= 4; x = x[4:] {
		s, t, u, v = s+x[0]*0, t+x[1]*0, u+x[2]*0, v+x[3]*0
	}
	for _, w := range x {
		s += w * 0
	}
	return s+t+(u+v) == 0 // and not NaN
}

// deliverPlain copies x, a matrix without gaps of at least the rows of dst, to dst, unless an element is not finite.
func deliverPlain[T Element](x []T, dst *memory[T]) bool {
	x = x[:dst.rows*dst.cols]
	if !allFinite(x) {
		return false
	}
	if dst.stride == dst.cols {
		copy(dst.data, x)
		return true
	}
	for i := range dst.rows {
		copy(dst.data[i*dst.stride:][:dst.cols], x[i*dst.cols:])
	}
	return true
}

// leastSquares writes the least-squares solution for b with Q and R of an m×n matrix, m ≥ n, in v, whose rows are ld
// apart, and t. k are the norms of R.
func (d *desk[T]) leastSquares(m, n, ib int, v []T, ld int, t []T, ldt int, k norms, dst, b *memory[T]) bool {
	f := factors[T]{form: formR, a: v, n: n, ld: ld}
	if b.rows != m || !d.regular(&f, k) {
		return false
	}
	x, ok := d.right(b)
	if !ok {
		return false
	}
	d.Unmqr(true, m, b.cols, n, ib, v, ld, t, ldt, x, b.cols)
	d.divide(&f, false, b.cols, x[:n*b.cols])
	return deliverPlain(x, dst)
}

// upperSums returns the sums of the columns of the upper triangle of order n.
func (d *desk[T]) upperSums(a []T, n, ld int) []float64 {
	sums := d.columns[:n]
	clear(sums)
	for i := range n {
		right := sums[i:]
		for j, v := range a[i*ld+i : i*ld+n] {
			right[j] += math.Abs(float64(v))
		}
	}
	return sums
}

// solveSystem solves the n×n system A·X = B by the method that A's elements call for, if that is Cholesky or LU. It
// returns MethodNone, and changes nothing, if it is another one or something is not plain. With symmetric, only the upper
// triangle of A is stored or, without upper, the lower one.
func (d *desk[T]) solveSystem(a memory[T], symmetric, upper bool, dst, b *memory[T]) Method {
	n := a.rows
	ld := alignedStride[T](n)
	d.f = matrixRoom(d.f, n*ld)
	f, method := factors[T]{form: formCholesky, a: d.f, n: n, ld: ld}, MethodCholesky
	triangular, mirrored := false, true
	if !symmetric {
		triangular, mirrored = structureOf(a)
	}
	for i := 0; i < n && mirrored; i++ {
		mirrored = a.data[i*a.stride+i] > 0
	}
	switch {
	case triangular || symmetric && !mirrored:
		return MethodNone
	case mirrored:
		if !d.loadUpper(d.f, ld, a, upper || !symmetric) || d.Potrf(n, d.f, ld) != 0 {
			return MethodNone
		}
	default:
		f.form, f.swaps, method = formLU, d.ipiv[:n], MethodLU
		if !d.load(d.f, ld, a) || d.Getrf(n, d.f, ld, f.swaps) != 0 {
			return MethodNone
		}
	}
	d.own.reset(d.columns[:n])
	if !d.solve(&f, d.own, false, dst, b) {
		return MethodNone
	}
	return method
}

// alignedStride returns the distance of rows of n elements with which each begins a line of the caches, as the first one
// does: a vector that is in two lines takes twice as long to come and to go. Rows shorter than a line stay together.
func alignedStride[T Element](n int) int {
	line := scalar.Pick[T](16, 8)
	if n < line {
		return n
	}
	return (n + line - 1) / line * line
}

// matrixRoom is atLeast for a matrix of n elements. Kernels write the last elements of a row with a mask, which may reach
// beyond the end of the matrix. If that is a page without memory, each such write takes the processor some hundred
// cycles (Zen 4).
func matrixRoom[T Element](x []T, n int) []T {
	const beyond = 16
	if len(x) < n+beyond {
		x = make([]T, n+beyond)
		x[n+beyond-1] = 0 // which gets it memory
	}
	return x
}

// structureOf reports whether all elements of a on one side of the diagonal are zero, and whether a is symmetric.
func structureOf[T Element](a memory[T]) (triangular, symmetric bool) {
	lower, upper, symmetric := true, true, true
	for i := range a.rows {
		for j, v := range a.data[i*a.stride:][:i] {
			w := a.data[j*a.stride+i]
			upper, lower, symmetric = upper && v == 0, lower && w == 0, symmetric && v == w
		}
		if !(lower || upper || symmetric) {
			break
		}
	}
	return lower || upper, symmetric
}

// solveTall solves the least-squares problem with the m×n matrix a, m ≥ n.
func (d *desk[T]) solveTall(a memory[T], dst, b *memory[T]) bool {
	m, n := a.rows, a.cols
	ld := alignedStride[T](n + b.cols)
	d.f, d.t = matrixRoom(d.f, m*ld), atLeast(d.t, n*n)
	if !d.load(d.f, ld, a) || b.rows != m || !copyPlain(d.f[n:], ld, b) {
		return false
	}
	d.Reduce(m, n, b.cols, d.f, ld, d.t)
	d.own.reset(d.upperSums(d.f, n, ld))
	f := factors[T]{form: formR, a: d.f, n: n, ld: ld}
	if !d.regular(&f, d.own) {
		return false
	}
	d.x = atLeast(d.x, n*b.cols)
	x := d.x[:n*b.cols]
	for i := range n {
		copy(x[i*b.cols:][:b.cols], d.f[i*ld+n:])
	}
	d.divide(&f, false, b.cols, x)
	return deliverPlain(x, dst)
}
