package file

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tessera-la/tessera/blocked"
)

const (
	npyMagic  = "\x93NUMPY"
	gzipMagic = "\x1f\x8b"
	mtxMagic  = "%%MatrixMarket"

	// fileBuffer is the size of the read and write buffers: large enough to
	// make a system call's cost vanish, small enough for a core's cache.
	fileBuffer = 256 << 10
)

// Read reads the matrix file path: NumPy's .npy or Matrix Market, either
// of them compressed with gzip or not, told apart by the content and not by
// the name. A large .npy file is mapped into memory and its tiles are filled
// in parallel. A pipe or device is read as a stream. Nothing but blanks may
// follow a Matrix Market matrix, and nothing at all a .npy array.
//
// See [ReadNPY] and [ReadMatrixMarket] for what is accepted. What is wrong
// with the content is reported as a *[FormatError] that names the file, what
// is wrong with the file or its device as an error that wraps that of the
// operating system. opt may be nil.
func Read[T blocked.Element](path string, opt *ReadOptions) (*blocked.Matrix[T], error) {
	o, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var refused error
	if check := o.Check; check != nil {
		o.Check = func(h Header) error {
			refused = check(h)
			return refused
		}
	}
	if warn := o.Warn; warn != nil {
		o.Warn = func(w Warning) {
			w.File = path
			warn(w)
		}
	}
	a, err := readOpened[T](f, o)
	switch {
	case refused != nil:
		return nil, refused
	case err != nil:
		if fe, ok := errors.AsType[*FormatError](err); ok {
			fe.File = path
			return nil, fe
		}
		return nil, fmt.Errorf("file: reading %s: %w", path, err)
	}
	return a, nil
}

func readOpened[T blocked.Element](f *os.File, o ReadOptions) (*blocked.Matrix[T], error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	whole := bufio.NewReaderSize(f, fileBuffer)
	br, err := unzipped(whole)
	if err != nil {
		return nil, err
	}
	magic, err := br.Peek(len(mtxMagic)) // fewer bytes where the file is shorter
	if err != nil && err != io.EOF {
		return nil, contentError(0, err)
	}
	switch isNPY := bytes.HasPrefix(magic, []byte(npyMagic)); {
	case isNPY && br == whole && st.Mode().IsRegular():
		return readNPYFile[T](f, br, st.Size(), o)
	case isNPY:
		a, err := readNPYStream[T](br, o)
		if err != nil {
			return nil, err
		}
		return a, expectEnd(br)
	case len(magic) >= len(mtxMagic) && bytes.EqualFold(magic[:len(mtxMagic)], []byte(mtxMagic)):
		return readMatrixMarket[T](br, o)
	}
	return nil, &FormatError{Reason: "neither a .npy file nor a Matrix Market file, plain or in gzip"}
}

// unzipped returns br, or if that begins as gzip does a reader of what it decompresses
// to.
func unzipped(br *bufio.Reader) (*bufio.Reader, error) {
	magic, err := br.Peek(len(gzipMagic))
	if err != nil && err != io.EOF {
		return nil, err
	}
	if string(magic) != gzipMagic {
		return br, nil
	}
	zr, err := gzip.NewReader(br)
	if err != nil {
		return nil, contentError(0, err)
	}
	return bufio.NewReaderSize(zr, fileBuffer), nil
}

// expectEnd reads on from the end of an array, where the file must end too;
// reading the end is also what makes gzip compare its checksum.
func expectEnd(br *bufio.Reader) error {
	_, err := br.ReadByte()
	switch err {
	case io.EOF:
		return nil
	case nil:
		return &FormatError{Reason: "data follows the end of the array"}
	}
	return contentError(0, err)
}

// contentError turns an error that says that the content is cut short or
// damaged into a *FormatError, and leaves one of the device as it is.
func contentError(line int, err error) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &FormatError{Line: line, Reason: "file is cut short"}
	case corrupt, errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
		return &FormatError{Line: line, Reason: "damaged gzip data: " + err.Error()}
	}
	return err
}

// limitOr returns the memory limit of o, or dflt where o has none.
func (o *ReadOptions) limitOr(dflt int64) int64 {
	if o.MaxBytes > 0 {
		return o.MaxBytes
	}
	return dflt
}
