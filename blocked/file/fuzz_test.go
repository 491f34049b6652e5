package file

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tessera-la/tessera/blocked"
)

// fuzzOptions keep what a fuzzed header may ask for small.
func fuzzOptions(nb, want byte) *ReadOptions {
	return &ReadOptions{NB: 1 + int(nb%20), Want: Want(want % 6), MaxBytes: 1 << 20, Workers: 2}
}

// Whatever is in the file, the reader returns a *FormatError or a matrix that
// the writer writes and the reader reads back the same.
func FuzzReadNPY(f *testing.F) {
	for _, file := range hostileNPY() {
		f.Add(file, byte(3), byte(0))
	}
	for _, descr := range []string{"<f4", ">f8", "|i1", ">u2"} {
		f.Add(npySample(1, descr, true, 7, 5), byte(3), byte(0))
		f.Add(npySample(2, descr, false, 6, 6), byte(0), byte(3))
	}
	f.Fuzz(func(t *testing.T, file []byte, nb, want byte) {
		fuzzNPY[float32](t, file, fuzzOptions(nb, want))
		fuzzNPY[float64](t, file, fuzzOptions(nb, want))
	})
}

func fuzzNPY[T blocked.Element](t *testing.T, file []byte, o *ReadOptions) {
	a, err := ReadNPY[T](bytes.NewReader(file), o)
	if !accepted(t, a != nil, err) {
		return
	}
	// The way of a mapped file comes to the same.
	wantSame(t, fromMemory[T](t, file, *o), a)
	for _, fortran := range []bool{false, true} {
		var buf bytes.Buffer
		if err := WriteNPY(&buf, a, &WriteOptions{Fortran: fortran}); err != nil {
			t.Fatal(err)
		}
		back, err := ReadNPY[T](&buf, o)
		if err != nil {
			t.Fatal(err)
		}
		wantSame(t, back, a)
	}
}

// Whatever is in an archive, the reader returns a *FormatError or the array that is in it.
func FuzzReadNPZ(f *testing.F) {
	sample := string(npySample(1, "<f2", true, 7, 5))
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		f.Add(npzBytes(method, "m.npy", sample), "")
		f.Add(npzBytes(method, "a.npy", sample, "b", sample), "a")
		f.Add(npzBytes(method, "a/", "", "a.npy", sample+"x"), "")
	}
	for _, name := range []string{"stored", "deflated", "several"} {
		content, err := os.ReadFile(filepath.Join("testdata", "npz", name+".npz"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content, "w")
		f.Add(content, "")
	}
	f.Fuzz(func(t *testing.T, file []byte, name string) {
		o := *fuzzOptions(3, 0)
		a, err := readNPZ[float64](bytes.NewReader(file), int64(len(file)), name, o)
		if !accepted(t, a != nil, err) {
			return
		}
		var buf bytes.Buffer
		if err := WriteNPY[float64](&buf, a, nil); err != nil {
			t.Fatal(err)
		}
		again := npzBytes(zip.Deflate, "m", buf.String())
		back, err := readNPZ[float64](bytes.NewReader(again), int64(len(again)), "m", o)
		if err != nil {
			t.Fatal(err)
		}
		wantSame(t, back, a)
	})
}

func FuzzReadMatrixMarket(f *testing.F) {
	for _, tt := range badMatrixMarket() {
		if len(tt.text) < 3000 {
			f.Add([]byte(tt.text), byte(3), byte(0))
		}
	}
	for k, text := range []string{
		"%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n-nan\n6e-3\n",
		"%%matrixmarket MATRIX Coordinate REAL symmetric\r\n% c\r\n\r\n 3\t3  3 \r\n\t2\t2\t5\t\r\n3 1 .5\n3 1 -inf\n",
		"%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 2\n3 1 4\n2 1 -5\n",
		"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n3 1\n2 2\n",
		"%%MatrixMarket matrix array double symmetric\n2 2\n1\n2\n3",
	} {
		f.Add([]byte(text), byte(k), byte(k))
		f.Add(gzipped(text), byte(k), byte(0))
	}
	for k, tt := range othersMatrixMarket() {
		f.Add([]byte(tt.text), byte(k), byte(k))
	}
	f.Fuzz(func(t *testing.T, file []byte, nb, want byte) {
		fuzzMatrixMarket[float32](t, file, fuzzOptions(nb, want))
		fuzzMatrixMarket[float64](t, file, fuzzOptions(nb, want))
	})
}

func fuzzMatrixMarket[T blocked.Element](t *testing.T, file []byte, o *ReadOptions) {
	a, err := ReadMatrixMarket[T](bytes.NewReader(file), o)
	if !accepted(t, a != nil, err) {
		return
	}
	// The way entry by entry comes to the same.
	sums := blocked.New[T](blocked.Full, 1, 1, 1)
	if err := scanEntries(bytes.NewReader(file), nil, func(rows, cols int, _ int64, _ bool) error {
		sums = blocked.New[T](blocked.Full, rows, cols, o.NB)
		return nil
	}, func(i, j int, v T) {
		if old := sums.At(i, j); old != 0 {
			v += old
		}
		sums.Set(i, j, v)
	}); err != nil {
		t.Fatal(err)
	}
	if half, _ := blocked.From[T](sums, a.Kind(), o.NB, blocked.CopyOptions{Workers: 1}); half != nil {
		wantSame(t, half, a)
	}
	// A matrix may fit the limit as a half and not as a whole.
	again := &ReadOptions{NB: o.NB, Want: o.Want, MaxBytes: 4 << 20}
	for _, coordinate := range []bool{false, true} {
		var buf bytes.Buffer
		if err := WriteMatrixMarket(&buf, a, &WriteOptions{Coordinate: coordinate}); err != nil {
			t.Fatal(err)
		}
		back, err := ReadMatrixMarket[T](&buf, again)
		if err != nil {
			t.Fatal(err)
		}
		wantSame(t, back, a)
	}
}

// accepted reports whether a file was, and that it was not both accepted and
// refused, nor refused with another error than a *FormatError.
func accepted(t *testing.T, matrix bool, err error) bool {
	t.Helper()
	var fe *FormatError
	switch {
	case err == nil != matrix:
		t.Fatalf("matrix: %t, error: %v", matrix, err)
	case err != nil && !errors.As(err, &fe):
		t.Fatalf("%T: %v", err, err)
	}
	return matrix
}
