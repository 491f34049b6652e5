package builtin

import (
	"unsafe"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
)

// cudaPotrf is the function of version "cuda" of op "potrf". Beside the
// library's info, the diagonal of the factor comes back: where the matrix has a
// NaN, info need not say so, but the factor's diagonal does from there on.
func cudaPotrf[T kernels.Element](call *versions.Call) error {
	p := params[kernels.Potrf](call)
	a := potrfOf[T](call)
	n := a.Rows
	uplo := opposite(p.Uplo)
	q := queueOf[T](call)
	if n == 0 {
		return nil
	}
	x := q.operand(0)
	bytes, err := q.s.PotrfWork(q.typ, uplo, n, q.turned(x))
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
	if err := q.s.Potrf(q.typ, uplo, n, q.turned(x), work, result); err != nil {
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

// potrfDiagonal is the number of integers before the diagonal in what comes back
// of a potrf: info and padding.
const potrfDiagonal = 2

// potrfResult returns the number of integers that come back of a potrf.
func potrfResult[T kernels.Element](n int) int {
	return potrfDiagonal + n*int(unsafe.Sizeof(*new(T))/4)
}

// cudaPotrfMemory returns what cudaPotrf needs: the libraries ask for less than
// another tile.
func cudaPotrfMemory[T kernels.Element](call *versions.Call) int64 {
	n := potrfOf[T](call).Rows
	return int64(n)*int64(n)*int64(unsafe.Sizeof(*new(T))) + 4*int64(potrfResult[T](n)) + 2*scratchUnit
}
