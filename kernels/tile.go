package kernels

import (
	"unsafe"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/versions"
)

// Element is the constraint of every generic type and function of Tessera.
type Element interface {
	float32 | float64
}

// Tile is a dense row-major matrix: element (i, j) is Data[i*Stride+j].
//
//	0 ≤ i < Rows, 0 ≤ j < Cols ≤ Stride, len(Data) ≥ (Rows-1)*Stride+Cols.
//
// What lies between Cols and Stride is padding that no kernel reads or
// writes. A tile without rows or without columns is empty: its Stride is at least 1, and its
// Data may be nil whatever Rows and Stride are. Kernels are given such tiles, as for a product
// with k = 0. Operands of tasks are *Tile[T].
type Tile[T Element] struct {
	Rows, Cols, Stride int
	Data               []T
}

// At returns element (i, j). It does not check the column against Cols.
func (t *Tile[T]) At(i, j int) T { return t.Data[i*t.Stride+j] }

// Set sets element (i, j). It does not check the column against Cols.
func (t *Tile[T]) Set(i, j int, v T) { t.Data[i*t.Stride+j] = v }

// Row returns row i, without the padding: nil if there are no columns.
func (t *Tile[T]) Row(i int) []T {
	if t.Cols == 0 {
		return nil
	}
	return t.Data[i*t.Stride : i*t.Stride+t.Cols : i*t.Stride+t.Cols]
}

// Memory implements [versions.Stored].
func (t *Tile[T]) Memory() versions.Memory {
	size := int64(scalar.Size[T]())
	return versions.Memory{
		Data: unsafe.Pointer(unsafe.SliceData(t.Data)),
		Rows: t.Rows, Width: int64(t.Cols) * size, Pitch: int64(t.Stride) * size,
	}
}
