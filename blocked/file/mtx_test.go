package file

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tessera-la/tessera/blocked"
)

// TestReadMatrixMarket holds what is accepted against what it means: the rows
// of the matrix and its kind.
func TestReadMatrixMarket(t *testing.T) {
	inf := math.Inf(1)
	tests := []struct {
		name, text string
		want       Want
		kind       blocked.Kind
		rows       [][]float64
	}{
		{"array", "%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6\n", 0, blocked.Full, [][]float64{{1, 3, 5}, {2, 4, 6}}},
		{"no newline at the end", "%%MatrixMarket matrix array real general\n1 2\n1\n2", 0, blocked.Full, [][]float64{{1, 2}}},
		{"coordinate", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 5\n2 1 -1e-3\n", 0, blocked.Full, [][]float64{{0, 5}, {-1e-3, 0}}},
		{"case, CRLF, tabs, blanks", "%%matrixmarket MATRIX Coordinate REAL General\r\n% c\r\n\r\n 2\t2  1 \r\n\t1\t2\t5\t\r\n \t\r\n", 0, blocked.Full, [][]float64{{0, 5}, {0, 0}}},
		{"comments anywhere", "%%MatrixMarket matrix array double general\n%\n%a\n1 2\n%b\n1\n\n  %c\n2\n%d\n\n", 0, blocked.Full, [][]float64{{1, 2}}},
		{"long comment", "%%MatrixMarket matrix array real general\n%" + strings.Repeat("x", 3*mtxBuffer+7) + "\n1 1\n5\n%" + strings.Repeat("y", mtxBuffer), 0, blocked.Full, [][]float64{{5}}},
		{"long line", "%%MatrixMarket matrix array real general\n1 1\n" + strings.Repeat(" ", mtxBuffer-10) + "5\n", 0, blocked.Full, [][]float64{{5}}},
		{"long number", "%%MatrixMarket matrix array real general\n1 1\n0." + strings.Repeat("3", 4000) + "\n", 0, blocked.Full, [][]float64{{1.0 / 3}}},
		{"duplicates are added", "%%MatrixMarket matrix coordinate real general\n1 2 3\n1 2 5\n1 2 -2\n1 2 0.5\n", 0, blocked.Full, [][]float64{{0, 3.5}}},
		{"integer", "%%MatrixMarket matrix coordinate integer general\n1 3 3\n1 1 -7\n1 2 +9\n1 3 -9223372036854775808\n", 0, blocked.Full, [][]float64{{-7, 9, math.MinInt64}}},
		{"pattern", "%%MatrixMarket matrix coordinate pattern general\n2 2 3\n1 1\n2 1\n2 1\n", 0, blocked.Full, [][]float64{{1, 0}, {2, 0}}},
		{"pattern symmetric", "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n", 0, blocked.SymLower, [][]float64{{0, 1}, {1, 0}}},
		{"numbers", "%%MatrixMarket matrix array real general\n1 14\n+1\n-0\n.5\n5.\n1E3\n1e-400\n123456789012345678901234567890\nNaN\n-nan\ninf\n-INF\nInfinity\n+Inf\n007\n", 0, blocked.Full,
			[][]float64{{1, math.Copysign(0, -1), .5, 5, 1000, 0, 123456789012345678901234567890, math.NaN(), math.NaN(), inf, -inf, inf, inf, 7}}},
		{"symmetric array", "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n", 0, blocked.SymLower, [][]float64{{1, 2}, {2, 3}}},
		{"symmetric as full", "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n", WantFull, blocked.Full, [][]float64{{1, 2}, {2, 3}}},
		{"symmetric as upper", "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n", WantSymUpper, blocked.SymUpper, [][]float64{{1, 2}, {2, 3}}},
		{"symmetric as lower triangle", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n2 1 2\n", WantTriLower, blocked.TriLower, [][]float64{{1, 0}, {2, 0}}},
		{"symmetric as upper triangle", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n2 1 2\n", WantTriUpper, blocked.TriUpper, [][]float64{{1, 2}, {0, 0}}},
		{"general as symmetric lower", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", WantSymLower, blocked.SymLower, [][]float64{{1, 2}, {2, 4}}},
		{"general as symmetric upper", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", WantSymUpper, blocked.SymUpper, [][]float64{{1, 3}, {3, 4}}},
		{"skew array", "%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n", 0, blocked.Full, [][]float64{{0, -1, -2}, {1, 0, -3}, {2, 3, 0}}},
		{"skew coordinate", "%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 1\n3 1 4\n", 0, blocked.Full, [][]float64{{0, 0, -4}, {0, 0, 0}, {4, 0, 0}}},
		{"skew as upper triangle", "%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 1\n3 1 4\n", WantTriUpper, blocked.TriUpper, [][]float64{{0, 0, -4}, {0, 0, 0}, {0, 0, 0}}},
		{"no entries", "%%MatrixMarket matrix coordinate real general\n2 1 0\n", 0, blocked.Full, [][]float64{{0}, {0}}},
		{"0×0", "%%MatrixMarket matrix array real symmetric\n0 0\n", 0, blocked.SymLower, [][]float64{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			readers := map[string]io.Reader{
				"plain":   strings.NewReader(tt.text),
				"gzip":    bytes.NewReader(gzipped(tt.text)),
				"trickle": iotest.DataErrReader(iotest.HalfReader(strings.NewReader(tt.text))),
			}
			if len(tt.text) < 10000 {
				readers["bytes"] = iotest.OneByteReader(strings.NewReader(tt.text))
			}
			for name, r := range readers {
				a, err := ReadMatrixMarket[float64](r, &ReadOptions{NB: 2, Want: tt.want})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if a.Kind() != tt.kind {
					t.Errorf("%s: kind %v, want %v", name, a.Kind(), tt.kind)
				}
				want := blocked.New[float64](blocked.Full, len(tt.rows), len(append(tt.rows, nil)[0]), 4)
				for i, row := range tt.rows {
					for j, v := range row {
						want.Set(i, j, v)
					}
				}
				wantSame(t, a, want)
			}
		})
	}
}

// TestReadMatrixMarketWarnings: what is against the rules and read all the same, as SuiteSparse's
// Ragusa16 is, is told once, and no reader has to listen.
func TestReadMatrixMarketWarnings(t *testing.T) {
	const (
		value    = "an entry of a pattern has a value"
		above    = "above the diagonal"
		exponent = "an exponent is Fortran's"
	)
	type warning struct {
		line   int
		reason string
	}
	for _, tt := range []struct {
		text string
		rows [][]float64
		want []warning
	}{
		{"%%MatrixMarket matrix coordinate pattern general\n2 2 3\n1 1\n2 1 7\n2 2 -1.5\n", [][]float64{{1, 0}, {1, 1}}, []warning{{4, value}}},
		{"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 2 7\n1 1\n", [][]float64{{1, 1}, {1, 0}}, []warning{{3, value}, {3, above}}},
		{"%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 3 5\n1 3 1\n2 1 3\n3 3 0\n", [][]float64{{0, 3, 6}, {3, 0, 0}, {6, 0, 0}}, []warning{{3, above}}},
		{"%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n1 3 5\n2 1 3\n", [][]float64{{0, -3, 5}, {3, 0, 0}, {-5, 0, 0}}, []warning{{3, above}}},
		{"%%MatrixMarket matrix array real general\n1 4\n1.5D+02\n-2d-1\n1D0\n4\n", [][]float64{{150, -.2, 1, 4}}, []warning{{3, exponent}}},
		{"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1.5D+02\n", [][]float64{{150}}, []warning{{3, exponent}}},
		{"%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 1\n", [][]float64{{0, 1}, {1, 0}}, nil},
	} {
		for _, w := range []Want{WantFull, WantAsStored, WantSymUpper} {
			if w == WantSymUpper && !strings.Contains(tt.text, " symmetric") {
				continue
			}
			path := filepath.Join(t.TempDir(), "a.mtx.gz")
			if err := os.WriteFile(path, gzipped(tt.text), 0o666); err != nil {
				t.Fatal(err)
			}
			var got []Warning
			a, err := Read[float64](path, &ReadOptions{NB: 2, Want: w, Warn: func(w Warning) { got = append(got, w) }})
			if err != nil {
				t.Errorf("%q: %v", tt.text, err)
				continue
			}
			for i, row := range tt.rows {
				for j, v := range row {
					if a.At(i, j) != v {
						t.Errorf("%q as %v: (%d, %d) is %v, want %v", tt.text, w, i, j, a.At(i, j), v)
					}
				}
			}
			if len(got) != len(tt.want) {
				t.Errorf("%q: warnings %v, want %v", tt.text, got, tt.want)
				continue
			}
			for k, x := range tt.want {
				if g := got[k]; g.File != path || g.Line != x.line || !strings.Contains(g.Reason, x.reason) || !strings.HasPrefix(g.String(), path+":") {
					t.Errorf("%q: %v, want line %d: %s", tt.text, g, x.line, x.reason)
				}
			}
			if _, err := ReadMatrixMarket[float64](strings.NewReader(tt.text), nil); err != nil {
				t.Errorf("%q, unasked: %v", tt.text, err)
			}
		}
	}
}

func gzipped(text string) []byte {
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	io.WriteString(zw, text)
	zw.Close()
	return b.Bytes()
}

// badMatrixMarket is malformed or hostile files and the line where they are
// wrong.
func badMatrixMarket() []badMtx {
	const (
		gen   = "%%MatrixMarket matrix coordinate real general\n"
		sym   = "%%MatrixMarket matrix coordinate real symmetric\n"
		array = "%%MatrixMarket matrix array real general\n"
	)
	return []badMtx{
		{"", 1, "empty"},
		{"\n\n", 1, "does not begin"},
		{"%MatrixMarket matrix array real general\n1 1\n1\n", 1, "does not begin"},
		{"%%MatrixMarket\n", 1, "banner"},
		{"%%MatrixMarket matrix array real general extra\n1 1\n1\n", 1, "banner"},
		{"%%MatrixMarket vector array real general\n", 1, "object"},
		{"%%MatrixMarket matrix sparse real general\n", 1, "format"},
		{"%%MatrixMarket matrix array quaternion general\n", 1, "field"},
		{"%%MatrixMarket matrix array complex general\n", 1, "complex"},
		{"%%MatrixMarket matrix coordinate complex hermitian\n", 1, "complex"},
		{"%%MatrixMarket matrix coordinate real unitary\n", 1, "known: general, symmetric, skew-symmetric, hermitian"},
		{"%%MatrixMarket matrix array real triangular\n", 1, "symmetry"},
		{"%%MatrixMarket matrix array pattern general\n", 1, "pattern"},
		{"%%MatrixMarket matrix coordinate pattern skew-symmetric\n", 1, "pattern"},
		{"%%MatrixMarket matrix array real" + strings.Repeat(" ", 2000) + "general\n", 1, "banner"},
		{gen, 1, "size line"},
		{gen + "% c\n\n", 3, "size line"},
		{gen + "2 2\n", 2, "size line"},
		{gen + "2 2 1 1\n", 2, "size line"},
		{gen + "2 x 1\n", 2, "not an integer"},
		{gen + "2 -2 1\n", 2, `size "-2" is negative`},
		{gen + "2 --2 1\n", 2, "not an integer"},
		{gen + "2147483647 2147483647 1\n1 1 1\n", 2, fmt.Sprintf("takes more than 100 PiB, and the limit is %d bytes", min(int64(8<<30), mostBytes))},
		{gen + "2 2.0 1\n", 2, "not an integer"},
		{gen + "99999999999999999999 2 1\n", 2, "out of range"},
		{gen + "2 2 99999999999999999999\n1 1 1\n", 2, "out of range"},
		{sym + "2 3 1\n", 2, "square"},
		{gen + "1000000000 1000000000 1\n1 1 1\n", 2, "limit"},
		{sym + "1000000000 1000000000 1\n1 1 1\n", 2, "limit"},
		{gen + "9000000000 1 1\n1 1 1\n", 2, "dimension"},
		{gen + "0 9000000000000000000 0\n", 2, "dimension"},
		{array + "1000000000 1000000000\n1\n", 2, "limit"},
		{array + "4294967296 4294967296\n1\n", 2, "dimension"},
		{gen + "2 2 9000000000000000000\n1 1 1\n", 3, "ends after 1 of"},
		{gen + "% c\n2 2 2\n1 1 1\n", 4, "ends after 1 of 2"},
		{gen + "2 2 1\n", 2, "ends after 0 of 1"},
		{gen + "2 2 1\n1 1 1\n2 2 1\n", 4, "behind the last entry"},
		{gen + "2 2 1\n1 1 1\n\nx", 5, "behind the last entry"},
		{gen + "2 2 1\n3 1 1\n", 3, "row index 3 is outside 1..2"},
		{gen + "2 2 1\n1 3 1\n", 3, "column index 3 is outside 1..2"},
		{gen + "2 2 1\n0 1 1\n", 3, "row index 0"},
		{gen + "2 2 1\n1 0 1\n", 3, "column index 0"},
		{gen + "2 2 1\n-1 1 1\n", 3, "negative"},
		{gen + "2 2 1\n-x 1 1\n", 3, "not an integer"},
		{gen + "2 2 1\n99999999999999999999 1 1\n", 3, "out of range"},
		{gen + "0 0 1\n1 1 1\n", 3, "outside"},
		{gen + "2 2 1\n1 1\n", 3, "missing"},
		{gen + "2 2 1\n1\n", 3, "column index"},
		{gen + "2 2 1\n1 1 1 1\n", 3, "behind the entry"},
		{gen + "2 2 1\n1 1 1x\n", 3, "not a number"},
		{gen + "2 2 1\r\n\r\n%\r\n1 1 z\r\n", 5, "not a number"},
		{"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1 x\n", 3, "behind the entry"},
		{"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1 1 1\n", 3, "behind the entry"},
		{"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 1.5\n", 3, "not an integer"},
		{"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 18446744073709551616\n", 3, "out of range"},
		{"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 -9223372036854775809\n", 3, "out of range"},
		{sym + "2 2 2\n1 2 1\n2 1 1\n", 4, "entries (2, 1) and (1, 2) are both there"},
		{sym + "2 2 2\n2 1 1\n1 2 1\n", 4, "entries (1, 2) and (2, 1) are both there"},
		{"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 1\n", 3, "a skew-symmetric matrix has zeros there"},
		{array + "2 1\n1\n", 3, "ends after 1 of 2"},
		{array + "1 1\n1\n2\n", 4, "behind the last entry"},
		{array + "1 2\n1 2\n", 3, "more than one value"},
		{array + "1 1\n1e999\n", 3, "out of range"},
		{array + "1 1\n0x1p3\n", 3, "not a number"},
		{array + "1 1\n1_000\n", 3, "not a number"},
		{array + "1 1\n1e\n", 3, "not a number"},
		{array + "1 1\n1e+\n", 3, "not a number"},
		{array + "1 1\n.\n", 3, "not a number"},
		{array + "1 1\n+\n", 3, "not a number"},
		{array + "1 1\n1dd5\n", 3, "not a number"},
		{array + "1 1\nd5\n", 3, "not a number"},
		{array + "1 1\n1e5d\n", 3, "not a number"},
		{array + "1 1\n1D999\n", 3, "out of range"},
		{"%%MatrixMarket matrix array integer general\n1 1\n--5\n", 3, "not an integer"},
		{"%%MatrixMarket matrix array integer general\n1 1\n1D5\n", 3, "not an integer"},
		{array + "1 1\ninfinit\n", 3, "not a number"},
		{array + "1 1\n\x00\n", 3, "not a number"},
		{array + "1 1\n" + strings.Repeat("\xff", 1000) + "\n", 3, "not a number"},
		{array + "1 1\n" + strings.Repeat(" ", mtxBuffer+1) + "1\n", 3, "longer than"},
	}
}

type badMtx struct {
	text   string
	line   int
	reason string
}

func TestReadMatrixMarketBad(t *testing.T) {
	for k, tt := range badMatrixMarket() {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			for _, file := range [][]byte{[]byte(tt.text), gzipped(tt.text)} {
				_, err := ReadMatrixMarket[float64](bytes.NewReader(file), nil)
				var fe *FormatError
				if !errors.As(err, &fe) {
					t.Fatalf("%.80q: got %v", tt.text, err)
				}
				if fe.Line != tt.line || !strings.Contains(fe.Reason, tt.reason) {
					t.Errorf("%.80q: got %d, %q; want %d, %q", tt.text, fe.Line, fe.Reason, tt.line, tt.reason)
				}
			}
			wantFormatError(t, "", func() error {
				_, err := ReadMatrixMarket[float64](strings.NewReader(tt.text), nil)
				return err
			})
		})
	}
	wantFormatError(t, "", func() error {
		_, err := ReadMatrixMarket[float32](strings.NewReader("%%MatrixMarket matrix array real general\n1 1\n1e39\n"), nil)
		return err
	})
	wantFormatError(t, "", func() error {
		_, err := ReadMatrixMarket[float32](strings.NewReader("%%MatrixMarket matrix array real skew-symmetric\n2 2\n1\n"), &ReadOptions{Want: WantSymLower})
		return err
	})
}

// Tiles far larger than the matrix cost nothing, in a symmetric file with entries above the
// diagonal, too.
func TestReadMatrixMarketLargeNB(t *testing.T) {
	const text = "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 3 5\n2 3 7\n1 1 2\n"
	for _, nb := range []int{2, 3, 1 << 16, maxNB} {
		a, err := ReadMatrixMarket[float64](strings.NewReader(text), &ReadOptions{NB: nb, Warn: func(Warning) {}})
		if err != nil {
			t.Fatal(err)
		}
		if a.At(0, 0) != 2 || a.At(2, 0) != 5 || a.At(2, 1) != 7 || a.At(1, 0) != 0 {
			t.Errorf("nb %d: %v %v %v %v", nb, a.At(0, 0), a.At(2, 0), a.At(2, 1), a.At(1, 0))
		}
	}
}

// Compressed text that is damaged or cut anywhere is told from an error of the
// device.
func TestReadMatrixMarketGzip(t *testing.T) {
	file := gzipped("%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n")
	boom := errors.New("device failed")
	for cut := range len(file) {
		if cut >= len(gzipMagic) {
			wantFormatError(t, "", func() error {
				_, err := ReadMatrixMarket[float64](bytes.NewReader(file[:cut]), nil)
				return err
			})
		}
		_, err := ReadMatrixMarket[float64](io.MultiReader(bytes.NewReader(file[:cut]), iotest.ErrReader(boom)), nil)
		if !errors.Is(err, boom) {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
	bad := bytes.Clone(file)
	bad[len(bad)-6] ^= 1 // the checksum
	wantFormatError(t, "", func() error { _, err := ReadMatrixMarket[float64](bytes.NewReader(bad), nil); return err })

	// A few kilobytes that name a large array and would unpack to all of it
	// stop at the limit, before the first element.
	bomb := gzipped("%%MatrixMarket matrix array real general\n2000 2000\n" + strings.Repeat("0\n", 4000000))
	if len(bomb) > 20000 {
		t.Fatalf("bomb of %d bytes", len(bomb))
	}
	wantFormatError(t, "", func() error {
		_, err := ReadMatrixMarket[float64](bytes.NewReader(bomb), &ReadOptions{MaxBytes: 1 << 20})
		return err
	})
}

func TestWriteMatrixMarketKinds(t *testing.T) {
	testWriteMatrixMarketKinds[float32](t)
	testWriteMatrixMarketKinds[float64](t)
}

func testWriteMatrixMarketKinds[T blocked.Element](t *testing.T) {
	for kind := blocked.Full; kind <= blocked.TriUpper; kind++ {
		for _, n := range []int{0, 1, 3, 4, 5, 11} {
			m := n
			if kind == blocked.Full {
				m = n + 2
			}
			a := someMatrix[T](kind, m, n, 4)
			for _, o := range []WriteOptions{{}, {Coordinate: true, Comment: "made\nby a test"}} {
				var buf bytes.Buffer
				if err := WriteMatrixMarket(&buf, a, &o); err != nil {
					t.Fatal(err)
				}
				text := buf.String()
				b, err := ReadMatrixMarket[T](&buf, &ReadOptions{NB: 3})
				if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				if symmetric := kind == blocked.SymLower || kind == blocked.SymUpper; symmetric != (b.Kind() == blocked.SymLower) {
					t.Errorf("%v came back as %v", kind, b.Kind())
				}
				wantSame(t, b, a)
			}
		}
	}
}

func TestWriteMatrixMarketText(t *testing.T) {
	a := blocked.New[float64](blocked.SymLower, 2, 2, 8)
	a.Set(0, 0, 0.1)
	a.Set(1, 1, 1e100)
	for _, tt := range []struct {
		o    WriteOptions
		want string
	}{
		{WriteOptions{}, "%%MatrixMarket matrix array real symmetric\n2 2\n0.1\n0\n1e+100\n"},
		{WriteOptions{Coordinate: true, Comment: "x"}, "%%MatrixMarket matrix coordinate real symmetric\n% x\n2 2 2\n1 1 0.1\n2 2 1e+100\n"},
	} {
		var buf bytes.Buffer
		if err := WriteMatrixMarket(&buf, a, &tt.o); err != nil || buf.String() != tt.want {
			t.Errorf("got %q, %v", buf.String(), err)
		}
	}
}
