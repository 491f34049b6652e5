package csr_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/james-bowman/sparse"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/blocked/parts"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/csr"
	"go.uber.org/goleak"
	"gonum.org/v1/gonum/mat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, ends()...) }

// ends are goroutines of fasthttp, which end a while after their server or client.
func ends() (all []goleak.Option) {
	for _, f := range []string{"updateServerDate.func1", "(*Client).mCleaner", "(*HostClient).connsCleaner", "(*workerPool).Start.func2"} {
		all = append(all, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp."+f))
	}
	return all
}

func start(t testing.TB, workers int) exec.Runtime {
	t.Helper()
	rt, err := exec.NewLocal(exec.Options{Workers: workers, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	return rt
}

// random returns an m×n matrix with about so many elements, some rows without any and one that
// is full, and the same dense.
func random(t testing.TB, rt exec.Runtime, m, n, entries int, seed uint64) (*csr.Matrix, *mat.Dense) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 1))
	dense := mat.NewDense(m, n, nil)
	var is, js []int
	var vs []float64
	add := func(i, j int) {
		v := rnd.NormFloat64()
		is, js, vs = append(is, i), append(js, j), append(vs, v)
		dense.Set(i, j, dense.At(i, j)+v)
	}
	for range entries {
		if i := rnd.IntN(m); i%3 != 1 {
			add(i, rnd.IntN(n))
		}
	}
	for j := range n {
		add(m/2, j)
	}
	a, err := csr.FromCOO(rt, m, n, is, js, vs)
	if err != nil {
		t.Fatal(err)
	}
	return a, dense
}

func vector(n int, seed uint64) []float64 {
	rnd := rand.New(rand.NewPCG(seed, 2))
	x := make([]float64, n)
	for i := range x {
		x[i] = rnd.NormFloat64()
	}
	return x
}

// near reports an error unless got is want up to a few roundings of sums of n terms.
func near(t *testing.T, what string, got, want mat.Matrix, n int) {
	t.Helper()
	var d mat.Dense
	d.Sub(got, want)
	if bound := 1e-15 * float64(n+4) * (1 + mat.Max(want) - mat.Min(want)); !(mat.Norm(&d, 1) < bound*float64(n+4)) {
		t.Errorf("%s: differs by %v", what, mat.Norm(&d, 1))
	}
}

// TestProducts: all products against dense ones, and the same bits on any number of workers.
func TestProducts(t *testing.T) {
	type bits struct{ y, z, p, g []float64 }
	for _, size := range [][3]int{{1, 1, 0}, {7, 4, 9}, {300, 40, 900}, {40, 300, 2000}, {3000, 50, 60000}} {
		m, n := size[0], size[1]
		var before *bits
		for _, workers := range []int{1, 3} {
			rt := start(t, workers)
			a, dense := random(t, rt, m, n, size[2], uint64(m))
			name := fmt.Sprintf("%d×%d with %d entries in %d blocks on %d workers", m, n, a.Entries(), a.Blocks(), workers)
			x, y, w, z := vector(n, 3), vector(m, 4), vector(m, 5), vector(n, 6)
			if err := errors.Join(a.MulVecTo(t.Context(), y, false, x), a.MulVecTo(t.Context(), z, true, w)); err != nil {
				t.Fatal(err)
			}
			var want mat.VecDense
			want.MulVec(dense, mat.NewVecDense(n, x))
			near(t, name+": A·x", mat.NewVecDense(m, y), &want, n)
			want.Reset()
			want.MulVec(dense.T(), mat.NewVecDense(m, w))
			near(t, name+": Aᵀ·x", mat.NewVecDense(n, z), &want, m)
			const width = 5
			b := mat.NewDense(n, width, vector(n*width, 7))
			var p, p2, product mat.Dense
			if err := errors.Join(a.MulTo(t.Context(), &p, b), a.MulTo(t.Context(), &p2, mat.DenseCopyOf(b.T()).T())); err != nil {
				t.Fatal(err)
			}
			product.Mul(dense, b)
			near(t, name+": A·B", &p, &product, n)
			if !mat.Equal(&p, &p2) {
				t.Errorf("%s: another product with a transpose", name)
			}
			var g mat.SymDense
			if err := a.GramTo(t.Context(), &g); err != nil {
				t.Fatal(err)
			}
			product.Reset()
			product.Mul(dense.T(), dense)
			near(t, name+": AᵀA", &g, &product, m)
			if a.T() != a.T() || a.T().T() != a {
				t.Errorf("%s: another transpose", name)
			}
			got := &bits{y, z, p.RawMatrix().Data, g.RawSymmetric().Data}
			if before != nil && !(slices.Equal(got.y, before.y) && slices.Equal(got.z, before.z) && slices.Equal(got.p, before.p) && slices.Equal(got.g, before.g)) {
				t.Errorf("%s: other bits than on one worker", name)
			}
			before = got
		}
	}
}

// TestBlocks: blocks cover the rows and are balanced by entries; as a collection they can be
// split, and a loop over partitions computes the product.
func TestBlocks(t *testing.T) {
	rt := start(t, 2)
	a, dense := random(t, rt, 20000, 300, 200000, 8)
	var bytes int64
	for b := range a.Blocks() {
		bytes += a.Bytes(b)
		lo, hi := a.Rows(b)
		if hi-lo != a.Items(b) || a.Bytes(b) > 3*a.Bytes(0) || b < a.Blocks()-1 && 3*a.Bytes(b) < a.Bytes(0) {
			t.Errorf("block %d: rows %d to %d, %d bytes", b, lo, hi, a.Bytes(b))
		}
	}
	if a.Blocks() < 10 || bytes != a.Memory()-8 {
		t.Errorf("%d blocks, %d of %d bytes", a.Blocks(), bytes, a.Memory())
	}
	ps := parts.Split(rt, a, 0)
	if len(ps.Partitions()) != 2 || ps.Len() != 20000 {
		t.Fatal(len(ps.Partitions()), ps.Len())
	}
	x, y, raw := vector(300, 9), make([]float64, 20000), a.CSR().RawMatrix()
	if err := loop.For(t.Context(), rt, ps.Len(), loop.Options{Parts: ps.Parts()}, func(c loop.Chunk) error {
		for s := range ps.Spans(c.Lo, c.Hi) {
			for i := s.First; i < s.First+s.Hi-s.Lo; i++ {
				for k := raw.Indptr[i]; k < raw.Indptr[i+1]; k++ {
					y[i] += raw.Data[k] * x[raw.Ind[k]]
				}
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var want mat.VecDense
	want.MulVec(dense, mat.NewVecDense(300, x))
	near(t, "by partitions", mat.NewVecDense(20000, y), &want, 300)
}

// TestNonFinite: what is stored propagates NaN, and what is not, not.
func TestNonFinite(t *testing.T) {
	rt := start(t, 2)
	nan := math.NaN()
	a, err := csr.FromCOO(rt, 3, 3, []int{0, 0, 2}, []int{0, 2, 1}, []float64{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	y := make([]float64, 3)
	if err := a.MulVecTo(t.Context(), y, false, []float64{1, nan, 1}); err != nil || y[0] != 3 || y[1] != 0 || !math.IsNaN(y[2]) {
		t.Error(y, err)
	}
	if _, _, found := a.NonFinite(); found {
		t.Error("all is finite")
	}
	raw := a.CSR().RawMatrix()
	raw.Data[1] = math.Inf(1) // the same memory
	if i, j, found := a.NonFinite(); !found || i != 0 || j != 2 {
		t.Error(i, j, found)
	}
}

func TestMisfits(t *testing.T) {
	rt := start(t, 1)
	a, _ := random(t, rt, 5, 4, 9, 10)
	y5, y4 := make([]float64, 5), make([]float64, 4)
	for name, err := range map[string]error{
		"x":     a.MulVecTo(t.Context(), y5, false, y5),
		"dst":   a.MulVecTo(t.Context(), y4, false, y4),
		"trans": a.MulVecTo(t.Context(), y5, true, y4),
		"B":     a.MulTo(t.Context(), new(mat.Dense), mat.NewDense(5, 2, nil)),
		"C":     a.MulTo(t.Context(), mat.NewDense(4, 2, nil), mat.NewDense(4, 2, nil)),
		"gram":  a.GramTo(t.Context(), mat.NewSymDense(5, nil)),
	} {
		if se, ok := errors.AsType[*la.ShapeError](err); !ok {
			t.Errorf("%s: %v", name, se)
		}
	}
	for name, f := range map[string]func() error{
		"rows":    func() error { _, err := csr.FromCOO(rt, -1, 2, nil, nil, nil); return err },
		"lengths": func() error { _, err := csr.FromCOO(rt, 2, 2, []int{1}, nil, nil); return err },
		"column":  func() error { _, err := csr.FromCOO(rt, 2, 2, []int{1}, []int{2}, []float64{1}); return err },
		"order": func() error {
			_, err := csr.New(rt, sparse.NewCSR(2, 2, []int{0, 2, 1}, []int{0, 1}, []float64{1, 1}))
			return err
		},
		"far": func() error {
			_, err := csr.New(rt, sparse.NewCSR(1, 2, []int{0, 1}, []int{2}, []float64{1}))
			return err
		},
		"short": func() error {
			_, err := csr.New(rt, sparse.NewCSR(2, 2, []int{0, 1}, []int{0}, []float64{1}))
			return err
		},
		"long": func() error {
			_, err := csr.New(rt, sparse.NewCSR(1, 2, []int{0, 3}, []int{0}, []float64{1}))
			return err
		},
	} {
		if err := f(); err == nil {
			t.Errorf("%s: no error", name)
		} else if _, ok := errors.AsType[*csr.StructureError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := csr.FromCOO(rt, 2, 2, []int{1, -1}, []int{0, 1}, []float64{1, 1}); err == nil || !strings.Contains(err.Error(), "row 0 of 2, of entry 2") {
		t.Errorf("a row that there is not: %v", err)
	}
	square, _ := random(t, rt, 4, 4, 9, 11)
	for _, f := range []func(){
		func() { _ = square.MulVecTo(t.Context(), y4, false, y4) },
		func() { d := mat.NewDense(4, 4, nil); _ = square.MulTo(t.Context(), d, d) },
	} {
		func() {
			defer func() {
				if v := recover(); v != csr.ErrOverlap {
					t.Error(v)
				}
			}()
			f()
		}()
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if err := a.MulVecTo(ended, y5, false, y4); !errors.Is(err, cause) {
		t.Error(err)
	}
}

// TestRead: what file.Read makes dense, sparse; general, symmetric and skew, in both formats and
// compressed.
func TestRead(t *testing.T) {
	rt := start(t, 1)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	w.Write([]byte("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 1\n"))
	w.Close()
	paths := []string{
		write("general.mtx", "%%MatrixMarket matrix coordinate real general\n% a comment\n3 4 5\n3 4 1.5\n1 1 2\n3 4 0.25\n1 3 -1\n3 1 nan\n"),
		write("symmetric.mtx", "%%MatrixMarket matrix coordinate integer symmetric\n3 3 3\n1 1 7\n3 1 2\n3 2 0\n"),
		write("upper.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n1 2 7\n1 3 2\n"),
		write("upper.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 2 7\n3 1 2\n1 2 1\n"),
		write("skew.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 7\n3 1 2\n"),
		write("array.mtx", "%%MatrixMarket matrix array real general\n2 3\n1\n0\n0\n4\n5\n0\n"),
		write("empty.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 0\n"),
		write("zipped.mtx.gz", zipped.String()),
	}
	more, _ := filepath.Glob("../../blocked/file/testdata/files/*.mtx")
	for _, path := range append(paths, more...) {
		a, err := csr.Read(rt, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := file.Read[float64](path, &file.ReadOptions{Want: file.WantFull})
		if err != nil {
			t.Fatal(err)
		}
		m, n := want.Dims()
		if r, c := a.Dims(); r != m || c != n {
			t.Fatalf("%s: %d×%d", path, r, c)
		}
		got, nonzero := a.CSR(), 0
		for i := range m {
			for j := range n {
				x, y := got.At(i, j), want.At(i, j)
				if x != y && !(math.IsNaN(x) && math.IsNaN(y)) {
					t.Fatalf("%s: element (%d, %d) is %v, want %v", path, i, j, x, y)
				}
				if y != 0 {
					nonzero++
				}
			}
		}
		if a.Entries() != nonzero {
			t.Errorf("%s: %d entries, %d elements are not zero", path, a.Entries(), nonzero)
		}
	}
	for _, bad := range []struct {
		text string
		line int
	}{
		{"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n", 3},
		{"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 1\n", 3},
		{"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n1 1 1\n", 4},
		{"%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 1 1\n", 1},
		{"%%MatrixMarket matrix coordinate real general\n2147483647 1 1\n1 1 1\n", 2},
		{"%%MatrixMarket matrix coordinate real general\n2 2 4000000000000\n1 1 1\n", 2},
		{"%%MatrixMarket matrix coordinate real general\n99999999999 1 1\n1 1 1\n", 2},
		{"%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 2 7\n3 1 2\n2 1 7\n", 5},
		{"", 1},
	} {
		path := write("bad.mtx", bad.text)
		_, err := csr.Read(rt, path, nil)
		if fe, ok := errors.AsType[*file.FormatError](err); !ok || fe.File != path || fe.Line != bad.line {
			t.Errorf("%q: %v", bad.text, err)
		}
	}
	// What others write is read as into a dense matrix, and told as there.
	for text, line := range map[string]int{
		" %%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 3.0\n":                                      1,
		"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n1 1 0\n2 1 5\n":                           3,
		"%%MatrixMarket matrix coordinate unsigned-integer general\n2 2 1\n+1 1 9007199254740993\n":             3,
		"%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n2\n3\n":                                         6,
		"%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 2 7\n3 1 2\n1 2 1\n":                         3,
		"\ufeff%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 3.0\n":                                 1,
		"%%MatrixMarket matrix coordinate unsigned-integer symmetric\n2 2 2\n1 1 3\n2 1 18446744073709551615\n": 4,
	} {
		path := write("others.mtx", text)
		var told []file.Warning
		a, err := csr.Read(rt, path, &csr.ReadOptions{Warn: func(w file.Warning) { told = append(told, w) }})
		if err != nil {
			t.Error(err)
			continue
		}
		if want, err := file.ReadDense(path, nil); err != nil || !mat.Equal(a.CSR(), want) {
			t.Errorf("%q: %v, %v", text, mat.Formatted(a.CSR()), err)
		}
		if len(told) != 1 || told[0].File != path || told[0].Line != line {
			t.Errorf("%q: told %v, want line %d", text, told, line)
		}
	}
	if _, err := csr.Read(rt, filepath.Join(dir, "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := csr.Read(rt, paths[0], &csr.ReadOptions{MaxBytes: 100}); err == nil {
		t.Error("read beyond the limit")
	}
	if _, err := csr.Read(rt, paths[0], &csr.ReadOptions{MaxBytes: -1}); err == nil {
		t.Error("read with a negative limit")
	}
}

// BenchmarkMulVec is A·x on a matrix of 2^20 rows of 16 elements in random columns near the
// diagonal, ours and package sparse's.
func BenchmarkMulVec(b *testing.B) {
	rt := start(b, 0)
	const n, row = 1 << 20, 16
	rnd := rand.New(rand.NewPCG(1, 1))
	ia, ja, data := make([]int, n+1), make([]int, n*row), make([]float64, n*row)
	for i := range n {
		ia[i+1] = ia[i] + row
		for k := range row {
			ja[i*row+k] = min(max(i+rnd.IntN(2000)-1000, 0), n-1)
			data[i*row+k] = rnd.Float64()
		}
		slices.Sort(ja[i*row : i*row+row])
	}
	s := sparse.NewCSR(n, n, ia, ja, data)
	a, err := csr.New(rt, s)
	if err != nil {
		b.Fatal(err)
	}
	x, y := vector(n, 1), make([]float64, n)
	run := func(name string, entry int, product func() error) {
		b.Run(name, func(b *testing.B) {
			bytes, best := float64(entry*n*row+24*n), math.Inf(1) // entries, row pointers, x and y
			for b.Loop() {
				began := time.Now()
				if err := product(); err != nil {
					b.Fatal(err)
				}
				best = min(best, time.Since(began).Seconds())
			}
			b.ReportMetric(best*1e3, "best-ms")
			b.ReportMetric(bytes/best/1e9, "best-GB/s")
		})
	}
	run("ours", 12, func() error { return a.MulVecTo(b.Context(), y, false, x) })
	one, err := csr.New(start(b, 1), s)
	if err != nil {
		b.Fatal(err)
	}
	run("oneworker", 12, func() error { return one.MulVecTo(b.Context(), y, false, x) })
	run("sparse", 16, func() error { sparse.MulMatRawVec(s, x, y); return nil })
}
