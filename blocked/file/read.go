package file

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/tessera-la/tessera/blocked"
	"gonum.org/v1/gonum/mat"
)

const (
	npyMagic  = "\x93NUMPY"
	gzipMagic = "\x1f\x8b"
	zipLocal  = "PK\x03\x04"
	zipEmpty  = "PK\x05\x06" // of an archive without files
	mtxMagic  = "%%MatrixMarket"

	// mtxBanner is the longest first line of a Matrix Market file: what the format allows a
	// line to have.
	mtxBanner = 1024

	// fileBuffer is the size of the read and write buffers: large enough to
	// make a system call's cost vanish, small enough for a core's cache.
	fileBuffer = 256 << 10
)

// splitArray splits "a.npz:w" into the name of a file and that of an array in it.
func splitArray(path string) (name, array string, ok bool) {
	const sep = npzExt + ":"
	for i := 0; i+len(sep) <= len(path); i++ {
		if strings.EqualFold(path[i:i+len(sep)], sep) {
			return path[:i+len(npzExt)], path[i+len(sep):], true
		}
	}
	return "", "", false
}

// Read reads the matrix file path: NumPy's .npy or Matrix Market, either of them compressed with
// gzip or not, or an array of NumPy's .npz, told apart by the content and not by the name. A large
// .npy file is mapped into memory and its tiles are filled in parallel. A pipe or device is read as
// a stream. Nothing but blanks may follow a Matrix Market matrix, and nothing at all a .npy array.
//
// A .npz file that has one array is read by its path. Of one that has several, path names the
// array behind a colon, as in "a.npz:weights".
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
	name, array := path, ""
	f, err := os.Open(path)
	if n, a, ok := splitArray(path); err != nil && ok {
		name, array = n, a
		f, err = os.Open(name)
	}
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
	o.Warn = warnOf(name, o.Warn)
	a, err := readOpened[T](f, array, o)
	switch {
	case refused != nil:
		return nil, refused
	case err != nil:
		if fe, ok := errors.AsType[*FormatError](err); ok {
			fe.File = name
			return nil, fe
		}
		return nil, fmt.Errorf("file: reading %s: %w", name, err)
	}
	return a, nil
}

// ReadDense is [Read] into gonum's type, for programs that need no tiles: with the elements that a
// symmetric file does not have, and zeros outside a triangle that opt.Want asks for. Memory for
// tiles is in use as well while it reads. A matrix without rows or columns becomes an empty Dense,
// since gonum has no others. opt.NB counts for nothing. opt may be nil.
func ReadDense(path string, opt *ReadOptions) (*mat.Dense, error) {
	a, err := Read[float64](path, opt)
	if err != nil {
		return nil, err
	}
	d := new(mat.Dense)
	a.CopyTo(d, 0)
	return d, nil
}

// warnOf returns warn, if it is not nil, for warnings that name the file.
func warnOf(path string, warn func(Warning)) func(Warning) {
	if warn == nil {
		return nil
	}
	return func(w Warning) {
		w.File = path
		warn(w)
	}
}

// readOpened reads f, of a .npz file the named array.
func readOpened[T blocked.Element](f *os.File, array string, o ReadOptions) (*blocked.Matrix[T], error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	whole := bufio.NewReaderSize(f, fileBuffer)
	br, err := unzipped(whole)
	if err != nil {
		return nil, err
	}
	// Fewer bytes where the file is shorter. Another error comes again where it belongs.
	head, err := br.Peek(mtxBanner)
	isNPZ := bytes.HasPrefix(head, []byte(zipLocal)) || bytes.HasPrefix(head, []byte(zipEmpty))
	switch isNPY := bytes.HasPrefix(head, []byte(npyMagic)); {
	case isNPZ && br == whole && st.Mode().IsRegular():
		return readNPZ[T](f, st.Size(), array, o)
	case isNPZ:
		return nil, &FormatError{Reason: "a .npz file cannot be read from a pipe or out of gzip: its table of contents is at its end"}
	case array != "":
		return nil, &FormatError{Reason: fmt.Sprintf("no .npz file, which could have an array %q", array)}
	case isNPY && br == whole && st.Mode().IsRegular():
		return readNPYFile[T](f, br, st.Size(), o)
	case isNPY:
		a, err := readNPYStream[T](br, o)
		if err != nil {
			return nil, err
		}
		return a, expectEnd(br)
	case isMatrixMarket(head):
		return readMatrixMarket[T](br, o)
	}
	if err != nil && err != io.EOF {
		return nil, contentError(0, err)
	}
	const known = "neither a .npy or .npz file nor a Matrix Market file, plain or in gzip"
	if what := foreign(head); what != "" {
		return nil, &FormatError{Reason: known + ", but " + what}
	}
	return nil, &FormatError{Reason: known}
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
	case corrupt, errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.Is(err, zip.ErrChecksum), errors.Is(err, zip.ErrFormat):
		return &FormatError{Line: line, Reason: "damaged compressed data: " + err.Error()}
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
