package op

import (
	"unsafe"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Potrf is the parameter of op "potrf" (LAPACK xPOTRF): the Cholesky
// factorization of a symmetric positive definite tile,
//
//	A = L·Lᵀ (Uplo = Lower) or A = Uᵀ·U (Uplo = Upper).
//
// Operand: A (inout, n×n); the factor overwrites its Uplo triangle, the other
// one is neither read nor written. If leading minor i (from 1) is not
// positive definite the version returns *NotPositiveDefiniteError with
// Minor = Offset+i, LAPACK's info for the whole matrix.
type Potrf struct {
	Uplo   blas.Uplo
	Offset int // global index of the tile's first row
}

// Validate returns an error if a field is out of range.
func (p *Potrf) Validate() error { return check("potrf", p) }

// potrfOp defines op "potrf".
func potrfOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:      versions.Op{Name: "potrf", Work: potrfWork[T], NewParams: fresh[Potrf]},
		about:   "Cholesky factorization of a tile, A = LLᵀ",
		variant: splitVariant,
		run:     potrf[T],
		help:    potrfHelp[T],
		cuda:    versions.Version{Run: cudaPotrf[T], Memory: cudaPotrfMemory[T]},
	}
}

// potrfOf returns the operand of op "potrf".
func potrfOf[T kernels.Element](call *versions.Call) *kernels.Tile[T] {
	a, _ := args[T](call, 1)
	panicIf(a.Cols != a.Rows, kernels.ErrShape)
	return a
}

// potrfWork returns n³/3 + n²/2 + n/6.
func potrfWork[T kernels.Element](call *versions.Call) float64 {
	a, _ := args[T](call, 1)
	n := float64(a.Rows)
	return n * (n + 1) * (2*n + 1) / 6
}

// potrf returns the function of a version of op "potrf".
func potrf[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		p := params[Potrf](call)
		a := potrfOf[T](call)
		n := a.Rows
		work := versions.Scratch[T](call.Work, by.blas.Work(n))
		if info := gangRoutines(by.blas, call).Potrf(p.Uplo, n, a.Data, a.Stride, work); info != 0 {
			return &kernels.NotPositiveDefiniteError{Minor: p.Offset + info}
		}
		return nil
	}
}

// potrfAlone is the order up to which one core factors a tile alone.
const potrfAlone = 256

// potrfHelp is [sharing] for op "potrf". It asks for no help with triangles that the routine does not split.
func potrfHelp[T kernels.Element](by implementation[T]) func(*versions.Call) (units int, stay bool) {
	p, ok := by.blas.(*cpu.Packed[T])
	if !ok {
		return nil
	}
	return func(call *versions.Call) (int, bool) {
		if potrfOf[T](call).Rows <= max(p.Leaf, potrfAlone) {
			return 1, false
		}
		return help(potrfWork[T](call) / 4)
	}
}

// cudaPotrf is the function of version "cuda" of op "potrf". It downloads the library's info and
// the diagonal of the factor: if the matrix has a NaN, info need not show it, but the factor's
// diagonal does from there on.
func cudaPotrf[T kernels.Element](call *versions.Call) error {
	p := params[Potrf](call)
	a := potrfOf[T](call)
	n := a.Rows
	uplo := otherUplo(p.Uplo)
	q := queueOf[T](call)
	if n == 0 {
		return nil
	}
	x := q.operand(0)
	bytes, err := q.s.PotrfWork(q.typ, uplo, n, q.columnMajor(x))
	if err != nil {
		return err
	}
	work, err := q.Scratch(bytes)
	if err != nil {
		return err
	}
	result, host, err := q.Ints(potrfResult[T](n))
	if err != nil {
		return err
	}
	if err := q.s.Potrf(q.typ, uplo, n, q.columnMajor(x), work, result); err != nil {
		return err
	}
	diagonal := stored{result + potrfDiagonal*4, q.size}
	if err := q.copy(n, 1, stored{x.at, x.pitch + q.size}, diagonal); err != nil {
		return err
	}
	offset := p.Offset
	q.AtEnd(func() error {
		h := host()
		info := int(h[0])
		if info < 0 {
			return &cuda.DeviceError{Op: "potrf", Code: info, Reason: "a parameter is wrong"}
		}
		d := unsafe.Slice((*T)(unsafe.Pointer(&h[potrfDiagonal])), n)
		if info > 0 {
			d = d[:min(info, n)-1]
		}
		for i, v := range d {
			if !(v > 0) {
				info = i + 1
				break
			}
		}
		if info == 0 {
			return nil
		}
		return &kernels.NotPositiveDefiniteError{Minor: offset + info}
	})
	return nil
}

// potrfDiagonal is the number of integers before the diagonal in the result that cudaPotrf downloads:
// info and padding.
const potrfDiagonal = 2

// potrfResult returns the number of integers that cudaPotrf downloads.
func potrfResult[T kernels.Element](n int) int {
	return potrfDiagonal + n*(scalar.Size[T]()/4)
}

// cudaPotrfMemory returns an upper bound of the bytes that cudaPotrf needs: the libraries need
// less than another tile.
func cudaPotrfMemory[T kernels.Element](call *versions.Call) int64 {
	n := potrfOf[T](call).Rows
	return int64(n)*int64(n)*int64(scalar.Size[T]()) + 4*int64(potrfResult[T](n)) + 2*scratchUnit
}
