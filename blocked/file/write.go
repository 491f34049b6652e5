package file

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/atomicfile"
)

// Write writes a to the file path in the format that its extension names:
// .npy ([WriteNPY]), .mtx ([WriteMatrixMarket]), and either followed by .gz
// for gzip. a is a Matrix, or any other that can be read, such as every
// mat.Matrix of gonum. opt may be nil.
//
// The file is written under another name in the same directory, flushed to
// the device and renamed to path, so that path holds either what it held
// before or all of a. An existing file keeps its permissions, a symbolic link
// is followed; a pipe or device is written to directly.
func Write[T blocked.Element](path string, a blocked.Source[T], opt *WriteOptions) error {
	name, zipped := strings.CutSuffix(strings.ToLower(path), ".gz")
	var write func(io.Writer) error
	switch ext := filepath.Ext(name); ext {
	case ".npy":
		write = func(w io.Writer) error { return WriteNPY(w, a, opt) }
	case ".mtx":
		write = func(w io.Writer) error { return WriteMatrixMarket(w, a, opt) }
	default:
		return fmt.Errorf("file: writing %s: unknown extension %q; known: .npy, .mtx, .npy.gz, .mtx.gz", path, filepath.Ext(path))
	}
	if zipped {
		plain := write
		write = func(w io.Writer) error {
			bw := bufio.NewWriterSize(w, fileBuffer)
			zw := gzip.NewWriter(bw)
			if err := plain(zw); err != nil {
				return err
			}
			return errors.Join(zw.Close(), bw.Flush())
		}
	}
	if err := replaceFile(path, func(f *os.File) error { return write(f) }); err != nil {
		return fmt.Errorf("file: writing %s: %w", path, err)
	}
	return nil
}

// replaceFile gives the file path the content that write produces, or leaves
// it as it was and returns the error. What is no file, as a pipe, is written to.
func replaceFile(path string, write func(*os.File) error) (err error) {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // so is what a link leads to that is not there
	case err != nil:
		return err
	case st.IsDir():
		return &fs.PathError{Op: "write", Path: path, Err: errors.New("is a directory")}
	case !st.Mode().IsRegular():
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	return atomicfile.Write(path, 0o666, write)
}

// symmetric reports whether a is of a type that says that it is symmetric.
func symmetric[T blocked.Element](a blocked.Source[T]) bool {
	if tiled, ok := a.(*blocked.Matrix[T]); ok {
		return tiled.Kind().Symmetric()
	}
	_, ok := a.(blocked.SymmetricSource[T])
	return ok
}

// lineInto copies what lies from element first on of row k of a, or of column k, to
// dst, which is as long as the line.
func lineInto[T blocked.Element](a blocked.Source[T], dst []T, first, k int, column bool) {
	if tiled, ok := a.(*blocked.Matrix[T]); ok {
		tiledLineInto(tiled, dst, first, k, column)
		return
	}
	for q := first; q < len(dst); q++ {
		if column {
			dst[q] = a.At(q, k)
		} else {
			dst[q] = a.At(k, q)
		}
	}
}

// tiledLineInto is lineInto with the elements that a does not store.
func tiledLineInto[T blocked.Element](a *blocked.Matrix[T], dst []T, first, k int, column bool) {
	nb := a.NB()
	for p := first / nb * nb; p < len(dst); p += nb {
		seg := dst[p:min(p+nb, len(dst))]
		i, j, down := k/nb, p/nb, column
		if column {
			i, j = j, i
		}
		if symmetric[T](a) && !a.Stored(i, j) { // the mirror image is
			i, j, down = j, i, !down
		}
		switch {
		case a.Kind() != blocked.Full && (i == j || !a.Stored(i, j)):
			for q := range seg {
				if column {
					seg[q] = a.At(p+q, k)
				} else {
					seg[q] = a.At(k, p+q)
				}
			}
		case down:
			stridedCopy(seg, a.Read(i, j), k%nb)
		default:
			copy(seg, a.Read(i, j).Row(k%nb))
		}
	}
}

// stridedCopy copies column c of t into dst.
func stridedCopy[T blocked.Element](dst []T, t *blocked.Tile[T], c int) {
	for k := range dst {
		dst[k] = t.Data[k*t.Stride+c]
	}
}
