package file

import (
	"archive/zip"
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/blocked"
)

// npzBytes returns a .npz file of members that come in pairs of a name and a content.
func npzBytes(method uint16, members ...string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b) // with data descriptors
	for k := 0; k < len(members); k += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: members[k], Method: method})
		if err == nil {
			_, err = w.Write([]byte(members[k+1]))
		}
		if err != nil {
			panic(err)
		}
	}
	z.Close()
	return b.Bytes()
}

// TestReadNPZ reads what NumPy 1.24.2 wrote (with zip64 fields; several.npz: np.savez of w, b of
// type >i4, f in Fortran order, h of float16 and s of no dimension), and archives of others.
func TestReadNPZ(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	dir := t.TempDir()
	made := func(name string, method uint16, members ...string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, npzBytes(method, members...), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one := string(npySample(3, ">f4", true, 1, 2)) // 0 -3
	w := [][]float64{{1.5, -2}, {0, 1e300}}
	real := filepath.Join("testdata", "npz")
	for _, tt := range []struct {
		path string
		rows [][]float64 // nil: an error
		want string      // a part of it
	}{
		{real + "/stored.npz", w, ""},
		{real + "/deflated.npz", w, ""},
		{real + "/stored.npz:a", w, ""},
		{real + "/deflated.npz:arr_0.npy", w, ""},
		{real + "/several.npz:w", w, ""},
		{real + "/several.npz:b", [][]float64{{1}, {2}, {3}}, ""},
		{real + "/several.npz:f", [][]float64{{0, 1, 2}, {3, 4, 5}}, ""},
		{real + "/several.npz:h", [][]float64{{1}, {-2.5}, {0x1p-24}, {65504}, {inf}, {nan}}, ""},
		{real + "/several.npz:s", nil, `array "s": .npy header: array with 0 dimensions`},
		{real + "/several.npz", nil, `5 arrays, one of which has to be named behind a colon, as in a.npz:w; there are: "w", "b", "f", "h", "s"`},
		{real + "/several.npz:x", nil, `no array "x"; there are: "w", "b", "f", "h", "s"`},
		{made("plain.npz", zip.Deflate, "m", one), [][]float64{{0, -3}}, ""},
		{made("extended.npz", zip.Store, "d/", "", "d/m.npy", one) + ":d/m", [][]float64{{0, -3}}, ""},
		{made("upper.NPZ", zip.Store, "m.npy", one) + ":m", [][]float64{{0, -3}}, ""},
		{made("colon.npz:", zip.Store, "m.npy", one), [][]float64{{0, -3}}, ""}, // a file of that name
		{made("both.npz", zip.Store, "m.npy", "no", "m", one) + ":m", [][]float64{{0, -3}}, ""},
		{made("both2.npz", zip.Store, "m.npy", one, "m", "no") + ":m.npy", [][]float64{{0, -3}}, ""},
		{made("twice.npz", zip.Store, "m.npy", one, "m.npy", one) + ":m", nil, `2 arrays with the name "m"`},
		{made("none.npz", zip.Store), nil, "without an array"},
		{made("directory.npz", zip.Store, "d/", ""), nil, "without an array"},
		{made("readme.npz", zip.Store, "README", "read me"), nil, `array "README": file is cut short`},
		{made("text.npz", zip.Store, "README", "read me, please"), nil, `array "README": no .npy file`},
		{made("nested.npz", zip.Store, "in.npz", string(npzBytes(zip.Store, "m.npy", one))), nil, "no .npy file, but a zip archive"},
		{made("behind.npz", zip.Deflate, "m.npy", one+"x"), nil, "data follows the end of the array"},
		{made("cut.npz", zip.Deflate, "m.npy", one[:len(one)-1]), nil, "cut short"},
		{made("objects.npz", zip.Store, "o.npy", string(npyBytes(1, npyDict("|O", false, "(2,)"), make([]byte, 16)))), nil, "objects of Python"},
		{made("many.npz", zip.Store, strings.Split(strings.Repeat("a,,", 20)+"b,", ",")...), nil, `"a" and 9 more`},
		{filepath.Join(dir, "nothing.npz:x"), nil, "no such file"},
	} {
		a, err := Read[float64](tt.path, &ReadOptions{NB: 2})
		if tt.rows == nil {
			if fe, ok := errors.AsType[*FormatError](err); err == nil || !strings.Contains(err.Error(), tt.want) || !ok && !errors.Is(err, os.ErrNotExist) || ok && !strings.HasPrefix(tt.path, fe.File) {
				t.Errorf("%s: %v, want %s", tt.path, err, tt.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.path, err)
			continue
		}
		want := blocked.New[float64](blocked.Full, len(tt.rows), len(tt.rows[0]), 4)
		for i, row := range tt.rows {
			for j, v := range row {
				want.Set(i, j, v)
			}
		}
		wantSame(t, a, want)
	}
}

// TestSplitArray: letters whose lower case has another length do not shift the name.
func TestSplitArray(t *testing.T) {
	for _, tt := range []struct {
		path, name, array string
		ok                bool
	}{
		{"a.npz:w", "a.npz", "w", true},
		{"ȺȺȺȺȺ.npz:w", "ȺȺȺȺȺ.npz", "w", true},
		{"İ.NPZ:a:b", "İ.NPZ", "a:b", true},
		{"a.npz", "", "", false},
		{".npz", "", "", false},
		{"", "", "", false},
	} {
		if name, array, ok := splitArray(tt.path); name != tt.name || array != tt.array || ok != tt.ok {
			t.Errorf("%q: %q, %q, %t", tt.path, name, array, ok)
		}
	}
	if _, err := Read[float64](filepath.Join(t.TempDir(), "ȺȺȺȺȺ.npz:w"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestReadNPZHostile: archives that are damaged, in any byte or cut anywhere, or that announce more than
// they have or unpack to more than they are, cost no more than what comes out of them.
func TestReadNPZHostile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npz")
	refused := func(name string, content []byte, limit int64) {
		t.Helper()
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			wantFormatError(t, path, func() error { _, err := Read[float64](path, &ReadOptions{MaxBytes: limit}); return err })
		})
	}
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		announced := string(npyBytes(1, npyDict("<f8", false, "(10000, 10000)"), make([]byte, 64)))
		refused("announced", npzBytes(method, "m.npy", announced), 0)
		sample := npySample(1, "<f8", false, 9, 5)
		whole := npzBytes(method, "m.npy", string(sample))
		want, err := ReadNPY[float64](bytes.NewReader(sample), nil)
		if err != nil {
			t.Fatal(err)
		}
		for k := range whole {
			for _, content := range [][]byte{whole[:k], append(append(bytes.Clone(whole[:k]), whole[k]^0x10), whole[k+1:]...)} {
				a, err := readNPZ[float64](bytes.NewReader(content), int64(len(content)), "", ReadOptions{NB: 8, Workers: 1, MaxBytes: 1 << 20})
				if accepted(t, a != nil, err) {
					wantSame(t, a, want) // a byte that does not matter, as in a time
				}
			}
		}
	}
	bomb := npzBytes(zip.Deflate, "m.npy", string(npyBytes(1, npyDict("<f8", false, "(2000, 2000)"), make([]byte, 8*2000*2000))))
	if len(bomb) > 100000 {
		t.Fatalf("bomb of %d bytes", len(bomb))
	}
	refused("bomb", bomb, 1<<20)
	encrypted := npzBytes(zip.Store, "m.npy", string(npySample(1, "<f8", false, 1, 1)))
	encrypted[bytes.LastIndex(encrypted, []byte("PK\x01\x02"))+8] |= 1
	refused("encrypted", encrypted, 0)
	unknown := npzBytes(zip.Store, "m.npy", string(npySample(1, "<f8", false, 1, 1)))
	unknown[bytes.LastIndex(unknown, []byte("PK\x01\x02"))+10] = 12
	refused("bzip2", unknown, 0)
	refused("in gzip", gzipped(string(encrypted)), 0)
}

// TestFloat16 holds all values of float16 against their definition.
func TestFloat16(t *testing.T) {
	var little, big []byte
	for x := range 1 << 16 {
		little, big = append(little, byte(x), byte(x>>8)), append(big, byte(x>>8), byte(x))
	}
	for descr, data := range map[string][]byte{"<f2": little, ">f2": big} {
		for _, shape := range []string{"(1, 65536)", "(65536,)"} {
			testFloat16[float32](t, npyBytes(1, npyDict(descr, false, shape), data))
			testFloat16[float64](t, npyBytes(1, npyDict(descr, false, shape), data))
		}
	}
}

func testFloat16[T blocked.Element](t *testing.T, file []byte) {
	a, err := ReadNPY[T](bytes.NewReader(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := a.Dims()
	for x := range 1 << 16 {
		i, j := 0, x
		if m > 1 {
			i, j = x, 0
		}
		exponent, fraction := x>>10&31, x&1023
		want := math.Ldexp(float64(1024+fraction), exponent-25)
		switch {
		case exponent == 0:
			want = math.Ldexp(float64(fraction), -24)
		case exponent == 31 && fraction == 0:
			want = math.Inf(1)
		case exponent == 31:
			want = math.NaN()
		}
		if x>>15 == 1 {
			want = -want
		}
		got := float64(a.At(i, j))
		if math.Float64bits(got) != math.Float64bits(want) && !(got != got && want != want) {
			t.Fatalf("%#04x is %v, want %v", x, got, want)
		}
	}
}

// TestReadNPYWarnings: an integer that T does not hold is told, whatever the way that it is read.
func TestReadNPYWarnings(t *testing.T) {
	for _, tt := range []struct {
		descr    string
		v        int64
		f32, f64 bool // it is rounded
	}{
		{"<i8", 1 << 53, false, false},
		{"<i8", 1<<53 + 1, true, true},
		{">i8", -1<<53 - 1, true, true},
		{"<i8", math.MinInt64, false, false},
		{"<u8", 1<<24 + 1, true, false},
		{"<u8", -1, true, true}, // 2⁶⁴-1
		{"<i4", 1<<24 + 1, true, false},
		{">i4", -1<<24 - 1, true, false},
		{"<u4", 1 << 24, false, false},
		{"<i2", -12345, false, false},
	} {
		file := npyBytes(1, npyDict(tt.descr, false, "(1,)"), npyElement(nil, tt.descr, int(tt.v)))
		testReadNPYWarnings[float32](t, tt.descr, file, tt.f32)
		testReadNPYWarnings[float64](t, tt.descr, file, tt.f64)
	}
}

func testReadNPYWarnings[T blocked.Element](t *testing.T, descr string, file []byte, want bool) {
	h, err := readNPYHeader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	var told []Warning
	warn := func(w Warning) { told = append(told, w) }
	a := blocked.New[T](blocked.Full, 1, 1, 1)
	_, err = ReadNPY[T](bytes.NewReader(file), &ReadOptions{Warn: warn})
	if err := errors.Join(err, fillFromMemory(a, h, file[h.offset:], 1, warn)); err != nil {
		t.Fatal(err)
	}
	if len(told) != 2 && want || len(told) != 0 && !want {
		t.Errorf("%s, %v of type %T: told %v", descr, a.At(0, 0), a.At(0, 0), told)
	}
}
