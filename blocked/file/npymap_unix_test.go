//go:build unix

package file

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"golang.org/x/sys/unix"
)

// A file that another process cuts short while it is mapped is an error and
// not the end of the process.
func TestMappedFileShrinks(t *testing.T) {
	for _, fortran := range []bool{false, true} {
		file := npySample(1, "<f8", fortran, 600, 500)
		path := filepath.Join(t.TempDir(), "a.npy")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		data, err := mapFile(f, int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		h, err := readNPYHeader(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, 8192); err != nil {
			t.Fatal(err)
		}
		a := tiles.Outline[float64](blocked.Full, 600, 500, 64)
		if err := fillFromMemory(a, h, data[h.offset:], 4, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %v", err)
		}
		if err := unmapFile(data); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadFilePipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	want := someMatrix[float64](blocked.Full, 300, 200, 64)
	for _, write := range []func(io.Writer) error{
		func(w io.Writer) error { return WriteNPY(w, want, nil) },
		func(w io.Writer) error { return WriteMatrixMarket(w, want, nil) },
	} {
		done := make(chan error, 1)
		go func() {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err == nil {
				err = errors.Join(write(f), f.Close())
			}
			done <- err
		}()
		a, err := Read[float64](path, nil)
		if err := errors.Join(err, <-done); err != nil {
			t.Fatal(err)
		}
		wantSame(t, a, want)
	}
}
