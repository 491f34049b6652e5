package tiles

import (
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// ErrStorage is the panic of a raw matrix whose stride or data do not fit its
// shape.
const ErrStorage Error = "blocked: stride or length of the data does not fit the shape"

// StorageError reports data that cannot hold the matrix it is given for.
type StorageError struct {
	Rows, Cols, Stride int
	Len                int // elements that there are
	Reason             string
}

func (e *StorageError) Error() string {
	return fmt.Sprintf("blocked: %d×%d matrix with stride %d in %d elements: %s", e.Rows, e.Cols, e.Stride, e.Len, e.Reason)
}

// General is a dense m×n matrix in row-major memory: element (i, j) is
// Data[i*Stride+j]. A General[float64] has the layout of a blas64.General and
// can be converted from and to one.
type General[T Element] struct {
	Rows, Cols int
	Data       []T
	Stride     int
}

// Symmetric is an n×n symmetric matrix in row-major memory of which only the
// Uplo triangle (blas.Upper or blas.Lower) is read or written. A
// Symmetric[float64] can be converted from and to a blas64.Symmetric.
type Symmetric[T Element] struct {
	Uplo   blas.Uplo
	N      int
	Data   []T
	Stride int
}

// Triangular is an n×n triangular matrix in row-major memory of which only
// the Uplo triangle is read or written, and not its diagonal, which is all
// ones, if Diag is blas.Unit. A Triangular[float64] can be converted from and
// to a blas64.Triangular.
type Triangular[T Element] struct {
	Uplo   blas.Uplo
	Diag   blas.Diag
	N      int
	Data   []T
	Stride int
}

// misfit says why length elements cannot hold the matrix, or nothing. The sum
// (rows-1)*stride+cols is never formed, it may overflow.
func misfit(rows, cols, stride, length int) string {
	switch {
	case rows < 0 || cols < 0:
		return "negative dimension"
	case stride < max(1, cols):
		return "stride below the number of columns"
	case rows > 0 && cols > 0 && (length < cols || rows-1 > (length-cols)/stride):
		return "data too short"
	}
	return ""
}

// Validate returns a *[StorageError] if g's data cannot hold it.
func (g General[T]) Validate() error {
	if reason := misfit(g.Rows, g.Cols, g.Stride, len(g.Data)); reason != "" {
		return &StorageError{g.Rows, g.Cols, g.Stride, len(g.Data), reason}
	}
	return nil
}

// Dims returns the number of rows and columns.
func (g General[T]) Dims() (r, c int) { return g.Rows, g.Cols }

// At returns element (i, j). It panics with ErrIndex out of range.
func (g General[T]) At(i, j int) T {
	if uint(i) >= uint(g.Rows) || uint(j) >= uint(g.Cols) {
		panic(ErrIndex)
	}
	return g.Data[i*g.Stride+j]
}

// Set sets element (i, j). It panics with ErrIndex out of range.
func (g General[T]) Set(i, j int, v T) {
	if uint(i) >= uint(g.Rows) || uint(j) >= uint(g.Cols) {
		panic(ErrIndex)
	}
	g.Data[i*g.Stride+j] = v
}

// Zero sets all elements to zero. It does not write between the rows.
func (g General[T]) Zero() {
	for i := range g.Rows {
		clear(g.Data[i*g.Stride:][:g.Cols])
	}
}

// Dims returns n, n.
func (s Symmetric[T]) Dims() (r, c int) { return s.N, s.N }

// SymmetricDim returns n.
func (s Symmetric[T]) SymmetricDim() int { return s.N }

// At returns element (i, j), from the stored triangle. It panics with
// ErrIndex out of range.
func (s Symmetric[T]) At(i, j int) T { return s.Data[s.index(i, j)] }

// SetSym sets elements (i, j) and (j, i), which are one. It panics with
// ErrIndex out of range.
func (s Symmetric[T]) SetSym(i, j int, v T) { s.Data[s.index(i, j)] = v }

// Zero sets all elements to zero, and writes no more than the stored triangle.
func (s Symmetric[T]) Zero() {
	for i := range s.N {
		lo, hi := 0, i+1
		if s.Uplo != blas.Lower {
			lo, hi = i, s.N
		}
		clear(s.Data[i*s.Stride:][lo:hi])
	}
}

func (s Symmetric[T]) index(i, j int) int {
	if uint(i) >= uint(s.N) || uint(j) >= uint(s.N) {
		panic(ErrIndex)
	}
	if (i > j) != (s.Uplo == blas.Lower) {
		i, j = j, i
	}
	return i*s.Stride + j
}

// Dims returns n, n.
func (t Triangular[T]) Dims() (r, c int) { return t.N, t.N }

// Triangle returns n and the stored triangle.
func (t Triangular[T]) Triangle() (n int, kind mat.TriKind) {
	return t.N, mat.TriKind(t.Uplo == blas.Upper)
}

// At returns element (i, j): zero outside the triangle, one on the diagonal
// if Diag is blas.Unit. It panics with ErrIndex out of range.
func (t Triangular[T]) At(i, j int) T {
	if uint(i) >= uint(t.N) || uint(j) >= uint(t.N) {
		panic(ErrIndex)
	}
	switch {
	case i == j && t.Diag == blas.Unit:
		return 1
	case i != j && (i < j) != (t.Uplo == blas.Upper):
		return 0
	}
	return t.Data[i*t.Stride+j]
}

// SetTri sets element (i, j). It panics with ErrIndex out of range, and with
// ErrNotStored outside the triangle or on a unit diagonal.
func (t Triangular[T]) SetTri(i, j int, v T) {
	if uint(i) >= uint(t.N) || uint(j) >= uint(t.N) {
		panic(ErrIndex)
	}
	if (i == j && t.Diag == blas.Unit) || (i != j && (i < j) != (t.Uplo == blas.Upper)) {
		panic(ErrNotStored)
	}
	t.Data[i*t.Stride+j] = v
}

// View returns g as a Matrix with tiles of nb×nb that alias g.Data. Nothing is
// copied, every tile has the stride of g, and a write to g or the Matrix changes
// both. The tiles are not 64-byte aligned unless g happens to be. Elements between
// g.Cols and g.Stride are neither read nor written.
//
// It panics with ErrStorage if g's data cannot hold it, and with ErrShape if
// nb < 1.
func View[T Element](g General[T], nb int) *Matrix[T] {
	return view(Full, g.Rows, g.Cols, g.Stride, g.Data, nb)
}

// ViewSymmetric returns s as a Matrix of kind SymLower or SymUpper that
// aliases the stored triangle, as [View] does. The other triangle of s.Data is
// neither read nor written. It panics as View does, and with ErrKind if s.Uplo
// is neither blas.Upper nor blas.Lower.
func ViewSymmetric[T Element](s Symmetric[T], nb int) *Matrix[T] {
	return view(half(s.Uplo, SymLower, SymUpper), s.N, s.N, s.Stride, s.Data, nb)
}

// ViewTriangular returns t as a Matrix of kind TriLower or TriUpper that
// aliases the stored triangle, as [View] does. The other triangle of t.Data is
// neither read nor written. It panics as View does, and with ErrKind if t.Uplo
// is neither blas.Upper nor blas.Lower, or if t.Diag is blas.Unit: a Matrix
// holds its diagonal.
func ViewTriangular[T Element](t Triangular[T], nb int) *Matrix[T] {
	if t.Diag == blas.Unit {
		panic(ErrKind)
	}
	return viewTriangle(t, nb)
}

// viewTriangle is ViewTriangular for a caller that handles a unit diagonal itself.
func viewTriangle[T Element](t Triangular[T], nb int) *Matrix[T] {
	return view(half(t.Uplo, TriLower, TriUpper), t.N, t.N, t.Stride, t.Data, nb)
}

func half(uplo blas.Uplo, lower, upper Kind) Kind {
	switch uplo {
	case blas.Lower:
		return lower
	case blas.Upper:
		return upper
	}
	panic(ErrKind)
}

func view[T Element](kind Kind, m, n, stride int, data []T, nb int) *Matrix[T] {
	if misfit(m, n, stride, len(data)) != "" {
		panic(ErrStorage)
	}
	a := Outline[T](kind, m, n, nb)
	a.view = true
	for i, j := range a.StoredTiles() {
		r, c := a.TileDims(i, j)
		off := i*nb*stride + j*nb
		end := off + (r-1)*stride + c
		a.tiles[i*a.nt+j] = Tile[T]{Rows: r, Cols: c, Stride: stride, Data: data[off:end:end]}
	}
	return a
}
