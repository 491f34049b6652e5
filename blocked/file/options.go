package file

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
)

const (
	// defaultNB is the tile size of a Matrix read with ReadOptions.NB = 0: in
	// the middle of the 192–512 that tile libraries use on a CPU. Nothing is
	// tuned here; who factors the matrix picks its own.
	defaultNB = 256

	// maxNB keeps nb·nb·8 far from overflow.
	maxNB = 1 << 20

	// maxDim is the largest number of rows or columns that a file may name: what
	// LAPACK's 32-bit indices reach. It also keeps a 10¹⁸×0 matrix, which
	// takes no memory, from costing somebody a loop over its rows.
	maxDim = math.MaxInt32

	// defaultMaxBytes is the memory limit of ReadOptions.MaxBytes = 0.
	defaultMaxBytes = 8 << 30

	// mostBytes is the largest limit. No table or tile is then larger than a slice can be, where
	// an int has 32 bits, too. A row of a tile may have a cache line that is not counted.
	mostBytes = min(1<<47, math.MaxInt/16*15)
)

// Want says which kind of Matrix a file is to be read into.
type Want uint8

// The wishes. A triangle taken of a general file is what LAPACK's uplo means:
// the other triangle is not looked at. A symmetric file can be read into
// every kind; a skew-symmetric one into every kind but the symmetric ones. A
// file that is not square can only become Full.
const (
	WantAsStored Want = iota // blocked.SymLower if the file says symmetric, otherwise blocked.Full
	WantFull
	WantSymLower
	WantSymUpper
	WantTriLower
	WantTriUpper
)

func (w Want) String() string {
	if names := []string{"as-stored", "full", "sym-lower", "sym-upper", "tri-lower", "tri-upper"}; int(w) < len(names) {
		return names[w]
	}
	return fmt.Sprintf("Want(%d)", uint8(w))
}

// kind returns the Kind that w asks for, of a file that is symmetric or not.
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

	// Want is the kind of Matrix asked for; the zero value keeps a symmetric
	// file symmetric, in its lower half, and makes everything else Full.
	Want Want

	// MaxBytes limits the memory that the Matrix may take, its padding and
	// its table of tiles included. A few bytes of a sparse or compressed file
	// can name a matrix of any size; what the header names is held against
	// this limit before anything is allocated, and what is allocated before
	// the last element has been read grows with what has been read. 0 means
	// 8 GiB or, for an uncompressed .npy file on disk, twice the size of the
	// file if that is more.
	MaxBytes int64

	// Workers is the number of goroutines that fill tiles from a large .npy
	// file; 0 means GOMAXPROCS.
	Workers int

	// Check, if not nil, is told what the header says before anything else is read, or
	// unpacked, and before MaxBytes counts. An error of it ends the reading and is returned
	// as it is.
	Check func(Header) error

	// Warn, if not nil, is told of what is against the rules of the format and was read all
	// the same, in the order of the file: once of each kind. Without it such files are read
	// in silence. What can be is said at [ReadMatrixMarket].
	Warn func(Warning)
}

// Header is what a matrix file says of its matrix.
type Header struct {
	Rows, Cols int
	Kind       blocked.Kind // that the Matrix will have
}

// Warning reports a line of a matrix file that is against the rules of the format, and was
// read all the same.
type Warning struct {
	File   string // name of the file, empty for a reader without one
	Line   int    // the first of its kind, from 1
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

// withDefaults returns o validated and with its zero fields filled in, but
// for MaxBytes, whose default depends on the file.
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

	// Coordinate writes a Matrix Market file in coordinate format: only the
	// elements that are not +0. Otherwise every element is written.
	Coordinate bool

	// Comment is put behind the banner of a Matrix Market file, each of its
	// lines as a comment line.
	Comment string
}

func (o *WriteOptions) orZero() WriteOptions {
	if o == nil {
		return WriteOptions{}
	}
	return *o
}

// outline returns an m×n Matrix that has no tile memory yet, for a reader to
// fill as data arrives. It fails with a *FormatError when o.Want cannot be had of
// a file of that shape and symmetry, or when the Matrix would take more than
// limit bytes, and with what o.Check returns; it allocates only after that.
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

// storedBytes returns the memory of an m×n Matrix, with the padding of its
// rows and its table of tiles; math.MaxInt64 stands for anything beyond.
// Dimensions are at most maxDim and nb at most maxNB.
func storedBytes[T blocked.Element](kind blocked.Kind, m, n, nb int64) int64 {
	var zero T
	size := int64(unsafe.Sizeof(zero))
	lane := 64 / size
	pad := func(c int64) int64 { return (c + lane - 1) / lane * lane }
	mt, nt := (m+nb-1)/nb, (n+nb-1)/nb
	if mt*nt > math.MaxInt64/256 { // both below 2³¹
		return math.MaxInt64
	}
	// Each tile has its entry in the table and up to 63 bytes to align it.
	overhead := mt * nt * (int64(unsafe.Sizeof(blocked.Tile[T]{})) + 64)

	perRow := n/nb*pad(nb) + pad(n%nb)
	if m > 0 && perRow > math.MaxInt64/256/m {
		return math.MaxInt64
	}
	elems := m * perRow
	if kind != blocked.Full {
		// n = m: q whole tiles on the diagonal and a last one of r.
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
