package file

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sbinet/npyio/npy"
	"github.com/tessera-la/tessera/blocked"
	"gonum.org/v1/gonum/mat"
)

// npyBytes returns a .npy file put together by hand from the format's
// description.
func npyBytes(major byte, dict string, data []byte) []byte {
	b := append([]byte("\x93NUMPY"), major, 0)
	width := 2
	if major > 1 {
		width = 4
	}
	for (8+width+len(dict)+1)%64 != 0 {
		dict += " "
	}
	dict += "\n"
	if major > 1 {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(dict)))
	} else {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(dict)))
	}
	return append(append(b, dict...), data...)
}

func npyDict(descr string, fortran bool, shape string) string {
	order := "False"
	if fortran {
		order = "True"
	}
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, order, shape)
}

// npyElement appends v as an element of the type.
func npyElement(b []byte, descr string, v int) []byte {
	var order binary.AppendByteOrder = binary.LittleEndian
	if descr[0] == '>' {
		order = binary.BigEndian
	}
	switch descr[1:] {
	case "f4":
		return order.AppendUint32(b, math.Float32bits(float32(v)))
	case "f8":
		return order.AppendUint64(b, math.Float64bits(float64(v)))
	case "i1", "u1", "b1":
		return append(b, byte(v))
	case "i2", "u2":
		return order.AppendUint16(b, uint16(v))
	case "i4", "u4":
		return order.AppendUint32(b, uint32(v))
	}
	return order.AppendUint64(b, uint64(v))
}

// npySample returns an m×n array of the values (i·7+j·3)%100, negated at odd
// i+j where the type has a sign.
func npySample(major byte, descr string, fortran bool, m, n int) []byte {
	var data []byte
	lines, length := m, n
	if fortran {
		lines, length = n, m
	}
	for l := range lines {
		for p := range length {
			i, j := l, p
			if fortran {
				i, j = p, l
			}
			data = npyElement(data, descr, npyValue(descr, i, j))
		}
	}
	return npyBytes(major, npyDict(descr, fortran, fmt.Sprintf("(%d, %d)", m, n)), data)
}

func npyValue(descr string, i, j int) int {
	v := (i*7 + j*3) % 100
	switch {
	case descr[1] == 'b':
		return v % 2
	case descr[1] != 'u' && (i+j)%2 == 1:
		return -v
	}
	return v
}

func TestReadNPYTypes(t *testing.T) {
	for _, descr := range []string{"<f4", ">f4", "<f8", ">f8", "|i1", "|u1", "|b1", "<i2", ">i2", "<u2", "<i4", ">i4", ">u4", "<i8", ">i8", "<u8", ">u8"} {
		t.Run(descr, func(t *testing.T) {
			testReadNPYType[float32](t, descr)
			testReadNPYType[float64](t, descr)
		})
	}
}

// testReadNPYType reads the type in every version, order and way of filling
// tiles, over shapes around the tile size.
func testReadNPYType[T blocked.Element](t *testing.T, descr string) {
	const nb = 5
	for _, s := range [][2]int{{0, 0}, {0, 3}, {3, 0}, {1, 1}, {1, 7}, {7, 1}, {5, 5}, {4, 6}, {11, 9}, {40, 37}} {
		for _, fortran := range []bool{false, true} {
			for major := byte(1); major <= 3; major++ {
				file := npySample(major, descr, fortran, s[0], s[1])
				o := ReadOptions{NB: nb, Workers: 3}
				streamed, err := ReadNPY[T](bytes.NewReader(file), &o)
				if err != nil {
					t.Fatalf("%v fortran=%t: %v", s, fortran, err)
				}
				filled := fromMemory[T](t, file, o)
				for name, a := range map[string]*blocked.Matrix[T]{"stream": streamed, "memory": filled} {
					if m, n := a.Dims(); m != s[0] || n != s[1] || a.NB() != nb || a.Kind() != blocked.Full {
						t.Fatalf("%s: got %d×%d nb=%d %v, want %v", name, m, n, a.NB(), a.Kind(), s)
					}
					for i := range s[0] {
						for j := range s[1] {
							if got, want := a.At(i, j), T(npyValue(descr, i, j)); got != want {
								t.Fatalf("%s %v fortran=%t: element (%d, %d) = %v, want %v", name, s, fortran, i, j, got, want)
							}
						}
					}
				}
			}
		}
	}
}

// fromMemory reads file the way that a mapped one is read.
func fromMemory[T blocked.Element](t *testing.T, file []byte, o ReadOptions) *blocked.Matrix[T] {
	t.Helper()
	h, err := readNPYHeader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	a, err := outline[T](&o, mtxGeneral, h.m, h.n, defaultMaxBytes)
	if err != nil {
		t.Fatal(err)
	}
	if err := fillFromMemory(a, h, file[h.offset:], o.Workers, nil); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestReadNPYHeaders(t *testing.T) {
	little := []byte{0, 0, 0, 0, 0, 0, 0x08, 0x40, 0, 0, 0, 0, 0, 0, 0x10, 0x40} // 3 and 4
	// numpy.dtype takes "=f8" and "f8" for the order of the machine that reads. Its writer names an
	// order always.
	native := binary.NativeEndian.AppendUint64(nil, math.Float64bits(3))
	native = binary.NativeEndian.AppendUint64(native, math.Float64bits(4))
	for dict, two := range map[string][]byte{
		"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }":               little,
		"{'descr': '<f8', 'fortran_order': True, 'shape': (2,)}":                  little,
		`{"shape":(2,1),"descr":"<f8","fortran_order":False}`:                     little,
		"{ 'fortran_order' : False , 'shape' : ( 2L , ) , 'descr' : '<f8' , } \n": little,
		"{'descr': '>f8', 'fortran_order': False, 'shape': (2, 1)}":               {0x40, 0x08, 0, 0, 0, 0, 0, 0, 0x40, 0x10, 0, 0, 0, 0, 0, 0},
		"{'descr': 'f8', 'fortran_order': False, 'shape': (2, 1)}":                native,
		"{'descr': '=f8', 'fortran_order': False, 'shape': (2, 1)}":               native,
	} {
		a, err := ReadNPY[float64](bytes.NewReader(npyBytes(1, dict, two)), nil)
		if err != nil {
			t.Errorf("%s: %v", dict, err)
			continue
		}
		if m, n := a.Dims(); m != 2 || n != 1 || a.At(0, 0) != 3 || a.At(1, 0) != 4 {
			t.Errorf("%s: got %d×%d", dict, m, n)
		}
	}
}

// hostileNPY is files that no reader may crash on or allocate for.
func hostileNPY() map[string][]byte {
	f8 := func(shape string) []byte { return npyBytes(1, npyDict("<f8", false, shape), make([]byte, 64)) }
	files := map[string][]byte{
		"empty":                 nil,
		"magic only":            []byte("\x93NUMPY"),
		"no magic":              []byte("hello, world, this is text"),
		"version 4":             npyBytes(4, npyDict("<f8", false, "(1,)"), make([]byte, 8)),
		"version 1.1":           append([]byte("\x93NUMPY\x01\x01\x10\x00"), make([]byte, 16)...),
		"header of 4 GiB":       []byte("\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr'"),
		"header of 2 GiB":       []byte("\x93NUMPY\x03\x00\xff\xff\xff\x7f{'descr'"),
		"header without text":   []byte("\x93NUMPY\x01\x00\x00\x00"),
		"header cut":            []byte("\x93NUMPY\x01\x00\x40\x00{'descr': '<f8'"),
		"header of blanks":      npyBytes(1, "", nil),
		"product overflows":     f8("(4294967296, 4294967296)"),
		"product wraps to 8":    f8("(9223372036854775807, 9223372036854775807)"),
		"dimension overflows":   f8("(99999999999999999999, 1)"),
		"negative dimension":    f8("(-1, 3)"),
		"larger than the file":  f8("(1000000, 1000)"),
		"1 element missing":     f8("(3, 3)"),
		"wide and empty":        f8("(0, 9000000000000000000)"),
		"tall and empty":        f8("(9000000000000000000, 0)"),
		"0-D":                   f8("()"),
		"3-D":                   f8("(2, 2, 2)"),
		"many dimensions":       f8("(" + strings.Repeat("1,", 10000) + ")"),
		"shape without end":     f8("(2, 2"),
		"shape is a list":       f8("[2, 2]"),
		"shape without commas":  f8("(2 2)"),
		"complex":               npyBytes(1, npyDict("<c16", false, "(2,)"), make([]byte, 32)),
		"float16 of no order":   npyBytes(1, npyDict("|f2", false, "(2,)"), make([]byte, 4)),
		"float128":              npyBytes(1, npyDict("<f16", false, "(2,)"), make([]byte, 32)),
		"text":                  npyBytes(1, npyDict("<U7", false, "(2,)"), make([]byte, 56)),
		"objects":               npyBytes(1, npyDict("|O", false, "(2,)"), make([]byte, 16)),
		"no byte order":         npyBytes(1, npyDict("|f8", false, "(2,)"), make([]byte, 16)),
		"empty type":            npyBytes(1, npyDict("", false, "(2,)"), make([]byte, 16)),
		"type is an order":      npyBytes(1, npyDict("<", false, "(2,)"), make([]byte, 16)),
		"structured":            npyBytes(1, "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }", make([]byte, 16)),
		"order is a number":     npyBytes(1, "{'descr': '<f8', 'fortran_order': 0, 'shape': (2,), }", make([]byte, 16)),
		"key missing":           npyBytes(1, "{'descr': '<f8', 'shape': (2,), }", make([]byte, 16)),
		"key twice":             npyBytes(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'shape': (2,)}", make([]byte, 16)),
		"unknown key":           npyBytes(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'x': 1}", make([]byte, 16)),
		"text behind":           npyBytes(1, npyDict("<f8", false, "(2,)")+"}", make([]byte, 16)),
		"no dictionary":         npyBytes(1, "(2,)", make([]byte, 16)),
		"string without end":    npyBytes(1, "{'descr", make([]byte, 16)),
		"two dictionary commas": npyBytes(1, "{'descr': '<f8',, 'fortran_order': False, 'shape': (2,)}", make([]byte, 16)),
	}
	return files
}

func TestReadNPYHostile(t *testing.T) {
	if _, err := ReadNPY[float64](bytes.NewReader(npyBytes(1, npyDict("<f8", false, "(-1, 3)"), nil)), nil); err == nil || !strings.Contains(err.Error(), "dimension -1 is negative") {
		t.Errorf("shape (-1, 3): %v", err)
	}
	dir := t.TempDir()
	for name, file := range hostileNPY() {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
			if err := os.WriteFile(path, file, 0o600); err != nil {
				t.Fatal(err)
			}
			wantFormatError(t, "", func() error { _, err := ReadNPY[float64](bytes.NewReader(file), nil); return err })
			wantFormatError(t, path, func() error { _, err := Read[float32](path, nil); return err })
		})
	}
}

// wantFormatError expects a *FormatError that names file, and few allocations
// on the way to it.
func wantFormatError(t *testing.T, file string, read func() error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := read()
	runtime.ReadMemStats(&after)
	var fe *FormatError
	if !errors.As(err, &fe) {
		t.Fatalf("got %v (%T), want a *FormatError", err, err)
	}
	if fe.File != file || fe.Reason == "" {
		t.Errorf("got %+v, want file %q and a reason", fe, file)
	}
	// Two read buffers and at most one tile.
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
		t.Errorf("allocated %d bytes", n)
	}
}

func TestReadNPYWant(t *testing.T) {
	const n, nb = 13, 4
	for _, fortran := range []bool{false, true} {
		file := npySample(1, "<f8", fortran, n, n)
		full := fromMemory[float64](t, file, ReadOptions{NB: nb})
		for w := WantAsStored; w <= WantTriUpper; w++ {
			o := ReadOptions{NB: nb, Want: w}
			a, err := ReadNPY[float64](bytes.NewReader(file), &o)
			if err != nil {
				t.Fatal(err)
			}
			b := fromMemory[float64](t, file, o)
			if want := w.kind(false); a.Kind() != want || b.Kind() != want {
				t.Fatalf("%v: kind %v, %v", w, a.Kind(), b.Kind())
			}
			for i := range n {
				for j := range n {
					want := full.At(i, j)
					switch {
					case a.Kind() == blocked.SymLower && i < j, a.Kind() == blocked.SymUpper && i > j:
						want = full.At(j, i)
					case a.Kind() == blocked.TriLower && i < j, a.Kind() == blocked.TriUpper && i > j:
						want = 0
					}
					if a.At(i, j) != want || b.At(i, j) != want {
						t.Fatalf("%v fortran=%t: element (%d, %d) = %v, %v, want %v", w, fortran, i, j, a.At(i, j), b.At(i, j), want)
					}
				}
			}
		}
	}
	wantFormatError(t, "", func() error {
		_, err := ReadNPY[float64](bytes.NewReader(npySample(1, "<f8", false, 3, 4)), &ReadOptions{Want: WantSymLower})
		return err
	})
}

func TestReadNPYConversion(t *testing.T) {
	f8 := func(vs ...float64) []byte {
		var data []byte
		for _, v := range vs {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
		}
		return npyBytes(1, npyDict("<f8", false, fmt.Sprintf("(1, %d)", len(vs))), data)
	}
	in := []float64{1.0 / 3, math.Inf(1), math.Inf(-1), math.NaN(), 1e-60, math.Copysign(0, -1), math.MaxFloat32}
	a, err := ReadNPY[float32](bytes.NewReader(f8(in...)), nil)
	if err != nil {
		t.Fatal(err)
	}
	for j, v := range in {
		if got := a.At(0, j); math.Float32bits(got) != math.Float32bits(float32(v)) && !math.IsNaN(v) {
			t.Errorf("%v became %v", v, got)
		}
	}
	if v := a.At(0, 3); v == v {
		t.Errorf("NaN became %v", v)
	}
	wantFormatError(t, "", func() error {
		_, err := ReadNPY[float32](bytes.NewReader(f8(0, 1e300)), nil)
		return err
	})
	file := npyBytes(1, npyDict("<f8", true, "(2, 9)"), f8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, -1e39, 16, 17)[128:])
	h, err := readNPYHeader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	_, streamed := ReadNPY[float32](bytes.NewReader(file), &ReadOptions{NB: 4})
	filled := fillFromMemory(blocked.New[float32](blocked.Full, 2, 9, 4), h, file[h.offset:], 2, nil)
	for _, err := range []error{streamed, filled} {
		if err == nil || !strings.Contains(err.Error(), "row 2, column 8") {
			t.Errorf("overflow in row 2, column 8: %v", err)
		}
	}
	u8 := npyBytes(1, npyDict("<u8", false, "(1,)"), bytes.Repeat([]byte{0xff}, 8))
	b, err := ReadNPY[float64](bytes.NewReader(u8), nil)
	if err != nil || b.At(0, 0) != 1<<64 {
		t.Errorf("2⁶⁴-1 became %v, %v", b.At(0, 0), err)
	}
}

// The reader takes one array and nothing more, so arrays can follow one
// another in a stream, which may come in pieces of any size.
func TestReadNPYStream(t *testing.T) {
	one, two := npySample(1, "<f8", false, 30, 20), npySample(2, ">f4", true, 17, 19)
	r := iotest.OneByteReader(bytes.NewReader(append(append([]byte{}, one...), two...)))
	for k, want := range [][2]int{{30, 20}, {17, 19}} {
		a, err := ReadNPY[float64](r, &ReadOptions{NB: 8})
		if err != nil {
			t.Fatal(err)
		}
		if m, n := a.Dims(); m != want[0] || n != want[1] || a.At(3, 4) != -33 {
			t.Fatalf("array %d: %d×%d, element (3, 4) = %v", k, m, n, a.At(3, 4))
		}
	}

	// A line longer than what is decoded at once, whose tiles end elsewhere.
	long := npySample(1, "<f8", false, 1, 6000)
	a, err := ReadNPY[float64](bytes.NewReader(long), &ReadOptions{NB: 5000})
	if err != nil {
		t.Fatal(err)
	}
	for j := range 6000 {
		if got, want := a.At(0, j), float64(npyValue("<f8", 0, j)); got != want {
			t.Fatalf("element (0, %d) is %v, want %v", j, got, want)
		}
	}

	boom := errors.New("device failed")
	for cut := range len(one) {
		_, err := ReadNPY[float64](io.MultiReader(bytes.NewReader(one[:cut]), iotest.ErrReader(boom)), nil)
		if !errors.Is(err, boom) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
}

func TestNPYInterop(t *testing.T) {
	const m, n = 37, 23
	d := mat.NewDense(m, n, nil)
	for i := range m {
		for j := range n {
			d.Set(i, j, math.Sin(float64(i*n+j)))
		}
	}
	var buf bytes.Buffer
	if err := npy.Write(&buf, d); err != nil {
		t.Fatal(err)
	}
	a, err := ReadNPY[float64](&buf, &ReadOptions{NB: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, fortran := range []bool{false, true} {
		buf.Reset()
		if err := WriteNPY(&buf, a, &WriteOptions{Fortran: fortran}); err != nil {
			t.Fatal(err)
		}
		var back mat.Dense
		if err := npy.Read(&buf, &back); err != nil {
			t.Fatal(err)
		}
		if !mat.Equal(d, &back) {
			t.Errorf("fortran=%t: matrix changed on the way there and back", fortran)
		}
	}
	// A vector of the other module, in single precision.
	buf.Reset()
	if err := npy.Write(&buf, []float32{1, 2.5, -3}); err != nil {
		t.Fatal(err)
	}
	v, err := ReadNPY[float32](&buf, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r, c := v.Dims(); r != 3 || c != 1 || v.At(1, 0) != 2.5 {
		t.Errorf("vector came as %d×%d, %v", r, c, v.At(1, 0))
	}
}

// A matrix of very many empty rows costs nothing, in either format and
// direction.
func TestFileEmpty(t *testing.T) {
	for _, shape := range [][2]int{{maxDim, 0}, {0, maxDim}} {
		a := blocked.New[float64](blocked.Full, shape[0], shape[1], 1<<16)
		for _, o := range []*WriteOptions{nil, {Fortran: true, Coordinate: true}} {
			var npyFile, mtxFile bytes.Buffer
			if err := errors.Join(WriteNPY(&npyFile, a, o), WriteMatrixMarket(&mtxFile, a, o)); err != nil {
				t.Fatal(err)
			}
			b, err := ReadNPY[float64](&npyFile, &ReadOptions{NB: 1})
			if err != nil {
				t.Fatal(err)
			}
			wantSame(t, b, a)
			if b, err = ReadMatrixMarket[float64](&mtxFile, &ReadOptions{NB: 1}); err != nil {
				t.Fatal(err)
			}
			wantSame(t, b, a)
		}
	}
}

func TestWriteNPYKinds(t *testing.T) {
	testWriteNPYKinds[float32](t)
	testWriteNPYKinds[float64](t)
}

func testWriteNPYKinds[T blocked.Element](t *testing.T) {
	for kind := blocked.Full; kind <= blocked.TriUpper; kind++ {
		for _, n := range []int{0, 1, 3, 4, 5, 11} {
			a := someMatrix[T](kind, n, n, 4)
			for _, fortran := range []bool{false, true} {
				var buf bytes.Buffer
				if err := WriteNPY(&buf, a, &WriteOptions{Fortran: fortran}); err != nil {
					t.Fatal(err)
				}
				if h, err := readNPYHeader(bytes.NewReader(buf.Bytes())); err != nil || h.offset%64 != 0 {
					t.Fatalf("header %+v, %v", h, err)
				}
				b, err := ReadNPY[T](&buf, &ReadOptions{NB: 3})
				if err != nil {
					t.Fatal(err)
				}
				wantSame(t, b, a)
			}
		}
	}
}

// someMatrix returns a matrix of values that need all their digits, with NaN
// wherever a kind keeps memory that means nothing.
func someMatrix[T blocked.Element](kind blocked.Kind, m, n, nb int) *blocked.Matrix[T] {
	a := blocked.New[T](kind, m, n, nb)
	for i, j := range a.StoredTiles() {
		t := a.Tile(i, j)
		for e := range t.Data {
			t.Data[e] = T(math.NaN())
		}
	}
	for i := range m {
		for j := range n {
			if up := kind; (up == blocked.TriLower || up == blocked.SymLower) && i < j || (up == blocked.TriUpper || up == blocked.SymUpper) && i > j {
				continue
			}
			a.Set(i, j, T(math.Exp(float64(i-j)*5)*math.Sin(float64(1+i*31+j))))
		}
	}
	if m > 2 && n > 2 {
		a.Set(2, 2, T(math.Copysign(0, -1)))
		a.Set(1, 1, 0)
	}
	return a
}

// wantSame expects the same elements to the bit, but for the payload of NaN.
func wantSame[T blocked.Element](t *testing.T, got, want *blocked.Matrix[T]) {
	t.Helper()
	m, n := want.Dims()
	if r, c := got.Dims(); r != m || c != n {
		t.Fatalf("got %d×%d, want %d×%d", r, c, m, n)
	}
	if n == 0 {
		return // and m may be 10⁹
	}
	for i := range m {
		for j := range n {
			x, y := float64(got.At(i, j)), float64(want.At(i, j))
			if math.Float64bits(x) != math.Float64bits(y) && !(x != x && y != y) {
				t.Fatalf("element (%d, %d) = %v, want %v", i, j, x, y)
			}
		}
	}
}
