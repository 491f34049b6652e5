package wire_test

import (
	"bytes"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/tessera-la/tessera/internal/wire"
)

// Numbers and headers come back as they were, and what is cut short is an error.
func TestRoundTrip(t *testing.T) {
	x := make([]float64, 30000)
	for i := range x {
		x[i] = float64(i) / 3
	}
	var b bytes.Buffer
	b.Write(wire.Header([4]byte{'a', 'b', 'c', 1}, 3, 1<<30, -1))
	if err := wire.Write(&b, x); err != nil {
		t.Fatal(err)
	}
	if b.Len() != wire.HeaderBytes+8*len(x) || !bytes.Equal(b.Bytes()[4:12], []byte{3, 0, 0, 0, 0, 0, 0, 0}) {
		t.Errorf("%d bytes, % x …", b.Len(), b.Bytes()[:12])
	}
	r := iotest.HalfReader(bytes.NewReader(b.Bytes()))
	first, numbers, err := wire.ReadHeader(r)
	if err != nil || string(first[:]) != "abc\x01" || numbers != [3]int64{3, 1 << 30, -1} {
		t.Errorf("%q, %v, %v", first, numbers, err)
	}
	got, err := wire.ReadMore(r, []float64{7}, len(x))
	if err != nil || got[0] != 7 || !slices.Equal(got[1:], x) {
		t.Errorf("%d numbers, %v", len(got), err)
	}
	if got, err := wire.ReadMore(r, got, 0); err != nil || len(got) != len(x)+1 {
		t.Errorf("%d numbers, %v", len(got), err)
	}
	if _, err := wire.ReadMore(r, []int32(nil), 1); err != io.ErrUnexpectedEOF {
		t.Error(err)
	}
	if _, _, err := wire.ReadHeader(bytes.NewReader(b.Bytes()[:27])); err != io.ErrUnexpectedEOF {
		t.Error(err)
	}
}

// What only a header promises takes no more memory than twice what comes.
func TestReadMoreGrows(t *testing.T) {
	got, err := wire.ReadMore(bytes.NewReader(make([]byte, 1<<20)), []int32(nil), 1<<30)
	if err != io.ErrUnexpectedEOF || cap(got) > 1<<20 {
		t.Errorf("%v, capacity %d", err, cap(got))
	}
	room := make([]int32, 0, 100)
	if got, err := wire.ReadMore(bytes.NewReader(make([]byte, 400)), room, 100); err != nil || &got[:1][0] != &room[:1][0] {
		t.Errorf("%v: other memory", err)
	}
}
