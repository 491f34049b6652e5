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

// Write writes a to the file path in the format of its extension: .npy
// ([WriteNPY]) or .mtx ([WriteMatrixMarket]), and compressed with gzip if .gz
// follows. a is a Matrix, or any other blocked.Source, such as every mat.Matrix
// of gonum. opt may be nil. The error wraps that of the operating system, or
// says that the extension is unknown.
//
// Write makes a file of another name in the same directory, flushes it to the
// device, and renames it to path. So path holds either its former content or
// all of a. An existing file keeps its permissions, and Write follows a symbolic
// link. It writes directly to a pipe or a device.
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

// replaceFile gives the file path the content that write produces. After an error
// the file has its former content. If path is a pipe or a device, replaceFile
// calls write with it.
func replaceFile(path string, write func(*os.File) error) (err error) {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // path may be a symbolic link without a target
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
