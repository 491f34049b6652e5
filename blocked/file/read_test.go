package file

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"gonum.org/v1/gonum/mat"
)

func TestFileRoundTrip(t *testing.T) {
	dir := t.TempDir()
	for _, ext := range []string{".npy", ".npy.gz", ".mtx", ".mtx.gz", ".MTX"} {
		for _, kind := range []blocked.Kind{blocked.Full, blocked.SymLower, blocked.TriUpper} {
			n := 101
			if ext == ".npy" {
				n = 401 // large enough to be mapped
			}
			a := someMatrix[float64](kind, n, n, 100)
			path := filepath.Join(dir, "a"+ext)
			if err := Write(path, a, nil); err != nil {
				t.Fatal(err)
			}
			o := &ReadOptions{NB: 128, Workers: 2}
			if kind == blocked.TriUpper {
				o.Want = WantTriUpper
			}
			b, err := Read[float64](path, o)
			if err != nil {
				t.Fatal(err)
			}
			wantSame(t, b, a)

			// The content counts, not the name.
			other := filepath.Join(dir, "matrix.dat")
			if err := os.Rename(path, other); err != nil {
				t.Fatal(err)
			}
			if b, err = Read[float64](other, o); err != nil {
				t.Fatal(err)
			}
			wantSame(t, b, a)
		}
	}
	if names, _ := filepath.Glob(filepath.Join(dir, ".*")); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

func TestReadFileErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read[float64](filepath.Join(dir, "none"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	var fe *FormatError
	if _, err := Read[float64](dir, nil); err == nil || errors.As(err, &fe) {
		t.Errorf("directory: %v", err)
	}
	whole := npySample(1, "<f8", false, 3, 3)
	for name, content := range map[string][]byte{
		"empty":             nil,
		"text":              []byte("hello"),
		"npy and more":      append(bytes.Clone(whole), 1),
		"npy.gz and more":   gzipped(string(whole) + "x"),
		"npy.gz cut":        gzipped(string(whole[:len(whole)-1])),
		"gzip of nothing":   gzipped(""),
		"gzip of gzip":      gzipped(string(gzipped("%%MatrixMarket matrix array real general\n0 0\n"))),
		"half a gzip magic": []byte(gzipMagic),
		"mtx":               []byte("%%MatrixMarket matrix array real general\n1 1\n"),
	} {
		path := filepath.Join(dir, "f")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			wantFormatError(t, path, func() error { _, err := Read[float64](path, nil); return err })
		})
	}
}

func TestReadOptionsValidate(t *testing.T) {
	o := &ReadOptions{NB: -1, Want: 77, MaxBytes: -1, Workers: -1}
	err := o.Validate()
	for _, name := range []string{"NB", "Want", "MaxBytes", "Workers"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
	if _, err := ReadMatrixMarket[float64](strings.NewReader(""), o); err == nil {
		t.Error("accepted")
	}
	if err := (*ReadOptions)(nil).Validate(); err != nil {
		t.Error(err)
	}
}

// A write that fails leaves the file as it was and nothing beside it.
func TestWriteFileFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.npy")
	if err := os.WriteFile(path, []byte("precious"), 0o640); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("disk full")
	err := replaceFile(path, func(w *os.File) error {
		w.Write(make([]byte, 2*fileBuffer))
		return boom
	})
	if !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != "precious" {
		t.Errorf("file holds %q", b)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}

	a := blocked.New[float64](blocked.Full, 2, 2, 2)
	if err := Write(path, a, nil); err != nil {
		t.Fatal(err)
	}
	if st, _ := os.Stat(path); runtime.GOOS != "windows" && st.Mode().Perm() != 0o640 {
		t.Errorf("mode became %v", st.Mode())
	}
	if err := Write(filepath.Join(dir, "a.csv"), a, nil); err == nil || !strings.Contains(err.Error(), ".mtx.gz") {
		t.Errorf("got %v", err)
	}
	if err := Write(filepath.Join(dir, "none", "a.npy"), a, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestWriteFileSymlink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target.npy"), filepath.Join(dir, "link.npy")
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	if err := Write(link, blocked.New[float64](blocked.Full, 3, 3, 2), nil); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Lstat(link); err != nil || st.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", st, err)
	}
	if _, err := Read[float64](target, nil); err != nil {
		t.Error(err)
	}
}

var rewrite = flag.Bool("rewrite", false, "rewrite the matrix files in testdata/files")

// TestStiffness writes stiffness matrices as finite element programs hand them
// out, compares them with the files kept in testdata/files, and reads them
// back.
func TestStiffness(t *testing.T) {
	for _, tt := range []struct {
		name string
		a    *blocked.Matrix[float64]
		cond float64 // at least
	}{
		{"bar120.mtx", laplacian1D(120), 1e3},
		{"membrane9x8.mtx", laplacian2D(9, 8), 10},
		{"beam160.mtx", cantilever(160), 1e10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join("testdata", "files", tt.name)
			var buf bytes.Buffer
			comment := "stiffness matrix made by TestStiffness"
			if err := WriteMatrixMarket(&buf, tt.a, &WriteOptions{Coordinate: true, Comment: comment}); err != nil {
				t.Fatal(err)
			}
			if *rewrite {
				if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			b, err := Read[float64](path, &ReadOptions{NB: 32})
			if err != nil {
				t.Fatal(err)
			}
			if b.Kind() != blocked.SymLower {
				t.Errorf("kind %v", b.Kind())
			}
			wantSame(t, b, tt.a)

			n, _ := b.Dims()
			s := mat.NewSymDense(n, nil)
			for i := range n {
				for j := i; j < n; j++ {
					s.SetSym(i, j, b.At(i, j))
				}
			}
			var chol mat.Cholesky
			if !chol.Factorize(s) || chol.Cond() < tt.cond {
				t.Errorf("condition number %g, want at least %g", chol.Cond(), tt.cond)
			}
		})
	}
}

func laplacian1D(n int) *blocked.Matrix[float64] {
	a := blocked.New[float64](blocked.SymLower, n, n, 32)
	for i := range n {
		a.Set(i, i, 2)
		if i > 0 {
			a.Set(i, i-1, -1)
		}
	}
	return a
}

func laplacian2D(p, q int) *blocked.Matrix[float64] {
	a := blocked.New[float64](blocked.SymLower, p*q, p*q, 32)
	for i := range p * q {
		a.Set(i, i, 4)
		if i%q > 0 {
			a.Set(i, i-1, -1)
		}
		if i >= q {
			a.Set(i, i-q, -1)
		}
	}
	return a
}

// cantilever returns the stiffness matrix of a clamped Euler–Bernoulli beam
// of unit length and rigidity with the given number of elements: two degrees
// of freedom a node, deflection and slope, on scales that are far apart.
func cantilever(elements int) *blocked.Matrix[float64] {
	h := 1 / float64(elements)
	k := [4][4]float64{
		{12, 6 * h, -12, 6 * h},
		{6 * h, 4 * h * h, -6 * h, 2 * h * h},
		{-12, -6 * h, 12, -6 * h},
		{6 * h, 2 * h * h, -6 * h, 4 * h * h},
	}
	a := blocked.New[float64](blocked.SymLower, 2*elements, 2*elements, 32)
	for e := range elements {
		for r := range 4 {
			for c := range r + 1 {
				if i, j := 2*e-2+r, 2*e-2+c; j >= 0 {
					a.Set(i, j, a.At(i, j)+k[r][c]/math.Pow(h, 3))
				}
			}
		}
	}
	return a
}

// TestReadCheck: who refuses what a header says is not made to wait until the rest has been
// unpacked, and gets its own error. That the rest is damaged nobody notices.
func TestReadCheck(t *testing.T) {
	refuse := errors.New("refused")
	big := strings.Repeat("0\n", 10<<20)
	for name, content := range map[string]string{
		"a.mtx": "%%MatrixMarket matrix array real symmetric\n20000 20000\n" + big,
		"a.npy": string(npyBytes(1, npyDict("<f8", false, "(20000, 20000)"), nil)) + big,
	} {
		packed := gzipped(content)
		clear(packed[len(packed)/2:])
		path := filepath.Join(t.TempDir(), name+".gz")
		if err := os.WriteFile(path, packed, 0o666); err != nil {
			t.Fatal(err)
		}
		var told Header
		_, err := Read[float64](path, &ReadOptions{MaxBytes: 1, Check: func(h Header) error {
			told = h
			return refuse
		}})
		want := Header{20000, 20000, blocked.Full}
		if name == "a.mtx" {
			want.Kind = blocked.SymLower
		}
		if err != refuse || told != want {
			t.Errorf("%s: %v, told %v", name, err, told)
		}
		if _, err := Read[float64](path, &ReadOptions{MaxBytes: 4 << 30, Check: func(Header) error { return nil }}); !errors.As(err, new(*FormatError)) {
			t.Errorf("%s, accepted: %v, want that it is damaged", name, err)
		}
	}
}
