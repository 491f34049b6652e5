package file

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/tessera-la/tessera/blocked"
	"gonum.org/v1/gonum/mat"
)

// splitArray splits "a.npz:w" into the name of the file, "a.npz", and the name of the array, "w". The
// first ".npz:" separates them, in upper or lower case. ok is false if path has none.
func splitArray(path string) (name, array string, ok bool) {
	const sep = npzExt + ":"
	for i := 0; i+len(sep) <= len(path); i++ {
		if strings.EqualFold(path[i:i+len(sep)], sep) {
			return path[:i+len(npzExt)], path[i+len(sep):], true
		}
	}
	return "", "", false
}

// Read reads the matrix file path. The file is a NumPy .npy file or a Matrix Market file, plain or
// compressed with gzip, or a NumPy .npz archive. Read recognizes the format by the content, not by
// the name. It maps a large .npy file into memory and fills the tiles in parallel. It reads a pipe
// or a device as a stream. Only blanks may follow a Matrix Market matrix, and nothing may follow a
// .npy array.
//
// The path of a .npz archive with one array is enough. If the archive has several, path names the
// array behind a colon, as in "a.npz:weights".
//
// [ReadNPY] and [ReadMatrixMarket] say which contents are accepted. opt may be nil.
//
// If the content is wrong, the error is a *[FormatError] that names the file. If the file or its
// device fails, the error wraps that of the operating system. An error of opt.Check is returned
// unchanged.
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

// ReadDense is [Read] into gonum's type, for programs that need no tiles. It fills in the triangle
// that a symmetric file leaves out, and zeros outside a triangle that opt.Want asks for. While it
// reads, the matrix needs memory for its tiles as well. A matrix without rows or columns becomes an
// empty Dense, the only kind without elements that gonum has. ReadDense ignores opt.NB. opt may be
// nil.
func ReadDense(path string, opt *ReadOptions) (*mat.Dense, error) {
	a, err := Read[float64](path, opt)
	if err != nil {
		return nil, err
	}
	d := new(mat.Dense)
	a.CopyTo(d, 0)
	return d, nil
}

// warnOf returns a function that calls warn with the file's name in the warning, or nil if warn is
// nil.
func warnOf(path string, warn func(Warning)) func(Warning) {
	if warn == nil {
		return nil
	}
	return func(w Warning) {
		w.File = path
		warn(w)
	}
}

// readOpened reads the matrix in f. If f is a .npz archive, array names the array to read.
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
	// Peek returns fewer bytes of a short file. The reader of the format meets any other error again
	// and returns it. If the format is not known, the code below the switch returns it.
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
