package file

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/tessera-la/tessera/blocked"
)

const (
	// npyMapMin is the size in bytes from which on a file is mapped. One read
	// of a smaller file costs less than the mapping and the goroutines.
	npyMapMin = 1 << 20

	// npyPiece is the largest number of elements of a stream that are decoded at once.
	npyPiece = 4096
)

// ReadNPY reads one array in NumPy's .npy format, version 1.0, 2.0 or 3.0,
// from r, and leaves r at the first byte after the array. A 1-D array becomes a
// column vector. 0-D arrays, and arrays of more than two dimensions, are an
// error. The order may be row-major or column-major (Fortran), and the bytes
// little or big endian.
//
// Elements may be float16, float32, float64, signed and unsigned integers of 1
// to 8 bytes, and booleans. ReadNPY converts them to T, rounded to nearest: a
// Matrix[float32] loses digits of float64 elements. If it rounds an integer, it
// calls opt.Warn once. A finite element that overflows T is an error. NaN and
// infinities are kept; a factorization reports them.
//
// An array in a .npy file has no symmetry. If opt.Want is a symmetric or
// triangular kind, ReadNPY keeps one triangle and ignores the other. opt may be
// nil.
//
// If the content is malformed, not supported, or larger than opt.MaxBytes, the
// error is a *[FormatError]. ReadNPY returns an error of r unchanged.
//
// Source: numpy.lib.format, NEP 1.
func ReadNPY[T blocked.Element](r io.Reader, opt *ReadOptions) (*blocked.Matrix[T], error) {
	o, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	return readNPYStream[T](r, o)
}

// readNPYStream reads the array from r in the order of the file. A tile gets
// memory when its first element has arrived. So a header that announces more
// than follows costs only a table of tiles.
func readNPYStream[T blocked.Element](r io.Reader, o ReadOptions) (*blocked.Matrix[T], error) {
	h, err := readNPYHeader(r)
	if err != nil {
		return nil, err
	}
	a, err := outline[T](&o, mtxGeneral, h.m, h.n, o.limitOr(defaultMaxBytes))
	if err != nil {
		return nil, err
	}
	if err := fillFromStream(a, h, r, o.Warn); err != nil {
		return nil, err
	}
	return a, nil
}

// warnRounded calls warn, unless it is nil, if integers were rounded.
func warnRounded[T blocked.Element](rounded *atomic.Bool, warn func(Warning)) {
	if warn != nil && rounded.Load() {
		warn(Warning{Reason: roundedReason[T]()})
	}
}

// fillFromStream fills the tiles of a with the elements in r, which follow header h.
func fillFromStream[T blocked.Element](a *blocked.Matrix[T], h *npyHeader, r io.Reader, warn func(Warning)) error {
	total, ok := h.dataBytes()
	if !ok {
		return &FormatError{Reason: fmt.Sprintf("%d×%d array is larger than any file", h.m, h.n)}
	}
	if total == 0 {
		return nil
	}
	br := bufio.NewReaderSize(io.LimitReader(r, total), fileBuffer)
	var rounded atomic.Bool
	decode := decoder[T](h.dtype, &rounded)
	lines, length := a.Dims()
	nb := a.NB()
	if h.fortran {
		lines, length = length, lines
	}
	for line := range lines {
		for at, width := 0, 0; at < length; at += width {
			width = min(length-at, nb-at%nb, npyPiece)
			i, j := line, at
			if h.fortran {
				i, j = at, line
			}
			src, err := br.Peek(width * h.dtype.size)
			if err != nil {
				return contentError(0, err)
			}
			if ti, tj := i/nb, j/nb; a.Stored(ti, tj) {
				t := a.MakeTile(ti, tj)
				inc := 1
				if h.fortran {
					inc = t.Stride
				}
				if k := decode(t.Data[i%nb*t.Stride+j%nb:], inc, width, src); k < width {
					if h.fortran {
						return overflowError[T](i+k, j)
					}
					return overflowError[T](i, j+k)
				}
			}
			br.Discard(len(src)) // cannot fail: src is in the buffer
		}
	}
	warnRounded[T](&rounded, warn)
	return nil
}

// overflowError returns the error for element (i, j), counted from 0, which overflows T.
func overflowError[T blocked.Element](i, j int) error {
	var zero T
	return &FormatError{Reason: fmt.Sprintf("the element in row %d, column %d (counted from 1) overflows %T", i+1, j+1, zero)}
}

// readNPYFile reads the array of the regular file f, which has size bytes. br
// reads f from its beginning. If the system cannot map f, readNPYFile reads it
// as a stream.
func readNPYFile[T blocked.Element](f *os.File, br *bufio.Reader, size int64, o ReadOptions) (*blocked.Matrix[T], error) {
	h, err := readNPYHeader(br)
	if err != nil {
		return nil, err
	}
	// The size of the file, not its header, says how many elements there are.
	switch total, ok := h.dataBytes(); {
	case !ok || total > size-h.offset:
		return nil, &FormatError{Reason: fmt.Sprintf("file is cut short: %d×%d elements of %d bytes do not fit the %d bytes behind the header",
			h.m, h.n, h.dtype.size, max(size-h.offset, 0))}
	case total < size-h.offset:
		return nil, &FormatError{Reason: fmt.Sprintf("%d bytes follow the end of the array", size-h.offset-total)}
	}
	a, err := outline[T](&o, mtxGeneral, h.m, h.n, o.limitOr(max(defaultMaxBytes, 2*size)))
	if err != nil {
		return nil, err
	}
	if size >= npyMapMin {
		data, err := mapFile(f, size)
		if err == nil {
			return a, errors.Join(fillFromMemory(a, h, data[h.offset:], o.Workers, o.Warn), unmapFile(data))
		}
		// The system cannot map files, or not this one: read it as a stream.
	}
	return a, fillFromStream(a, h, br, o.Warn)
}

// fillFromMemory fills the tiles of a from data, the elements of the array, with
// the given number of goroutines.
func fillFromMemory[T blocked.Element](a *blocked.Matrix[T], h *npyHeader, data []byte, workers int, warn func(Warning)) error {
	mt, nt := a.Tiles()
	n := mt * nt
	var (
		wg     sync.WaitGroup
		next   atomic.Int64
		once   sync.Once
		failed error

		rounded atomic.Bool
	)
	for range max(1, min(workers, n)) {
		wg.Go(func() {
			for k := int(next.Add(1)) - 1; k < n; k = int(next.Add(1)) - 1 {
				// Tiles in the order of the file, so that the kernel reads ahead.
				i, j := k/nt, k%nt
				if h.fortran {
					i, j = k%mt, k/mt
				}
				if !a.Stored(i, j) {
					continue
				}
				if err := fillTile(a, i, j, h, data, &rounded); err != nil {
					next.Store(int64(n))
					once.Do(func() { failed = err })
					return
				}
			}
		})
	}
	wg.Wait()
	if failed == nil {
		warnRounded[T](&rounded, warn)
	}
	return failed
}

// fillTile allocates and fills tile (i, j) of a. data is a mapped file: if
// another process cuts it short, or its device fails, access to it faults.
// fillTile turns the fault into an error.
func fillTile[T blocked.Element](a *blocked.Matrix[T], i, j int, h *npyHeader, data []byte, rounded *atomic.Bool) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch r := recover().(type) {
		case nil:
		case interface {
			runtime.Error
			Addr() uintptr
		}:
			err = fmt.Errorf("the file was cut short or became unreadable while it was read: %w", io.ErrUnexpectedEOF)
		default:
			panic(r)
		}
	}()

	t := a.MakeTile(i, j)
	i0, j0 := i*a.NB(), j*a.NB()
	_, length := h.lines(t.Rows, t.Cols)
	return decodeTile(t, h, i0, j0, rounded, func(k int) []byte {
		off := h.lineOffset(i0, j0, k)
		return data[off : off+int64(length*h.dtype.size)]
	})
}

// decodeTile fills t, whose first element is element (i0, j0) of the array. line(k) returns the bytes of
// line k of the tile: a row, or in Fortran order a column.
func decodeTile[T blocked.Element](t *blocked.Tile[T], h *npyHeader, i0, j0 int, rounded *atomic.Bool, line func(k int) []byte) error {
	decode := decoder[T](h.dtype, rounded)
	if !h.fortran {
		for r := range t.Rows {
			if k := decode(t.Data[r*t.Stride:], 1, t.Cols, line(r)); k < t.Cols {
				return overflowError[T](i0+r, j0+k)
			}
		}
		return nil
	}
	// Transpose in strips of a few rows of t, which stay in the first-level
	// cache.
	const strip = 16
	for r := 0; r < t.Rows; r += strip {
		w := min(strip, t.Rows-r)
		for c := range t.Cols {
			if k := decode(t.Data[r*t.Stride+c:], t.Stride, w, line(c)[r*h.dtype.size:]); k < w {
				return overflowError[T](i0+r+k, j0+c)
			}
		}
	}
	return nil
}
