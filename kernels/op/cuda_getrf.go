package op

import (
	"unsafe"

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
	f := cudaLU[T]{queue: queueOf[T](call), tiles: tiles, n: n}
	var err error
	if f.panel, err = f.scratch(n, m); err != nil {
		return err
	}
	work, own, err := f.memory(m)
	if err != nil {
		return err
	}
	pivots, rows, err := f.Ints(2 * k) // an int64 is two of them
	if err != nil {
		return err
	}
	code, codes, err := f.Ints(1)
	if err != nil {
		return err
	}
	if err := untilError(
		f.pack,
		func() error { return f.s.Getrf(f.typ, m, n, f.columnMajor(f.panel), pivots, work, own, code) },
		f.unpack,
	); err != nil {
		return err
	}
	f.AtEnd(func() error {
		zero := int(codes()[0])
		if zero < 0 {
			return &cuda.DeviceError{Op: "getrf", Code: zero, Reason: "a parameter is wrong"}
		}
		piv.Info = info(offset, zero)
		return readPivots(piv, rows(), m, k)
	})
	return nil
}

// cudaLU is an LU factorization of tiles of n columns on a device.
type cudaLU[T kernels.Element] struct {
	queue[T]
	tiles []any
	n     int
	panel stored // scratch memory for the transpose of the panel
}

// pack copies the tiles to the panel.
func (f *cudaLU[T]) pack() error {
	return f.eachTile(func(rows int, tile, place cuda.Strided) error {
		return f.s.CopyUpper(f.typ, rows, f.n, -rows, tile, place, false)
	})
}

// unpack copies the panel to the tiles.
func (f *cudaLU[T]) unpack() error {
	return f.eachTile(func(rows int, tile, place cuda.Strided) error {
		return f.s.CopyUpper(f.typ, rows, f.n, -rows, place, tile, false)
	})
}

// eachTile calls copy with each tile that has rows, and its place in the panel.
func (f *cudaLU[T]) eachTile(copy func(rows int, tile, place cuda.Strided) error) error {
	top := 0
	for i, t := range f.tiles {
		rows := t.(*kernels.Tile[T]).Rows
		if rows == 0 {
			continue
		}
		if err := copy(rows, f.rowMajor(f.operand(i)), f.rowMajorT(f.from(f.panel, 0, top))); err != nil {
			return err
		}
		top += rows
	}
	return nil
}

// memory returns the memory that the library needs to factor the panel, on the device and on the host.
func (f *cudaLU[T]) memory(m int) (device cuda.Ptr, host unsafe.Pointer, err error) {
	onDevice, onHost, err := f.s.GetrfWork(f.typ, m, f.n, f.columnMajor(f.panel))
	if err != nil {
		return 0, nil, err
	}
	if device, err = f.Scratch(onDevice); err == nil {
		host, err = f.Pinned(onHost)
	}
	return device, host, err
}

// readPivots sets piv to k rows of m, counted from 1, that cuSOLVER has written as int64.
func readPivots(piv *kernels.Pivots, halves []int32, m, k int) error {
	piv.Rows = piv.Rows[:0]
	for i := range k {
		row := int64(uint32(halves[2*i])) | int64(halves[2*i+1])<<32
		if row <= int64(i) || row > int64(m) {
			return &cuda.DeviceError{Op: "getrf", Code: i, Reason: "a pivot is no row below"}
		}
		piv.Rows = append(piv.Rows, int(row-1))
	}
	return nil
}

// cudaGetrfMemory returns the bytes of scratch memory that cudaGetrf needs: the panel, as much again
// as an estimate of cuSOLVER's work, whose size only a stream can tell, the pivots and info.
func cudaGetrfMemory[T kernels.Element](call *versions.Call) int64 {
	_, m, n, _ := luArgs[T](call)
	return 2*int64(m)*int64(n)*int64(unsafe.Sizeof(*new(T))) + 8*int64(min(m, n)) + 5*scratchUnit
}
