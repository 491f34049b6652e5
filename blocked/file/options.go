package file

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/internal/words"
)

const (
	// defaultNB is the tile size of a Matrix read with ReadOptions.NB = 0. It lies in
	// the middle of the 192–512 that tile libraries use on a CPU. It is not tuned: a
	// program that factors the matrix chooses the tile size for that.
	defaultNB = 256

	// maxNB keeps nb·nb·8 far from overflow.
	maxNB = 1 << 20

	// maxDim is the largest number of rows or columns that a file may name: the
	// largest 32-bit index of LAPACK. It also refuses a 10¹⁸×0 matrix, which takes
	// no memory, but would make a program loop over its rows.
	maxDim = math.MaxInt32

	// defaultMaxBytes is the memory limit of ReadOptions.MaxBytes = 0.
	defaultMaxBytes = 8 << 30

	// mostBytes is the largest memory limit. Below it no table or tile is larger than a slice can
	// be, even where an int has 32 bits. A sixteenth is left for the additional cache line that a
	// row of a tile may have, which storedBytes does not count.
	mostBytes = min(1<<47, math.MaxInt/16*15)
)

// Want says which kind of Matrix the reader makes from a file.
type Want uint8

// The values of Want. With a symmetric or triangular kind, the reader takes one triangle of a
// general file and ignores the other, as LAPACK does with uplo. A symmetric file can be read into
// every kind, and a skew-symmetric file into every kind except the symmetric ones. A file that is
// not square can only become Full.
const (
	WantAsStored Want = iota // blocked.SymLower if the file says symmetric, otherwise blocked.Full
	WantFull
	WantSymLower
	WantSymUpper
	WantTriLower
	WantTriUpper
)

var wants = words.Of[Want]{"as-stored", "full", "sym-lower", "sym-upper", "tri-lower", "tri-upper"}

func (w Want) String() string { return wants.Name(w) }

// kind returns the Kind of the Matrix for w. symmetric says that the file is symmetric.
func (w Want) kind(symmetric bool) blocked.Kind {
	if w == WantAsStored && symmetric {
		w = WantSymLower
	}
	return [...]blocked.Kind{blocked.Full, blocked.Full, blocked.SymLower, blocked.SymUpper, blocked.TriLower, blocked.TriUpper}[w]
}

// ReadOptions says how a matrix file is read. The zero value works, and nil
// means the zero value.
type ReadOptions struct {
	// NB is the tile size; 0 means 256. At most 2²⁰.
	NB int

	// Want is the kind of the Matrix. With the zero value a symmetric file becomes
	// SymLower, and any other file Full.
	Want Want

	// MaxBytes limits the memory that the Matrix may take, including its padding
	// and its table of tiles. A few bytes of a sparse or compressed file can
	// announce a matrix of any size. So the reader compares the size in the header
	// with MaxBytes before it allocates, and then allocates as elements arrive.
	// 0 means 8 GiB or, for an uncompressed .npy file on disk, twice the size of
	// the file if that is more.
	MaxBytes int64

	// Workers is the number of goroutines that fill tiles from a large .npy
	// file; 0 means GOMAXPROCS.
	Workers int

	// Check, if not nil, is called with the header before the reader reads or unpacks
	// anything else, and before it applies MaxBytes. An error of Check ends the reading;
	// the reader returns it unchanged.
	Check func(Header) error

	// Warn, if not nil, is called for lines that break the rules of the format and were read
	// nevertheless: once for each kind of deviation, in the order of the file. The reader also
	// accepts such lines without Warn. [ReadMatrixMarket] lists the deviations.
	Warn func(Warning)
}

// Header is what a matrix file says about its matrix.
type Header struct {
	Rows, Cols int
	Kind       blocked.Kind // of the Matrix that the reader will make
}

// Warning reports a line of a matrix file that breaks the rules of the format and was read
// nevertheless, or an integer that was rounded.
type Warning struct {
	File   string // name of the file, empty for a reader without one
	Line   int    // the first line with this deviation, from 1; 0 for a .npy file
	Reason string // what is wrong, and how it was read
}

func (w Warning) String() string { return (&FormatError{w.File, w.Line, w.Reason}).Error() }

// Validate reports every problem of o at once, or nil.
func (o *ReadOptions) Validate() error {
	if o == nil {
		return nil
	}
	var errs []error
	if o.NB < 0 || o.NB > maxNB {
		errs = append(errs, fmt.Errorf("file: ReadOptions.NB = %d is outside 0..%d", o.NB, maxNB))
	}
	if o.Want > WantTriUpper {
		errs = append(errs, fmt.Errorf("file: ReadOptions.Want = %v is unknown", o.Want))
	}
	if o.MaxBytes < 0 {
		errs = append(errs, fmt.Errorf("file: ReadOptions.MaxBytes = %d is negative", o.MaxBytes))
	}
	if o.Workers < 0 {
		errs = append(errs, fmt.Errorf("file: ReadOptions.Workers = %d is negative", o.Workers))
	}
	return errors.Join(errs...)
}

// withDefaults validates o and returns it with defaults in its zero fields, except
// MaxBytes, whose default depends on the file.
func (o *ReadOptions) withDefaults() (ReadOptions, error) {
	if err := o.Validate(); err != nil {
		return ReadOptions{}, err
	}
	var r ReadOptions
	if o != nil {
		r = *o
	}
	if r.NB == 0 {
		r.NB = defaultNB
	}
	if r.Workers == 0 {
		r.Workers = runtime.GOMAXPROCS(0)
	}
	return r, nil
}

// WriteOptions says how a matrix file is written. The zero value works, and
// nil means the zero value.
type WriteOptions struct {
	// Fortran writes a .npy file in column-major order.
	Fortran bool

	// Coordinate writes a Matrix Market file in coordinate format, which lists only
	// the elements that are not +0. Otherwise the file has every element.
	Coordinate bool

	// Comment follows the banner of a Matrix Market file. Each of its lines becomes
	// a comment line.
	Comment string
}

// orZero returns *o, or the zero value if o is nil.
func (o *WriteOptions) orZero() WriteOptions {
	if o == nil {
		return WriteOptions{}
	}
	return *o
}

// outline returns an m×n Matrix whose tiles have no memory; a reader allocates them as
// data arrives. The error is a *FormatError if a file of that shape and symmetry cannot
// become the kind o.Want, or if the Matrix would take more than limit bytes; or the error
// of o.Check, unchanged. outline allocates only after these checks.
func outline[T blocked.Element](o *ReadOptions, symmetric, skew bool, m, n, limit int64) (*blocked.Matrix[T], error) {
	kind := o.Want.kind(symmetric)
	switch {
	case m > maxDim || n > maxDim:
		return nil, &FormatError{Reason: fmt.Sprintf("%d×%d matrix: a dimension is above %d", m, n, maxDim)}
	case kind != blocked.Full && m != n:
		return nil, &FormatError{Reason: fmt.Sprintf("%d×%d matrix is not square and cannot be read as %v", m, n, kind)}
	case skew && kind.Symmetric():
		return nil, &FormatError{Reason: fmt.Sprintf("skew-symmetric matrix cannot be read as %v", kind)}
	}
	if o.Check != nil {
		if err := o.Check(Header{int(m), int(n), kind}); err != nil {
			return nil, err
		}
	}
	limit = min(limit, mostBytes)
	if need := storedBytes[T](kind, m, n, int64(o.NB)); need > limit {
		takes := fmt.Sprintf("%d bytes, more than the limit of %d", need, limit)
		if need == math.MaxInt64 {
			takes = fmt.Sprintf("more than 100 PiB, and the limit is %d bytes", limit)
		}
		return nil, &FormatError{Reason: fmt.Sprintf("%d×%d matrix takes %s (ReadOptions.MaxBytes)", m, n, takes)}
	}
	return tiles.Outline[T](kind, int(m), int(n), o.NB), nil
}

// storedBytes returns the memory of an m×n Matrix in bytes, including the padding
// of its rows and its table of tiles. It returns math.MaxInt64 if the number is
// larger. m and n are at most maxDim, and nb at most maxNB.
func storedBytes[T blocked.Element](kind blocked.Kind, m, n, nb int64) int64 {
	var zero T
	size := int64(unsafe.Sizeof(zero))
	lane := 64 / size
	pad := func(c int64) int64 { return (c + lane - 1) / lane * lane }
	mt, nt := (m+nb-1)/nb, (n+nb-1)/nb
	if mt*nt > math.MaxInt64/256 { // both below 2³¹
		return math.MaxInt64
	}
	// Each tile has an entry in the table, and up to 63 bytes that align it.
	overhead := mt * nt * (int64(unsafe.Sizeof(blocked.Tile[T]{})) + 64)

	perRow := n/nb*pad(nb) + pad(n%nb)
	if m > 0 && perRow > math.MaxInt64/256/m {
		return math.MaxInt64
	}
	elems := m * perRow
	if kind != blocked.Full {
		// n = m: the diagonal has q whole tiles, and a last one of order r.
		q, r := n/nb, n%nb
		elems = nb * pad(nb) * (q * (q + 1) / 2)
		if kind == blocked.SymLower || kind == blocked.TriLower {
			elems += r * (q*pad(nb) + pad(r))
		} else {
			elems += n * pad(r)
		}
	}
	return elems*size + overhead
}
