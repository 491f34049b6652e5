package kernels_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// tile returns a tile of random elements with NaN as padding.
func tile[T kernels.Element](m, n, stride int) *kernels.Tile[T] {
	t := &kernels.Tile[T]{Rows: m, Cols: n, Stride: stride, Data: make([]T, m*stride)}
	for i := range t.Data {
		t.Data[i] = T(math.NaN())
	}
	for i := range m {
		for j := range n {
			t.Set(i, j, T(rand.NormFloat64()))
		}
	}
	return t
}

func candidates[T kernels.Element](m, n int) *kernels.Candidates[T] {
	c := kernels.NewCandidates[T](2*m, n)
	c.Resize(m, n)
	for i := range m {
		c.Rows[i] = 3 * i
		for j := range n {
			c.Tile.Set(i, j, T(rand.NormFloat64()))
		}
	}
	c.Info = 2
	return c
}

// values returns pairs of a value and another one of its shape, into which it is
// restored and decoded.
func values() (all [][2]versions.Value) {
	for _, shape := range [][3]int{{0, 0, 0}, {0, 5, 5}, {1, 1, 1}, {3, 5, 5}, {3, 5, 8}, {1, 4, 9}, {70, 300, 301}, {200, 100, 100}} {
		m, n, stride := shape[0], shape[1], shape[2]
		all = append(all, [2]versions.Value{tile[float64](m, n, stride), tile[float64](m, n, stride)},
			[2]versions.Value{tile[float32](m, n, stride), tile[float32](m, n, n)},
			[2]versions.Value{tile[float32](m, n, n), tile[float32](m, n, n+3)},
			[2]versions.Value{tile[float64](m, n, n), &kernels.Tile[float64]{Rows: m, Cols: n, Stride: stride}},
			[2]versions.Value{tile[float64](m, n, stride), &kernels.Tile[float64]{}},
			[2]versions.Value{candidates[float64](min(m, n), n), kernels.NewCandidates[float64](m, n)},
			[2]versions.Value{candidates[float32](min(m, n), n), &kernels.Candidates[float32]{}})
	}
	for _, rows := range [][]int{nil, {4}, {0, 7, 2}} {
		all = append(all, [2]versions.Value{&kernels.Pivots{Rows: rows, Info: len(rows)}, &kernels.Pivots{Rows: []int{1, 1}, Info: 9}})
	}
	return all
}

// elements returns what a value holds, without padding.
func elements(v versions.Value) []any {
	tile := func(rows, cols int, row func(i int) any) (x []any) {
		x = append(x, rows, cols)
		for i := range rows {
			x = append(x, row(i))
		}
		return x
	}
	switch v := v.(type) {
	case *kernels.Tile[float32]:
		return tile(v.Rows, v.Cols, func(i int) any { return slices.Clone(v.Row(i)) })
	case *kernels.Tile[float64]:
		return tile(v.Rows, v.Cols, func(i int) any { return slices.Clone(v.Row(i)) })
	case *kernels.Candidates[float32]:
		return append(elements(&v.Tile), append([]int{v.Info}, v.Rows...))
	case *kernels.Candidates[float64]:
		return append(elements(&v.Tile), append([]int{v.Info}, v.Rows...))
	case *kernels.Pivots:
		return []any{append([]int{v.Info}, v.Rows...)}
	}
	panic("what is this?")
}

// paddingStays reports whether what lies between the columns and the stride is NaN.
func paddingStays(v versions.Value) bool {
	t, ok := v.(*kernels.Tile[float64])
	if !ok || t.Data == nil {
		return !ok
	}
	for i := range t.Rows {
		for _, x := range t.Data[i*t.Stride+t.Cols : min((i+1)*t.Stride, len(t.Data))] {
			if x == x {
				return false
			}
		}
	}
	return true
}

// Every value comes out of a snapshot and of an encoding as it went in, in the shape
// and the memory of another one, and Decode reads no more than Encode has written.
func TestValues(t *testing.T) {
	for i, pair := range values() {
		from, to := pair[0], pair[1]
		want := elements(from)
		s := from.Snapshot()
		var b bytes.Buffer
		if err := from.Encode(&b); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		if size := int64(b.Len()); size != from.Bytes()+28 {
			t.Errorf("%d: %d bytes are written, %d promised", i, size, from.Bytes())
		}
		b.WriteString("next")
		hadPadding := paddingStays(to)
		if err := to.Decode(&b); err != nil || b.String() != "next" {
			t.Errorf("%d: %v, %q is left", i, err, b.String())
		}
		if got := elements(to); !reflect.DeepEqual(got, want) {
			t.Errorf("%d: decoded %v, want %v", i, got, want)
		}
		if hadPadding && !paddingStays(to) {
			t.Errorf("%d: padding was overwritten", i)
		}
		spoil(from)
		from.Restore(s)
		if got := elements(from); !reflect.DeepEqual(got, want) {
			t.Errorf("%d: restored %v, want %v", i, got, want)
		}
		if !paddingStays(from) {
			t.Errorf("%d: padding was restored", i)
		}
	}
}

// spoil changes what v holds.
func spoil(v versions.Value) {
	switch v := v.(type) {
	case *kernels.Tile[float32]:
		for i := range v.Rows {
			clear(v.Row(i))
		}
	case *kernels.Tile[float64]:
		for i := range v.Rows {
			clear(v.Row(i))
		}
	case *kernels.Candidates[float32]:
		v.Resize(1, v.Tile.Cols)
	case *kernels.Candidates[float64]:
		spoil(&v.Tile)
		clear(v.Rows)
	case *kernels.Pivots:
		v.Rows, v.Info = nil, 0
	}
}

// A tile without memory is restored to one, and is not sent.
func TestUnfilled(t *testing.T) {
	x := &kernels.Tile[float64]{Rows: 2, Cols: 3, Stride: 4}
	s := x.Snapshot()
	if err := x.Encode(io.Discard); !isValueError(err) {
		t.Errorf("Encode: %v", err)
	}
	*x = *tile[float64](2, 3, 4)
	if x.Restore(s); x.Data != nil || x.Bytes() != 48 {
		t.Errorf("restored to %v", x)
	}
}

func isValueError(err error) bool {
	var e *kernels.ValueError
	return errors.As(err, &e) && e.Error() != ""
}

func TestValueMisuse(t *testing.T) {
	for _, c := range []struct {
		v, snapshot versions.Value
		want        kernels.Error
	}{
		{tile[float64](2, 3, 3), tile[float64](3, 2, 2), kernels.ErrShape},
		{tile[float64](2, 3, 3), tile[float32](2, 3, 3), kernels.ErrArgs},
		{&kernels.Pivots{}, tile[float32](2, 3, 3), kernels.ErrArgs},
		{candidates[float32](2, 3), candidates[float64](2, 3), kernels.ErrArgs},
	} {
		func() {
			defer func() {
				if got := recover(); got != c.want {
					t.Errorf("%T from %T: panic %v", c.v, c.snapshot, got)
				}
			}()
			c.v.Restore(c.snapshot)
		}()
	}
}

// What is wrong is found before anything is overwritten, and what is cut short is an
// error.
func TestDecodeWrong(t *testing.T) {
	encode := func(v versions.Value) []byte {
		var b bytes.Buffer
		if err := v.Encode(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	change := func(v versions.Value, at int, by byte) []byte {
		b := encode(v)
		b[at] += by
		return b
	}
	huge := encode(tile[float64](0, 5, 5))
	huge[7], huge[15] = 0x7f, 0x7f
	for name, c := range map[string]struct {
		in []byte
		to versions.Value
	}{
		"nothing":             {change(tile[float64](2, 2, 2), 0, 1), tile[float64](2, 2, 2)},
		"another format":      {change(tile[float64](2, 2, 2), 1, 1), tile[float64](2, 2, 2)},
		"another kind":        {encode(&kernels.Pivots{}), tile[float64](2, 2, 2)},
		"no kind":             {change(tile[float64](2, 2, 2), 2, 100), tile[float64](2, 2, 2)},
		"another type":        {encode(tile[float32](2, 2, 2)), tile[float64](2, 2, 2)},
		"another shape":       {encode(tile[float64](2, 3, 3)), tile[float64](3, 2, 2)},
		"another shape of 0":  {encode(tile[float64](2, 3, 3)), &kernels.Tile[float64]{Cols: 3}},
		"negative":            {change(tile[float64](2, 2, 2), 11, 0x80), &kernels.Tile[float64]{}},
		"too large":           {huge, &kernels.Tile[float64]{}},
		"columns":             {encode(candidates[float64](2, 3)), candidates[float64](2, 4)},
		"a negative row":      {change(&kernels.Pivots{Rows: []int{1}}, 35, 0x80), &kernels.Pivots{Rows: []int{5}}},
		"a negative row of c": {change(candidates[float64](2, 3), 35, 0x80), candidates[float64](2, 3)},
	} {
		want := elements(c.to.Snapshot())
		if err := c.to.Decode(bytes.NewReader(c.in)); !isValueError(err) && name != "too large" || err == nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := elements(c.to); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: overwritten with %v", name, got)
		}
	}
	for i, pair := range values() {
		b := encode(pair[0])
		for _, n := range []int{0, 1, 27, len(b) - 1} {
			want := io.ErrUnexpectedEOF
			if n == 0 {
				want = io.EOF
			}
			if n < len(b) {
				if err := pair[1].Decode(bytes.NewReader(b[:n])); !errors.Is(err, want) {
					t.Errorf("%d, %d bytes of %d: %v", i, n, len(b), err)
				}
			}
		}
	}
	full := errors.New("full")
	for i, pair := range values() {
		for room := range 4 {
			if err := pair[0].Encode(&failing{left: room, err: full}); int64(room) <= min(pair[0].Bytes(), 1) && !errors.Is(err, full) {
				t.Errorf("%d: %v after %d writes", i, err, room)
			}
		}
	}
}

// TestValueLengths: a length that an int may not hold, or whose bytes it may not, is an error in
// every build, and takes no memory; so it is as a shape.
func TestValueLengths(t *testing.T) {
	const most = 1<<31 - 1
	large := []uint64{1 << 28, 1 << 30, most, most + 1, 1<<32 - 1, 1 << 32, 1<<32 + 1, 1<<62 - 1, 1 << 63, 1<<64 - 1}
	for _, pair := range values() {
		var b bytes.Buffer
		if err := pair[0].Encode(&b); err != nil {
			t.Fatal(err)
		}
		for _, rows := range large {
			for _, cols := range append([]uint64{0, 1, 8}, large...) {
				in := binary.LittleEndian.AppendUint64(bytes.Clone(b.Bytes()[:4]), rows)
				in = append(binary.LittleEndian.AppendUint64(in, cols), make([]byte, 8)...)
				v := reflect.New(reflect.TypeOf(pair[1]).Elem()).Interface().(versions.Value)
				err := v.Decode(bytes.NewReader(in))
				if !isValueError(err) && (rows > most || cols > most || err != nil && err != io.ErrUnexpectedEOF) {
					t.Errorf("%T of %d×%d: %v", v, rows, cols, err)
				}
				if s, ok := v.(versions.Shaped); ok && (rows > most || cols > most || rows > 1<<24 && cols > 1<<24) {
					if err := s.Reshape(in); !isValueError(err) {
						t.Errorf("%T of %d×%d: shape: %v", v, rows, cols, err)
					}
				}
			}
		}
	}
}

// failing is a writer that takes so many writes.
type failing struct {
	left int
	err  error
}

func (f *failing) Write(b []byte) (int, error) {
	if f.left--; f.left < 0 || len(b) == 0 {
		return 0, f.err
	}
	return len(b), nil
}

// FuzzDecode: no input makes a value panic, or allocate much more than has come; what
// is taken is encoded to what was read.
func FuzzDecode(f *testing.F) {
	for _, pair := range values() {
		var b bytes.Buffer
		if err := pair[0].Encode(&b); err != nil {
			f.Fatal(err)
		}
		if b.Len() < 1<<12 {
			f.Add(b.Bytes())
		}
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, v := range []versions.Value{&kernels.Tile[float64]{}, &kernels.Tile[float32]{}, tile[float64](3, 5, 8), &kernels.Pivots{},
			&kernels.Candidates[float64]{}, kernels.NewCandidates[float32](4, 5)} {
			r := bytes.NewReader(in)
			if v.Decode(r) != nil {
				continue
			}
			var b bytes.Buffer
			if err := v.Encode(&b); err != nil || !bytes.Equal(b.Bytes(), in[:len(in)-r.Len()]) {
				t.Errorf("%T: %v, %x became %x", v, err, in, b.Bytes())
			}
		}
	})
}

// TestDecodeAnnounced: a large tile with a shape gets its memory as its elements come.
func TestDecodeAnnounced(t *testing.T) {
	const n = 1 << 13 // a side: 512 MiB
	x := &kernels.Tile[float64]{Rows: n, Cols: n}
	sent := append(x.Shape(), make([]byte, 100)...)
	if err := x.Decode(bytes.NewReader(sent)); !errors.Is(err, io.ErrUnexpectedEOF) || x.Data != nil {
		t.Errorf("a tile of which 100 bytes come: %v, %d elements", err, len(x.Data))
	}
	y := &kernels.Tile[float64]{Rows: 1 << 12, Cols: 1<<11 + 1} // just above what comes at once
	for i := range 2 {
		z := &kernels.Tile[float64]{Rows: y.Rows - i, Cols: y.Cols, Stride: y.Cols, Data: make([]float64, (y.Rows-i)*y.Cols)}
		z.Data[len(z.Data)-1] = 7
		var b bytes.Buffer
		got := &kernels.Tile[float64]{Rows: z.Rows, Cols: z.Cols}
		if err := errors.Join(z.Encode(&b), got.Decode(&b)); err != nil || len(got.Data) != len(z.Data) || got.Data[len(z.Data)-1] != 7 || got.Stride != got.Cols {
			t.Errorf("%d rows: %v", z.Rows, err)
		}
	}
}
