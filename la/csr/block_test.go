package csr

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"reflect"
	"runtime"
	"testing"

	"github.com/tessera-la/tessera/internal/wire"
	"github.com/tessera-la/tessera/versions"
)

// blocks returns some that are filled.
func blocks(t testing.TB) (all []*Block) {
	for _, s := range []shape{{}, {3, 0, 0}, {0, 3, 0}, {2, 5, 3}, {40, 30000, 20000}} {
		b := &Block{shape: s}
		n := 0
		if err := b.Fill(func(i int, add func(int, float64)) {
			for ; n < s.entries*(i+1)/s.rows; n++ {
				add((7*n)%s.cols, float64(n)-0.5)
			}
		}); err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}

// encoded returns a block as it is sent.
func encoded(t testing.TB, b *Block) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := b.Encode(&buf); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestBlockValue: a block comes out of a snapshot and of an encoding as it went in, whether its
// shape was known or not, and Decode reads no more than Encode has written.
func TestBlockValue(t *testing.T) {
	for _, b := range blocks(t) {
		in := encoded(t, b)
		if int64(len(in)) != b.Bytes()+wire.HeaderBytes {
			t.Errorf("%+v: %d bytes are written, %d promised", b.shape, len(in), b.Bytes())
		}
		known := &Block{}
		if err := known.Reshape(b.Shape()); err != nil || known.Bytes() != b.Bytes() {
			t.Errorf("%+v: %v", b.shape, err)
		}
		s := b.Snapshot()
		for _, to := range []*Block{known, {}, b} {
			r := bytes.NewReader(append(in[:len(in):len(in)], "next"...))
			if err := to.Decode(r); err != nil || r.Len() != 4 || !bytes.Equal(encoded(t, to), in) {
				t.Errorf("%+v: %v, %d bytes are left", b.shape, err, r.Len())
			}
		}
		if b.entries > 0 {
			b.data[0], b.ja[0] = 99, 1
		}
		if b.Restore(s); !bytes.Equal(encoded(t, b), in) {
			t.Errorf("%+v: restored to something else", b.shape)
		}
	}
	empty := &Block{shape: shape{2, 3, 1}}
	var e *StructureError
	if err := empty.Encode(io.Discard); !errors.As(err, &e) {
		t.Error(err)
	}
	full := blocks(t)[3]
	if full.Restore((&Block{shape: full.shape}).Snapshot()); full.ia != nil {
		t.Error("a block that was not filled is restored to one that is")
	}
	for _, s := range []versions.Value{&Block{shape: shape{1, 1, 1}}} {
		func() {
			defer func() {
				if got := recover(); got != ErrShape {
					t.Errorf("panic %v", got)
				}
			}()
			full.Restore(s)
		}()
	}
}

// TestBlockWrong: what a peer may send that is no block is a typed error, and leaves the block as
// it was.
func TestBlockWrong(t *testing.T) {
	good := blocks(t)[3] // 2×5 with 3 entries: pointers from byte 28 on, columns from 52 on
	change := func(at int, by byte) []byte {
		b := bytes.Clone(encoded(t, good))
		b[at] += by
		return b
	}
	for name, in := range map[string][]byte{
		"no block": change(0, 1), "a format": change(3, 1), "rows": change(4, 1), "columns": change(12, 1), "entries": change(20, 1),
		"a negative number": change(11, 0x80), "a large number": change(16, 0x80),
		"a first pointer": change(28, 1), "a pointer beyond": change(36, 9), "a negative pointer": change(43, 0x80),
		"pointers that fall": change(36, 3), "a last pointer": change(44, 255),
		"a column": change(52, 9), "a negative column": change(55, 0x80),
	} {
		for _, to := range []*Block{blocks(t)[3], {}} {
			if name == "columns" && to.cols == 0 {
				continue // one more column is fine
			}
			before := *to
			var e *StructureError
			if err := to.Decode(bytes.NewReader(in)); !errors.As(err, &e) && (to.rows > 0 || err == nil) {
				t.Errorf("%s: %v", name, err)
			}
			if !reflect.DeepEqual(*to, before) {
				t.Errorf("%s: overwritten", name)
			}
		}
		if len(in) >= wire.HeaderBytes && name != "rows" && name != "columns" && name != "entries" {
			continue
		}
		if err := new(Block).Reshape(in); err == nil {
			t.Errorf("%s: a shape of %d bytes", name, len(in))
		}
	}
	in := encoded(t, good)
	for n := range in {
		want := io.ErrUnexpectedEOF
		if n == 0 {
			want = io.EOF
		}
		if err := new(Block).Decode(bytes.NewReader(in[:n])); !errors.Is(err, want) {
			t.Errorf("%d bytes of %d: %v", n, len(in), err)
		}
		if n < wire.HeaderBytes && new(Block).Reshape(in[:n]) == nil {
			t.Errorf("a shape of %d bytes", n)
		}
	}
	// A huge block of which nothing comes takes no memory.
	huge := shape{1<<26 - 1, 1<<31 - 1, 1<<26 - 1}.header()
	if n := testing.AllocsPerRun(1, func() {
		b := &Block{}
		if err := b.Decode(bytes.NewReader(huge)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
		if err := b.Reshape(huge); err != nil || b.ia != nil {
			t.Error(err)
		}
	}); n > 100 {
		t.Error(n)
	}
}

// TestBlockLengths: a length that an int may not hold, or whose bytes it may not, is an error in
// every build, and takes no memory.
func TestBlockLengths(t *testing.T) {
	header := func(numbers ...uint64) []byte {
		b := []byte{'c', 's', 'r', blockFormat}
		for _, n := range numbers {
			b = binary.LittleEndian.AppendUint64(b, n)
		}
		return b
	}
	const most = 1<<31 - 1
	for _, n := range []uint64{most, most + 1, 1<<32 - 1, 1 << 32, 1<<32 + 1, 1<<62 - 1, 1 << 63, 1<<64 - 1} {
		for _, in := range [][]byte{header(n, 1, 1), header(1, n, 1), header(1, 1, n), header(n, n, n)} {
			b := &Block{}
			err := b.Decode(bytes.NewReader(in))
			var e *StructureError
			if !errors.As(err, &e) && (n > most || err != io.ErrUnexpectedEOF) {
				t.Errorf("%x: %v", in, err)
			}
			if err := b.Reshape(in); n > most && !errors.As(err, &e) || b.ia != nil {
				t.Errorf("%x: %v", in, err)
			} else if err == nil && b.Bytes() > math.MaxInt {
				t.Errorf("%x: a block of %d bytes", in, b.Bytes())
			}
		}
	}
}

// FuzzBlock: no input makes a block panic, or allocate much more than has come; what is taken is
// a matrix, and is encoded to what was read.
func FuzzBlock(f *testing.F) {
	for _, b := range blocks(f)[:4] {
		f.Add(encoded(f, b))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, b := range []*Block{{}, {shape: shape{2, 5, 3}}} {
			r := bytes.NewReader(in)
			if err := b.Decode(r); err != nil {
				var e *StructureError
				if !errors.As(err, &e) && err != io.EOF && err != io.ErrUnexpectedEOF {
					t.Errorf("%x: %v", in, err)
				}
				continue
			}
			if !bytes.Equal(encoded(t, b), in[:len(in)-r.Len()]) {
				t.Errorf("%x became %x", in, encoded(t, b))
			}
			if b.entries > 0 {
				b.view().mulVecNarrow(make([]float64, b.rows), make([]float64, b.cols), 0, b.rows)
			}
		}
	})
}

// TestBlockAnnounced: a large block with a shape gets its memory as its entries come.
func TestBlockAnnounced(t *testing.T) {
	before := shape{rows: 1, cols: 1 << 30, entries: 1<<31 - 1}
	b := &Block{shape: before}
	sent := append(b.shape.header(), make([]byte, 100)...)
	if n := testing.AllocsPerRun(1, func() {
		if err := b.Decode(bytes.NewReader(sent)); err == nil {
			t.Error("100 bytes are 2147483647 entries")
		}
	}); b.ja != nil || n > 100 {
		t.Errorf("%v allocations", n)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapSys > 8<<30 { // of which 24 GiB would be a part
		t.Errorf("%d GiB were taken", m.HeapSys>>30)
	}
}
