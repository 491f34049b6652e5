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
