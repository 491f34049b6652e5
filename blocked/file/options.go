package file

import (
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/tessera-la/tessera/blocked"
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
	// be, even where an int has 32 bits.
	mostBytes = min(1<<47, math.MaxInt)
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

// wants are the names of the values of Want, in their order. The kinds in Want.kind have the same order, and
// Validate compares with the last value.
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
