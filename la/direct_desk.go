package la

import (
	"math"
	"math/bits"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// desk is what direct computations need: routines, and memory between calls. One goroutine uses it at a time.
type desk[T Element] struct {
	*op.Small[T]
	x        []T       // right-hand sides, and what becomes of them
	f, t     []T       // factors that no value keeps
	ipiv     []int     // their interchanges
	columns  []float64 // sums of columns
	diagonal []float64
	top      float64 // the largest magnitude that load has met
	vector   []T
	own      norms // of a matrix whose factors no value keeps
	spectral op.Spectral[T]

	triangles *substitution[T] // of [substituteVector], with its one vector
	one       [1][]T

	by      factors[T] // what inverse divides by
	of      norms      // of that
	inverse inverse
	root    func(x ...[]float64) error
	at      func(i, j int) float64
	verdict func() error
}

// factors are those of a matrix of order n in memory.
type factors[T Element] struct {
	form  factorForm
	a     []T // the triangles
	n, ld int
	swaps []int // of LU
}

// factorForm is what is in the memory of factors.
type factorForm uint8

const (
	formCholesky factorForm = iota // U of UᵀU
	formLU                         // L and U of PLU
	formR                          // R alone
)

// divide overwrites the n×nrhs X, which has no gaps, with its quotient by the factors f: A⁻¹·X, or A⁻ᵀ·X.
func (d *desk[T]) divide(f *factors[T], transposed bool, nrhs int, x []T) {
	n := f.n
	switch {
	case nrhs == 1 && n <= op.LoopTrsv:
		f.divideVector(transposed, x)
	case f.form == formCholesky:
		d.Trsm(false, true, false, n, nrhs, f.a, f.ld, x, nrhs)
		d.Trsm(false, false, false, n, nrhs, f.a, f.ld, x, nrhs)
	case f.form == formR:
		d.Trsm(false, transposed, false, n, nrhs, f.a, f.ld, x, nrhs)
	case !transposed:
		for i, r := range f.swaps {
			swapRows(x, nrhs, i, r)
		}
		d.Trsm(true, false, true, n, nrhs, f.a, f.ld, x, nrhs)
		d.Trsm(false, false, false, n, nrhs, f.a, f.ld, x, nrhs)
	default:
		d.Trsm(false, true, false, n, nrhs, f.a, f.ld, x, nrhs)
		d.Trsm(true, true, true, n, nrhs, f.a, f.ld, x, nrhs)
		for i := n - 1; i >= 0; i-- {
			swapRows(x, nrhs, i, f.swaps[i])
		}
	}
}

// divideVector is divide of a vector of up to op.LoopTrsv elements.
func (f *factors[T]) divideVector(transposed bool, x []T) {
	switch {
	case f.form == formCholesky:
		op.SmallTrsv(false, true, false, f.a, f.ld, x)
		op.SmallTrsv(false, false, false, f.a, f.ld, x)
	case f.form == formR:
		op.SmallTrsv(false, transposed, false, f.a, f.ld, x)
	case !transposed:
		exchange(x, f.swaps)
		op.SmallTrsv(true, false, true, f.a, f.ld, x)
		op.SmallTrsv(false, false, false, f.a, f.ld, x)
	default:
		op.SmallTrsv(false, true, false, f.a, f.ld, x)
		op.SmallTrsv(true, true, true, f.a, f.ld, x)
		exchangeBack(x, f.swaps)
	}
}

// swapRows exchanges rows i and r of a matrix of n columns without gaps.
func swapRows[T Element](x []T, n, i, r int) {
	if i == r {
		return
	}
	a, b := x[i*n:i*n+n], x[r*n:r*n+n]
	for j, v := range a {
		a[j], b[j] = b[j], v
	}
}

// eachVector overwrites the vectors with their quotients by d.by.
func (d *desk[T]) eachVector(vectors [][]float64, transposed bool) error {
	for _, x := range vectors {
		v := d.enter(x)
		d.divide(&d.by, transposed, 1, v)
		d.back(x, v)
	}
	return nil
}

// enter returns x in T, which is a copy unless T is float64; back brings that back.
func (d *desk[T]) enter(x []float64) []T {
	if same, ok := any(&x).(*[]T); ok {
		return *same
	}
	for i, v := range x {
		d.vector[i] = T(v)
	}
	return d.vector[:len(x)]
}

func (d *desk[T]) back(x []float64, v []T) {
	if _, same := any(&x).(*[]T); same {
		return
	}
	for i, v := range v {
		x[i] = float64(v)
	}
}

// atLeast returns x if it has n elements, or a new slice.
func atLeast[T any](x []T, n int) []T {
	if len(x) < n {
		return make([]T, n)
	}
	return x
}

// memory is a matrix in row-major memory, with at least one element: element (i, j) is data[i*stride+j].
type memory[T Element] struct {
	rows, cols, stride int
	data               []T
}

// of makes m the memory of a matrix, which is no copy. It returns false if that is not known or too short.
//
// It and its like write the fields of m one by one, and their callers hand m on by its address: a copy of a structure that
// has just been written field by field waits for the fields.
func (m *memory[T]) of(a Source[T]) bool {
	switch a := any(a).(type) {
	case *mat.Dense:
		return m.ofDense(a)
	case *mat.VecDense:
		return m.ofVecDense(a)
	case General[T]:
		m.rows, m.cols, m.stride, m.data = a.Rows, a.Cols, a.Stride, a.Data
	case *General[T]:
		m.rows, m.cols, m.stride, m.data = a.Rows, a.Cols, a.Stride, a.Data
	case Vector[T]:
		m.rows, m.cols, m.stride, m.data = len(a), 1, 1, a
	default:
		return false
	}
	return m.holds()
}

// ofVector is of for a vector, as a column.
func (m *memory[T]) ofVector(v VectorSource[T]) bool {
	switch v := any(v).(type) {
	case *mat.VecDense:
		return m.ofVecDense(v)
	case Vector[T]:
		m.rows, m.cols, m.stride, m.data = len(v), 1, 1, v
		return len(v) > 0
	}
	return false
}

func (m *memory[T]) ofDense(a *mat.Dense) bool {
	r := a.RawMatrix()
	data, isT := any(&r.Data).(*[]T)
	if !isT {
		return false
	}
	m.rows, m.cols, m.stride, m.data = r.Rows, r.Cols, r.Stride, *data
	return m.holds()
}

func (m *memory[T]) ofVecDense(v *mat.VecDense) bool {
	r := v.RawVector()
	data, isT := any(&r.Data).(*[]T)
	if !isT {
		return false
	}
	m.rows, m.cols, m.stride, m.data = r.N, 1, r.Inc, *data
	return m.holds()
}

// memoryOf returns the memory of a matrix, or false.
func memoryOf[T Element](a Source[T]) (m memory[T], ok bool) {
	ok = m.of(a)
	return m, ok
}

// symmetricOf is memoryOf for a symmetric matrix, of which the upper triangle is stored, or else the lower one.
func symmetricOf[T Element](a SymmetricSource[T]) (m memory[T], upper, ok bool) {
	switch a := any(a).(type) {
	case *mat.SymDense:
		if a.IsEmpty() {
			return m, false, false
		}
		r := a.RawSymmetric()
		if data, isT := any(&r.Data).(*[]T); isT {
			m, upper = memory[T]{r.N, r.N, r.Stride, *data}, r.Uplo == blas.Upper
		}
	case Symmetric[T]:
		m, upper = memory[T]{a.N, a.N, a.Stride, a.Data}, a.Uplo == blas.Upper
		if !upper && a.Uplo != blas.Lower {
			return m, false, false
		}
	}
	return m, upper, m.holds()
}

// holds reports whether m has an element and the memory for all.
func (m *memory[T]) holds() bool {
	if m.rows <= 0 || m.cols <= 0 || m.stride < m.cols || len(m.data) < m.cols {
		return false
	}
	hi, lo := bits.Mul(uint(m.rows-1), uint(m.stride))
	return hi == 0 && lo <= uint(len(m.data)-m.cols)
}

// resultMemory returns the memory of dst, which takes the shape m×n if it is empty, or false.
func resultMemory[T Element](dst Source[T], m, n int) (to memory[T], ok bool) {
	if to, ok = memoryOf(dst); !ok {
		shape(dst, m, n)
		to, ok = memoryOf(dst)
	}
	return to, ok && to.rows == m && to.cols == n
}

// vectorsOf makes to the memory of a result of n elements, which takes this length if it is empty, and from that of a
// vector of m. It returns false if it cannot.
func vectorsOf[T Element](n int, dst VectorSink[T], to *memory[T], m int, b VectorSource[T], from *memory[T]) bool {
	return from.ofVector(b) && from.rows == m && to.ofResult(n, dst)
}

// ofResult makes m the memory of a vector of n elements, which takes this length if it is empty, or returns false.
func (m *memory[T]) ofResult(n int, dst VectorSink[T]) bool {
	if v, isDense := any(dst).(*mat.VecDense); isDense && v.IsEmpty() {
		v.ReuseAsVec(n)
	}
	return m.ofVector(dst) && m.rows == n
}

// farthest is the exponent of the largest and least magnitudes of elements that direct computations take: their squares
// are in the range.
func farthest[T Element]() (least, most T) { return scalar.Pick[T](near32[T], near64[T])() }

func near32[T Element]() (least, most T) { return T(0x1p-40), T(0x1p40) }

func near64[T Element]() (least, most T) {
	s := 0x1p-400
	return T(s), T(1 / s)
}

// load copies the m×n matrix a to f, whose rows are ld apart, sums its columns' magnitudes up in d.columns, and sets d.top
// to the largest magnitude. It returns false if a is not plain: an element is not finite, or a column far from 1.
func (d *desk[T]) load(f []T, ld int, a memory[T]) bool {
	n := a.cols
	columns := d.columns[:n]
	clear(columns)
	d.top = 0
	i := 0
	for ; i+4 <= a.rows; i += 4 {
		op.AbsFour(a.data[i*a.stride:], a.stride, columns, &d.top)
	}
	for ; i < a.rows; i++ {
		for j, v := range a.data[i*a.stride:][:n] {
			s := math.Abs(float64(v))
			columns[j] += s
			if s > d.top {
				d.top = s
			}
		}
	}
	if !plainSums[T](columns) {
		return false
	}
	for i := range a.rows {
		copy(f[i*ld:][:n], a.data[i*a.stride:][:n])
	}
	return true
}

// loadUpper is load for the upper triangle of a symmetric matrix, of which the upper or the lower triangle is stored.
func (d *desk[T]) loadUpper(f []T, ld int, a memory[T], upper bool) bool {
	n := a.rows
	columns := d.columns[:n]
	clear(columns)
	four := 0 // rows whose sums to the right of the diagonal blocks are known
	if upper {
		for ; four+2*4 <= n; four += 4 {
			for i, sum := range op.AbsFour(a.data[four*a.stride+four+4:], a.stride, columns[four+4:], &d.top) {
				columns[four+i] += sum
			}
		}
	}
	for i := range n {
		to := f[i*ld+i : i*ld+n]
		if upper {
			copy(to, a.data[i*a.stride+i:])
		} else {
			for j := range to {
				to[j] = a.data[(i+j)*a.stride+i]
			}
		}
		if i < four {
			to = to[:4-i%4]
		}
		sum, right := math.Abs(float64(to[0])), columns[i+1:]
		for j, v := range to[1:] {
			s := math.Abs(float64(v))
			right[j] += s
			sum += s
		}
		columns[i] += sum
	}
	return plainSums[T](columns)
}

// plainSums reports whether all sums of magnitudes are finite and far from the ends of the range, or 0.
func plainSums[T Element](sums []float64) bool {
	l, m := farthest[T]()
	least, most := float64(l), float64(m)
	for _, s := range sums {
		if !(s <= most && (s >= least || s == 0)) {
			return false
		}
	}
	return true
}

// right returns a copy of b without gaps, or false if an element of it is not plain.
func (d *desk[T]) right(b *memory[T]) (x []T, ok bool) {
	d.x = atLeast(d.x, b.rows*b.cols)
	x = d.x[:b.rows*b.cols]
	return x, copyPlain(x, b.cols, b)
}

// copyPlain copies b to x, whose rows are ld apart, and reports whether all elements are plain.
func copyPlain[T Element](x []T, ld int, b *memory[T]) bool {
	least, most := farthest[T]()
	for i := range b.rows {
		row := x[i*ld:][:b.cols]
		for j, v := range b.data[i*b.stride:][:b.cols] {
			if !(v == 0 || v >= least && v <= most || v <= -least && v >= -most) {
				return false
			}
			row[j] = v
		}
	}
	return true
}
