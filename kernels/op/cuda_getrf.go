package op

import (
	"unsafe"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
)

// cudaGetrf executes a call of version "cuda" of op "getrf" on columns from offset on. It copies the tiles below one another
// into a column-major panel, the form that the library factors, and back. The pivots are computed on
// the device, and come to the host at the end, where later calls read them.
func cudaGetrf[T kernels.Element](call *versions.Call, offset int) error {
	tiles, m, n, piv := luArgs[T](call)
	k := min(m, n)
	if k == 0 {
		piv.Rows, piv.Info = piv.Rows[:0], 0
		return nil
	}
	f, err := newCUDALU[T](call, tiles, m, n)
	if err != nil {
		return err
	}
	if err := untilError(func() error { return f.pack(f.panel) }, f.factor, f.unpack); err != nil {
		return err
	}
	f.AtEnd(func() error {
		zero, err := f.zero()
		if err != nil {
			return err
		}
		piv.Info = info(offset, zero)
		piv.Rows, err = appendPivots(piv.Rows[:0], f.rows(), m)
		return err
	})
	return nil
}

// cudaLU is an LU factorization of tiles of n columns on a device.
type cudaLU[T kernels.Element] struct {
	queue[T]
	tiles []any
	m, n  int
	panel stored // scratch memory for the transpose of the panel

	// The operands of the library's routine, and what comes to the host of them.
	work   cuda.Ptr
	own    unsafe.Pointer
	pivots cuda.Ptr
	rows   func() []int32 // an int64 is two of them
	code   cuda.Ptr
	codes  func() []int32
}

// newCUDALU returns the factorization of tiles that together are m×n, neither of them 0, with its
// scratch memory.
func newCUDALU[T kernels.Element](call *versions.Call, tiles []any, m, n int) (*cudaLU[T], error) {
	f := &cudaLU[T]{queue: queueOf[T](call), tiles: tiles, m: m, n: n}
	return f, untilError(
		func() (err error) { f.panel, err = f.scratch(n, m); return },
		func() (err error) { f.work, f.own, err = f.memory(); return },
		func() (err error) { f.pivots, f.rows, err = f.Ints(2 * min(m, n)); return },
		func() (err error) { f.code, f.codes, err = f.Ints(1); return },
	)
}

// factor factors the panel.
func (f *cudaLU[T]) factor() error {
	return f.s.Getrf(f.typ, f.m, f.n, f.columnMajor(f.panel), f.pivots, f.work, f.own, f.code)
}

// zero returns the column, from 1, of the first pivot that is zero, or 0. It is called at the end.
func (f *cudaLU[T]) zero() (int, error) {
	zero := int(f.codes()[0])
	if zero < 0 {
		return 0, &cuda.DeviceError{Op: "getrf", Code: zero, Reason: "a parameter is wrong"}
	}
	return zero, nil
}

// pack copies the tiles to a panel.
func (f *cudaLU[T]) pack(panel stored) error {
	return f.eachTile(panel, func(rows int, tile, place cuda.Strided) error {
		return f.s.CopyUpper(f.typ, rows, f.n, -rows, tile, place, false)
	})
}

// unpack copies the panel to the tiles.
func (f *cudaLU[T]) unpack() error {
	return f.eachTile(f.panel, func(rows int, tile, place cuda.Strided) error {
		return f.s.CopyUpper(f.typ, rows, f.n, -rows, place, tile, false)
	})
}

// eachTile calls copy with each tile that has rows, and its place in a panel.
func (f *cudaLU[T]) eachTile(panel stored, copy func(rows int, tile, place cuda.Strided) error) error {
	top := 0
	for i, t := range f.tiles {
		rows := t.(*kernels.Tile[T]).Rows
		if rows == 0 {
			continue
		}
		if err := copy(rows, f.rowMajor(f.operand(i)), f.rowMajorT(f.from(panel, 0, top))); err != nil {
			return err
		}
		top += rows
	}
	return nil
}

// memory returns the memory that the library needs to factor the panel, on the device and on the host.
func (f *cudaLU[T]) memory() (device cuda.Ptr, host unsafe.Pointer, err error) {
	onDevice, onHost, err := f.s.GetrfWork(f.typ, f.m, f.n, f.columnMajor(f.panel))
	if err != nil {
		return 0, nil, err
	}
	if device, err = f.Scratch(onDevice); err == nil {
		host, err = f.Pinned(onHost)
	}
	return device, host, err
}

// appendPivots appends to rows those of m, counted from 1, that cuSOLVER has written as int64.
func appendPivots(rows []int, halves []int32, m int) ([]int, error) {
	for i := range len(halves) / 2 {
		row := int64(uint32(halves[2*i])) | int64(halves[2*i+1])<<32
		if row <= int64(i) || row > int64(m) {
			return rows, &cuda.DeviceError{Op: "getrf", Code: i, Reason: "a pivot is no row below"}
		}
		rows = append(rows, int(row-1))
	}
	return rows, nil
}

// cudaGetrfMemory returns the bytes of scratch memory that cudaGetrf needs: the panel, as much again
// as an estimate of cuSOLVER's work, whose size only a stream can tell, the pivots and info.
func cudaGetrfMemory[T kernels.Element](call *versions.Call) int64 {
	_, m, n, _ := luArgs[T](call)
	return 2*int64(m)*int64(n)*int64(scalar.Size[T]()) + 8*int64(min(m, n)) + 5*scratchUnit
}
