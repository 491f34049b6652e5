package file

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/blocked"
)

// othersMatrixMarket is files as other programs write them, and what is right: the elements, and
// the line and a part of each warning; or the line and a part of the error.
func othersMatrixMarket() []othersMtx {
	const (
		gen     = "%%MatrixMarket matrix coordinate real general\n"
		sym     = "%%MatrixMarket matrix coordinate real symmetric\n"
		skew    = "%%MatrixMarket matrix coordinate real skew-symmetric\n"
		uns     = "%%MatrixMarket matrix array unsigned-integer general\n"
		integer = "%%MatrixMarket matrix array integer general\n"
		arr     = "%%MatrixMarket matrix array real "
	)
	inf, nan := math.Inf(1), math.NaN()
	one := [][]float64{{3}}
	return []othersMtx{
		// Fields.
		{"%%MatrixMarket matrix coordinate unsigned-integer general\n2 2 1\n1 1 3\n", [][]float64{{3, 0}, {0, 0}}, nil, ""},
		{"%%MatrixMarket matrix coordinate Unsigned-Integer symmetric\n2 2 1\n2 1 +3\n", [][]float64{{0, 3}, {3, 0}}, nil, ""},
		{"%%MatrixMarket matrix array unsigned-integer skew-symmetric\n2 2\n3\n", [][]float64{{0, -3}, {3, 0}}, nil, ""},
		{uns + "1 2\n18446744073709549568\n-0\n", [][]float64{{18446744073709549568, math.Copysign(0, -1)}}, nil, ""},
		{uns + "1 1\n-3\n", nil, []int{3}, "negative"},
		{uns + "1 1\n18446744073709551616\n", nil, []int{3}, "out of range"},
		{uns + "1 1\n3.0\n", nil, []int{3}, "not an integer"},
		{"%%MatrixMarket matrix array unsigned general\n1 1\n3\n", nil, []int{1}, "known: real, double, integer, unsigned-integer, pattern"},
		{uns + "1 2\n9007199254740993\n18446744073709551615\n", [][]float64{{1 << 53, 1 << 64}}, []int{3}, "an integer is rounded to the nearest float64"},
		{integer + "1 4\n9007199254740992\n9223372036854774784\n-9007199254740993\n-9223372036854775807\n", [][]float64{{1 << 53, 9223372036854774784, -1 << 53, -1 << 63}}, []int{5}, "an integer is rounded"},
		{integer + "1 1\n18446744073709551615\n", [][]float64{{1 << 64}}, []int{3}, "an integer is rounded"}, // GraphBLAS
		{integer + "1 2\n9223372036854775808\n-9223372036854775808\n", [][]float64{{1 << 63, -1 << 63}}, nil, ""},
		{arr + "general\n1 1\n9007199254740993\n", [][]float64{{1 << 53}}, nil, ""}, // decimal numbers are always rounded
		{"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 3 0\n", nil, []int{1}, "complex elements are not supported"},
		{"%%MatrixMarket vector array real general\n2\n1\n2\n", nil, []int{1}, `object "vector" is not supported`},
		{"%%MatrixMarket mtx array real general\n2\n1\n2\n", nil, []int{1}, `object "mtx" is not supported`}, // a mmwrite.m in Trilinos

		// The banner.
		{" %%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 3.0\n", [][]float64{{3, 0}, {0, 0}}, []int{1}, "blanks stand before the banner"},
		{"\t \t%%MatrixMarket\tmatrix  array real\tgeneral \t\n1 1\n3\n", one, []int{1}, "blanks stand before the banner"},
		{"\ufeff%%MatrixMarket matrix array real general\n1 1\n3\n", one, []int{1}, "a byte order mark"},
		{"\xff\xfe%\x00%\x00M\x00a\x00", nil, []int{1}, "UTF-16"},
		{"\n" + gen + "1 1 1\n1 1 3\n", nil, []int{1}, "does not begin with %%MatrixMarket"},
		{strings.ReplaceAll(gen+"1 1 1\n1 1 3\n", "\n", "\r"), nil, []int{1}, "carriage returns"},
		{"BZh91AY&SY", nil, []int{1}, "bzip2"},
		{"%%MatrixMarket matrix coordinate real hermitian\n2 2 2\n1 1 2\n2 1 5\n", [][]float64{{2, 5}, {5, 0}}, []int{1}, "read as symmetric"},
		{"%%MatrixMarket matrix array integer hermitian\n2 2\n1\n2\n3\n", [][]float64{{1, 2}, {2, 3}}, []int{1}, "read as symmetric"},
		{"%%MatrixMarket matrix coordinate pattern hermitian\n2 2 1\n2 1\n", [][]float64{{0, 1}, {1, 0}}, []int{1}, "read as symmetric"},
		{"%%MatrixMarket matrix coordinate complex hermitian\n1 1 1\n1 1 3 0\n", nil, []int{1}, "complex elements are not supported"},

		// Indices and sizes.
		{gen + "+2 +2 +1\n+1 +02 3\n", [][]float64{{0, 3}, {0, 0}}, nil, ""},
		{gen + "2 2 1\n+-1 2 3\n", nil, []int{3}, `row index "+-1": not an integer`},
		{gen + "2 2 1\n+ 2 3\n", nil, []int{3}, "not an integer"},
		{gen + "2 2 1\n1.0 1 3\n", nil, []int{3}, "not an integer"},
		{gen + "2 2 1\n1 1e+05 3\n", nil, []int{3}, "not an integer"}, // of %g in MATLAB
		{gen + "2 2 1\n18446744073709551617 1 3\n", nil, []int{3}, "out of range"},
		{gen + "2 2 9223372036854775807\n1 1 1\n", nil, []int{3}, "ends after 1 of 9223372036854775807"},

		// Symmetry, in coordinate format.
		{skew + "2 2 2\n1 1 0\n2 1 5\n", [][]float64{{0, -5}, {5, 0}}, []int{3}, "a zero is on the diagonal"},
		{skew + "2 2 2\n2 1 5\n2 2 -0.0\n", [][]float64{{0, -5}, {5, 0}}, []int{4}, "a zero is on the diagonal"},
		{skew + "2 2 2\n2 1 5\n2 2 1e-300\n", nil, []int{4}, "entry (2, 2) is on the diagonal and not zero"},
		{skew + "2 2 1\n1 1 nan\n", nil, []int{3}, "not zero"},
		{sym + "3 3 3\n1 1 4\n1 2 1\n3 1 2\n", [][]float64{{4, 1, 2}, {1, 0, 0}, {2, 0, 0}}, []int{4}, "above the diagonal"},
		{sym + "2 2 3\n1 1 4\n2 1 1\n1 2 1\n", nil, []int{5}, "entries (1, 2) and (2, 1) are both there"},
		{sym + "% c\n2 2 4\n1 1 4\n\n1 2 0\n% c\n2 2 4\n2 1 0\n", nil, []int{9}, "entries (2, 1) and (1, 2) are both there"},
		{skew + "3 3 3\n2 1 4\n3 1 1\n1 3 -1\n", nil, []int{5}, "entries (1, 3) and (3, 1) are both there"},
		{"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n2 1\n1 2\n", nil, []int{4}, "both there"},

		// And in array format.
		{arr + "symmetric\n2 2\n1\n2\n2\n3\n", [][]float64{{1, 2}, {2, 3}}, []int{6}, "all its elements"},
		{arr + "symmetric\n3 3\n1\n2\n3\n% c\n2\n4\nnan\n3\nnan\n6\n", [][]float64{{1, 2, 3}, {2, 4, nan}, {3, nan, 6}}, []int{10}, "all its elements"},
		{arr + "symmetric\n2 2\n1\n2\n\n7\n3\n", nil, []int{6}, "element (1, 2) is 7, which (2, 1) does not mirror"},
		{arr + "symmetric\n3 3\n1\n2\n3\n4\n5\n6\n7\n", nil, []int{9}, "7 values for a symmetric array of 3×3, which has 6"},
		{arr + "symmetric\n2 2\n1\n2\n3\nx\n", nil, []int{6}, `text behind the last entry that the size line announces: "x"`},
		{arr + "symmetric\n2 2\n1\n2\n2\n3\n3\n", nil, []int{7}, "text behind the last entry"},
		{arr + "symmetric\n2 2\n1\n2\n", nil, []int{4}, "ends after 2 of 3"},
		{arr + "symmetric\n2147483647 2147483647\n1\n", nil, []int{2}, ""}, // too large
		{arr + "symmetric\n1 1\n3\n", one, nil, ""},
		{arr + "skew-symmetric\n3 3\n1\n2\n3\n4\n", nil, []int{6}, "4 values for a skew-symmetric array of 3×3, which has 3: the elements below the diagonal"},
		{arr + "skew-symmetric\n1 1\n", [][]float64{{0}}, nil, ""},
		{arr + "skew-symmetric\n1 1\n0\n", [][]float64{{0}}, []int{3}, "the zeros on its diagonal"},
		{arr + "skew-symmetric\n2 2\n0\n5\n0\n", [][]float64{{0, -5}, {5, 0}}, []int{4}, "the zeros on its diagonal"}, // MATLAB
		{arr + "skew-symmetric\n3 3\n0\n1\n2\n0\n3\n-0\n", [][]float64{{0, -1, -2}, {1, 0, -3}, {2, 3, 0}}, []int{6}, "the zeros on its diagonal"},
		{arr + "skew-symmetric\n2 2\n0\n5\n1\n", nil, []int{5}, "entry (2, 2) is on the diagonal and not zero"},
		{arr + "skew-symmetric\n2 2\n0\n5\n-5\n0\n", [][]float64{{0, -5}, {5, 0}}, []int{4}, "all its elements"},
		{arr + "skew-symmetric\n2 2\n0\n5\n5\n0\n", nil, []int{5}, "element (1, 2) is 5, which (2, 1) does not mirror"},

		// Values, and what is beside them.
		{arr + "general\n1 6\nnan(0x1)\n-NaN(ind)\nnan()\n1.\n+.5e+1\n4.9e-324\n", [][]float64{{nan, nan, nan, 1, 5, 5e-324}}, nil, ""},
		{arr + "general\n1 1\ninf(ind)\n", nil, []int{3}, "not a number"},
		{arr + "general\n1 1\n1.#INF\n", nil, []int{3}, "not a number"},
		{arr + "general\n1 1\n0.1-101\n", nil, []int{3}, "not a number"},
		{arr + "general\n1 1\n1,5\n", nil, []int{3}, "not a number"},
		{arr + "general\n1 2\n1.0D+00 % c\n-Infinity\n", [][]float64{{1, -inf}}, []int{3, 3}, "an exponent is Fortran's|a comment stands behind an entry"},
		{gen + "2 2 1\n1 1 3 % c\n", [][]float64{{3, 0}, {0, 0}}, []int{3}, "a comment stands behind an entry"},
		{"%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1 %c\n", [][]float64{{1}}, []int{3}, "a comment stands behind an entry"},
		{"%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1 7 %c\n", [][]float64{{1}}, []int{3, 3}, "has a value|a comment stands behind an entry"},
		{gen + "2 2 1\n1 1 3 c\n", nil, []int{3}, `text behind the entry: "c"`},
		{gen + "2 2 2\n1 1 3 2 2 4\n", nil, []int{3}, "text behind the entry"},
		{arr + "general\n1 2\n3 4\n", nil, []int{3}, "more than one value"},
		{gen + "1 1 1\n1 1 3\n\x1a", nil, []int{4}, `text behind the last entry that the size line announces: "\x1a"`},
	}
}

type othersMtx struct {
	text  string
	rows  [][]float64 // nil: an error
	lines []int       // of the warnings, or of the error
	want  string      // parts of the warnings, or of the error
}

// TestOthersMatrixMarket: files of others are read, or refused, alike by every entrance.
func TestOthersMatrixMarket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mtx")
	for _, tt := range othersMatrixMarket() {
		if err := os.WriteFile(path, []byte(tt.text), 0o666); err != nil {
			t.Fatal(err)
		}
		var got []Warning
		warn := func(w Warning) { got = append(got, w) }
		for name, read := range map[string]func() (*blocked.Matrix[float64], error){
			"Read": func() (*blocked.Matrix[float64], error) { return Read[float64](path, &ReadOptions{NB: 2, Warn: warn}) },
			"ReadMatrixMarket": func() (*blocked.Matrix[float64], error) {
				return ReadMatrixMarket[float64](bytes.NewReader(gzipped(tt.text)), &ReadOptions{NB: 2, Warn: warn})
			},
			"ReadEntries": func() (*blocked.Matrix[float64], error) { return readSums(path, warn) },
		} {
			got = nil
			a, err := read()
			if tt.rows == nil {
				fe, ok := errors.AsType[*FormatError](err)
				switch {
				case name == "Read" && tt.lines[0] == 1 && ok && fe.Line == 0: // of a file that does not look like one of the format
				case !ok || fe.Line != tt.lines[0] || !strings.Contains(fe.Reason, tt.want):
					t.Errorf("%s of %.100q: %v, want line %d: %s", name, tt.text, err, tt.lines[0], tt.want)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s of %.100q: %v", name, tt.text, err)
				continue
			}
			want := blocked.New[float64](blocked.Full, len(tt.rows), len(tt.rows[0]), 4)
			for i, row := range tt.rows {
				for j, v := range row {
					want.Set(i, j, v)
				}
			}
			wantSame(t, a, want)
			lines := slices.Collect(func(yield func(int) bool) {
				for _, w := range got {
					yield(w.Line)
				}
			})
			if !slices.Equal(lines, tt.lines) {
				t.Errorf("%s of %.100q: warnings %v, want some of lines %v", name, tt.text, got, tt.lines)
				continue
			}
			for k, part := range strings.Split(tt.want, "|")[:len(got)] {
				if !strings.Contains(got[k].Reason, part) {
					t.Errorf("%s of %.100q: %v, want %s", name, tt.text, got[k], part)
				}
			}
		}
	}
}

// readSums makes a matrix of what ReadEntries hands out.
func readSums(path string, warn func(Warning)) (a *blocked.Matrix[float64], err error) {
	err = ReadEntries(path, warn, func(rows, cols int, _ int64, _ bool) error {
		if rows > 1000 || cols > 1000 {
			return &FormatError{Reason: "too large"}
		}
		a = blocked.New[float64](blocked.Full, rows, cols, 3)
		return nil
	}, func(i, j int, v float64) {
		if old := a.At(i, j); old != 0 {
			v += old
		}
		a.Set(i, j, v)
	})
	return a, err
}

// TestForeign: what is no file of ours is called by its name.
func TestForeign(t *testing.T) {
	tar := make([]byte, 1024)
	copy(tar[257:], "ustar")
	path := filepath.Join(t.TempDir(), "a")
	for content, want := range map[string]string{
		"\xff\xfe%\x00%\x00":             "UTF-16",
		"BZh91AY&SY":                     "bzip2",
		"\xfd7zXZ\x00":                   "xz",
		"\x28\xb5\x2f\xfd":               "Zstandard",
		"\x89HDF\r\n\x1a\n":              "HDF5",
		"MATLAB 5.0 MAT-file, Platform:": "MATLAB",
		"\x80\x04\x95":                   "pickle",
		string(tar):                      "tar archive",
		string(gzipped(string(tar))):     "tar archive",
		"1 2 3\n4 5 6\n":                 "neither a .npy or .npz file nor a Matrix Market file, plain or in gzip",
	} {
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := Read[float64](path, nil)
		if fe, ok := errors.AsType[*FormatError](err); !ok || fe.File != path || !strings.Contains(fe.Reason, want) {
			t.Errorf("%.20q: %v, want %s", content, err, want)
		}
	}
}
