package bench

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
)

// write puts a matrix of a kind into a file.
func write(t *testing.T, name string, kind blocked.Kind, spec matgen.Spec, change func(a *blocked.Matrix[float64])) string {
	t.Helper()
	g := la.General[float64]{Rows: spec.M, Cols: spec.N, Stride: max(1, spec.N), Data: make([]float64, spec.M*spec.N)}
	if err := matgen.Generate(spec, g.Data, g.Stride); err != nil {
		t.Fatal(err)
	}
	a, _ := blocked.From[float64](g, kind, 16, blocked.CopyOptions{})
	if change != nil {
		change(a)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := file.Write(path, a, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestInput(t *testing.T) {
	const n = 50
	spd := matgen.Spec{Kind: matgen.SPDCond, M: n, N: n}
	wide := matgen.Spec{Kind: matgen.Random, M: 30, N: 70}
	symmetric := write(t, "s.mtx.gz", blocked.SymLower, spd, nil)
	array := write(t, "s.npy", blocked.Full, spd, nil)
	rectangle := write(t, "r.mtx", blocked.Full, wide, nil)
	for _, test := range []struct {
		s       Spec
		m, n, k int
		want    string // a part of the error
	}{
		{Spec{Problem: Problem{Op: "cholesky"}, Input: symmetric}, n, n, 0, ""},
		{Spec{Problem: Problem{Op: "cholesky", N: n, NB: 7}, Input: symmetric}, n, n, 0, ""},
		{Spec{Problem: Problem{Op: "cholesky"}, Input: array}, n, n, 0, ""},
		{Spec{Problem: Problem{Op: "gemm"}, Input: symmetric}, n, n, n, ""},
		{Spec{Problem: Problem{Op: "gemm"}, Input: rectangle}, 30, 70, 70, ""},
		{Spec{Problem: Problem{Op: "gemm", N: 5}, Input: rectangle}, 30, 5, 70, ""},
		{Spec{Problem: Problem{Op: "syrk"}, Input: rectangle}, 30, 30, 70, ""},
		{Spec{Problem: Problem{Op: "trsm"}, Input: array}, n, n, 0, ""},
		{Spec{Problem: Problem{Op: "trsm", N: 3}, Input: symmetric}, n, 3, 0, ""},
		{Spec{Problem: Problem{Op: "cholesky", N: n + 1}, Input: symmetric}, 0, 0, 0, "the matrix is 50×50, but another shape was asked for"},
		{Spec{Problem: Problem{Op: "gemm", K: 30}, Input: rectangle}, 0, 0, 0, "another shape was asked for"},
		{Spec{Problem: Problem{Op: "cholesky"}, Input: rectangle}, 0, 0, 0, "the matrix is 30×70, and cholesky needs a square one"},
		{Spec{Problem: Problem{Op: "trsm"}, Input: rectangle}, 0, 0, 0, "square"},
		{Spec{Problem: Problem{Op: "cholesky"}, Input: filepath.Join(t.TempDir(), "none.mtx")}, 0, 0, 0, "no such file"},
		{Spec{Problem: Problem{Op: "cholesky"}, Input: write(t, "e.mtx", blocked.Full, matgen.Spec{}, nil)}, 0, 0, 0, "the matrix is 0×0, which is nothing to measure"},
		{Spec{Problem: Problem{Op: "cholesky"}, Input: write(t, "u.npy", blocked.Full, spd, func(a *blocked.Matrix[float64]) { a.Set(40, 3, 9) })},
			0, 0, 0, "not symmetric: element (41, 4), counted from 1, is 9 and (4, 41)"},
		// What rounding may have done to a symmetric matrix is let pass.
		{Spec{Problem: Problem{Op: "cholesky"}, Input: write(t, "u.npy", blocked.Full, spd, func(a *blocked.Matrix[float64]) { a.Set(40, 3, a.At(40, 3)+1e-16) })},
			n, n, 0, ""},
	} {
		for _, typ := range Types() {
			s := test.s
			s.Type, s.Repeat, s.Warmup, s.Verify, s.NoPeak = typ, 1, -1, true, true
			r, err := Run(context.Background(), s)
			switch {
			case test.want != "":
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%+v: %v, want %q", s, err, test.want)
				}
			case err != nil || !r.Passed || r.M != test.m || r.N != test.n || r.K != test.k:
				t.Errorf("%+v: %+v, %v", s, r, err)
			}
		}
	}
}

// TestInputOfOthers: files that other programs write are read, alike in float32, and what is not as
// the format has it is told.
func TestInputOfOthers(t *testing.T) {
	dir := t.TempDir()
	for k, test := range []struct {
		text, told string
	}{
		{" %%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 3.0\n", "blanks stand before the banner"},
		{"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n1 1 0\n2 1 5\n", "a zero is on the diagonal"},
		{"%%MatrixMarket matrix coordinate unsigned-integer general\n2 2 1\n+1 1 3\n", ""},
		{"%%MatrixMarket matrix array unsigned-integer general\n1 1\n9007199254740993\n", "an integer is rounded to the nearest float"},
		{"\ufeff%%MatrixMarket matrix array real symmetric\n1 1\n3\n", "a byte order mark"},
	} {
		path := filepath.Join(dir, fmt.Sprintf("%d.mtx", k))
		if err := os.WriteFile(path, []byte(test.text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, typ := range Types() {
			var told []file.Warning
			r, err := Run(context.Background(), Spec{Problem: Problem{Op: "gemm", Type: typ},
				Input:  path,
				Repeat: 1,
				Warmup: -1,
				Verify: true,
				NoPeak: true,
				Warn:   func(w file.Warning) { told = append(told, w) }})
			if err != nil || !r.Passed {
				t.Errorf("%q: %+v, %v", test.text, r, err)
			}
			if (test.told != "") != (len(told) == 1) || test.told != "" && !strings.Contains(told[0].String(), test.told) {
				t.Errorf("%q as %s: told %v, want %s", test.text, typ, told, test.told)
			}
		}
	}
	for _, name := range []string{"deflated.npz", "several.npz:w"} {
		path := filepath.Join("../../../../blocked/file/testdata/npz", name)
		if r, err := Run(context.Background(), Spec{Problem: Problem{Op: "gemm"}, Input: path, Repeat: 1, Warmup: -1, NoPeak: true}); err != nil || r.M != 2 || r.K != 2 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	_, err := Run(context.Background(), Spec{Problem: Problem{Op: "gemm"}, Input: "../../../../blocked/file/testdata/npz/several.npz", NoPeak: true})
	var format *file.FormatError
	if !errors.As(err, &format) || !strings.Contains(err.Error(), `"w", "b", "f", "h", "s"`) {
		t.Errorf("no name of an array: %v", err)
	}
}

// TestMinor checks that the failing minor is the one that LAPACK names, at
// every place in a tile and across tiles.
func TestMinor(t *testing.T) {
	const n, nb = 40, 16
	for minor := 1; minor <= n; minor++ {
		spec := matgen.Spec{Kind: matgen.Indefinite, M: n, N: n, Minor: minor}
		path := write(t, fmt.Sprintf("i%d.mtx", minor), blocked.SymLower, spec, nil)
		_, err := Run(context.Background(), Spec{Problem: Problem{Op: "cholesky", NB: nb}, Input: path, Repeat: 1, NoPeak: true})
		var npd *la.NotPositiveDefiniteError
		if !errors.As(err, &npd) || npd.Minor != minor {
			t.Errorf("minor %d: %v", minor, err)
		}
	}
}

func TestBadInput(t *testing.T) {
	path := write(t, "nan.mtx", blocked.SymLower, matgen.Spec{Kind: matgen.SPD, M: 20, N: 20}, func(a *blocked.Matrix[float64]) { a.Set(9, 4, math.NaN()) })
	_, err := Run(context.Background(), Spec{Problem: Problem{Op: "cholesky"}, Input: path, NoPeak: true})
	var nan *la.NonFiniteError
	if !errors.As(err, &nan) || nan.Row != 4 || nan.Col != 9 {
		t.Errorf("NaN: %v", err)
	}
	spoilt := func(i, j int, v float64) string {
		return write(t, "spoilt.npy", blocked.Full, matgen.Spec{Kind: matgen.SPD, M: 40, N: 40}, func(a *blocked.Matrix[float64]) { a.Set(i, j, v) })
	}
	inf := math.Inf(1)
	for _, test := range []struct {
		op   string
		i, j int
		v    float64
		want string // empty: op does not read the element
	}{
		{"gemm", 3, 17, math.NaN(), "spoilt.npy: the element in row 4, column 18 (counted from 1) is NaN"},
		{"gemm", 39, 39, -inf, "the element in row 40, column 40 (counted from 1) is infinite"},
		{"syrk", 0, 0, inf, "the element in row 1, column 1 (counted from 1) is infinite"},
		{"trsm", 20, 7, math.NaN(), "the element in row 21, column 8 (counted from 1) is NaN"},
		{"trsm", 7, 20, math.NaN(), ""},
		{"cholesky", 5, 5, math.NaN(), "the element in row 6, column 6 (counted from 1) is NaN"},
	} {
		for _, typ := range Types() {
			_, err := Run(context.Background(), Spec{Problem: Problem{Op: test.op, Type: typ}, Input: spoilt(test.i, test.j, test.v), Repeat: 1, NoPeak: true, Verify: true})
			var bad *InputError
			switch {
			case test.want == "" && err != nil, test.want != "" && (!errors.As(err, &bad) || !strings.HasSuffix(err.Error(), test.want)):
				t.Errorf("%s %s: %v, want %q", test.op, typ, err, test.want)
			case test.want != "" && (!errors.As(err, &nan) || nan.Row != test.i || nan.Col != test.j):
				t.Errorf("%s %s: %v is not la's error", test.op, typ, err)
			}
		}
	}
	path = filepath.Join(t.TempDir(), "x.mtx")
	if err := os.WriteFile(path, []byte("%%MatrixMarket matrix array real general\n2 2\n1\n2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var format *file.FormatError
	if _, err = Run(context.Background(), Spec{Problem: Problem{Op: "gemm"}, Input: path}); !errors.As(err, &format) || format.File != path {
		t.Errorf("format: %v", err)
	}
}

// TestLargeInput: a packed file is not unpacked if what its header says needs more memory than
// there is; this one is damaged behind it.
func TestLargeInput(t *testing.T) {
	const text = "%%MatrixMarket matrix array real general\n2000000 2000000\n"
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write([]byte(text + strings.Repeat("0\n", 1<<20)))
	w.Close()
	clear(packed.Bytes()[packed.Len()/2:])
	path := filepath.Join(t.TempDir(), "large.mtx.gz")
	if err := os.WriteFile(path, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, op := range Ops() {
		_, err := Run(context.Background(), Spec{Problem: Problem{Op: op}, Input: path, NoPeak: true})
		var room *MemoryError
		if !errors.As(err, &room) || room.Need < 4e12*8 {
			t.Errorf("%s: %v", op, err)
		}
	}
	_, err := Run(context.Background(), Spec{Problem: Problem{Op: "gemm", K: 3}, Input: path, NoPeak: true})
	var shape *ShapeError
	if !errors.As(err, &shape) {
		t.Errorf("another shape: %v", err)
	}
}
