package file

import (
	"bytes"
	"math"
	"path/filepath"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"gonum.org/v1/gonum/mat"
)

// TestDense writes gonum's matrices, as what they are, and reads them into its Dense.
func TestDense(t *testing.T) {
	d := mat.NewDense(3, 2, []float64{1, -2, 1.0 / 3, math.Inf(1), 5e-324, math.NaN()})
	s := mat.NewSymDense(3, []float64{1, 2, 3, 0, 4, 5, 0, 0, 6})
	u := mat.NewTriDense(3, mat.Upper, []float64{1, 2, 3, 0, 4, 5, 0, 0, 6})
	tiled := blocked.New[float64](blocked.SymUpper, 3, 3, 2)
	tiled.CopyFrom(s, blocked.CopyOptions{})
	dir := t.TempDir()
	for _, ext := range []string{".npy", ".mtx", ".npy.gz", ".mtx.gz"} {
		path := filepath.Join(dir, "a"+ext)
		for k, a := range []mat.Matrix{d, d.T(), d.Slice(1, 3, 0, 1), s, u, u.T(), mat.NewVecDense(2, []float64{7, 8}), mat.NewDiagDense(2, []float64{7, 8}), tiled, new(mat.Dense)} {
			for _, o := range []*WriteOptions{nil, {Fortran: true, Coordinate: true}} {
				if err := Write(path, a, o); err != nil {
					t.Fatal(err)
				}
				b, err := ReadDense(path, &ReadOptions{NB: 2})
				if err != nil {
					t.Fatal(err)
				}
				if m, n := b.Dims(); m != 0 {
					wantSame(t, inTiles(b, n), inTiles(a, n))
				} else if r, _ := a.Dims(); r != 0 {
					t.Errorf("%s, %d: %d×%d", path, k, m, n)
				}
				// Only what says that it is symmetric becomes a symmetric file.
				c, err := Read[float64](path, nil)
				if err != nil {
					t.Fatal(err)
				}
				_, symmetric := a.(mat.Symmetric)
				if isMtx := ext[1] == 'm'; (c.Kind() == blocked.SymLower) != (symmetric && isMtx) {
					t.Errorf("%s, %d: kind %v", path, k, c.Kind())
				}
			}
		}
	}
	// Elements are float64 without a word, and may be float32.
	g := blocked.General[float32]{Rows: 1, Cols: 2, Stride: 2, Data: []float32{1, 0.1}}
	var b bytes.Buffer
	if err := WriteMatrixMarket(&b, g, nil); err != nil || b.String() != "%%MatrixMarket matrix array real general\n1 2\n1\n0.1\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
	if _, err := ReadDense(filepath.Join(dir, "none"), nil); err == nil {
		t.Error("read a file that is not there")
	}
}

func inTiles(a mat.Matrix, nb int) *blocked.Matrix[float64] {
	b, _ := blocked.From(a, blocked.Full, nb, blocked.CopyOptions{Workers: 1})
	return b
}
