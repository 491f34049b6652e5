package versions_test

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/tessera-la/tessera/versions"
)

type letter byte

type mixed struct {
	On      bool
	Letter  letter
	N       int
	Small   int8
	Large   uint64
	X       float64
	F       float32
	Z       complex128
	C       complex64
	Text    string
	Between struct{ Lo, Hi int32 }
}

// Validate refuses one number.
func (m *mixed) Validate() error {
	if m.N == 13 {
		return errThirteen
	}
	return nil
}

var errThirteen = errors.New("thirteen")

func mixedOp() *versions.Op {
	return &versions.Op{Name: "mixed", NewParams: func() any { return new(mixed) }}
}

// full is a parameter with the largest numbers.
func full() *mixed {
	m := &mixed{On: true, Letter: 'T', N: math.MinInt, Small: -128, Large: math.MaxUint64, X: math.Copysign(0, -1), F: math.MaxFloat32, Z: complex(math.Inf(1), math.Copysign(0, -1)), C: complex(-1, math.MaxFloat32), Text: "a/ü\x00"}
	m.Between.Lo, m.Between.Hi = math.MinInt32, math.MaxInt32
	return m
}

func encoded(t testing.TB, params any) []byte {
	t.Helper()
	b, err := versions.EncodeParams([]byte("before"), params)
	if err != nil || string(b[:6]) != "before" {
		t.Fatal(b, err)
	}
	return b[6:]
}

func TestParams(t *testing.T) {
	for _, m := range []*mixed{{}, full(), {N: math.MinInt, X: math.Inf(-1)}} {
		b := encoded(t, m)
		got, err := versions.DecodeParams(mixedOp(), b)
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%+v became %+v, %v", m, got, err)
		}
		for n := range b {
			if got, err := versions.DecodeParams(mixedOp(), b[:n]); !isParamsError(err) {
				t.Errorf("%d of %d bytes: %+v, %v", n, len(b), got, err)
			}
		}
		if _, err := versions.DecodeParams(mixedOp(), append(b, 0)); !isParamsError(err) {
			t.Errorf("a byte too many: %v", err)
		}
	}
	if got, err := versions.DecodeParams(&versions.Op{Name: "plain"}, encoded(t, nil)); got != nil || err != nil {
		t.Errorf("no parameter became %v, %v", got, err)
	}
	if _, err := versions.DecodeParams(mixedOp(), encoded(t, &mixed{N: 13})); err != errThirteen {
		t.Errorf("not validated: %v", err)
	}
}

func isParamsError(err error) bool {
	var e *versions.ParamsError
	return errors.As(err, &e) && e.Error() != ""
}

func TestParamsWrong(t *testing.T) {
	x := 1
	for _, p := range []any{
		mixed{}, (*mixed)(nil), &x,
		&struct{ P *int }{}, &struct{ S []int }{}, &struct{ M map[int]int }{}, &struct{ F func() }{}, &struct{ I any }{},
		&struct{ A [2]int }{}, &struct{ C chan int }{}, &struct{ x int }{1},
		&struct{ In struct{ P *int } }{},
	} {
		if b, err := versions.EncodeParams(nil, p); !isParamsError(err) {
			t.Errorf("%T: %v, %v", p, b, err)
		}
	}
	type pointing struct{ P *int }
	b := encoded(t, &mixed{})
	for name, c := range map[string]struct {
		op   *versions.Op
		data []byte
	}{
		"bound":           {&versions.Op{Bound: true, NewParams: mixedOp().NewParams}, b},
		"another format":  {mixedOp(), append([]byte{2}, b[1:]...)},
		"no bool":         {mixedOp(), append([]byte{1, 2}, b[2:]...)},
		"too large":       {mixedOp(), append([]byte{1, 0, 0x80, 2}, b[3:]...)},
		"endless":         {mixedOp(), append([]byte{1, 0}, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)},
		"no float32":      {&versions.Op{NewParams: func() any { return new(struct{ F float32 }) }}, encoded(t, &struct{ X float64 }{0.1})},
		"no complex64":    {&versions.Op{NewParams: func() any { return new(struct{ C complex64 }) }}, encoded(t, &struct{ Z complex128 }{complex(1, 0.1)})},
		"not plain":       {&versions.Op{NewParams: func() any { return new(pointing) }}, []byte{1}},
		"without, but is": {&versions.Op{}, b},
	} {
		if got, err := versions.DecodeParams(c.op, c.data); !isParamsError(err) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// FuzzDecodeParams: what is decoded is encoded to what decodes to the same.
func FuzzDecodeParams(f *testing.F) {
	f.Add(encoded(f, &mixed{}))
	f.Add(encoded(f, full()))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := versions.DecodeParams(mixedOp(), data)
		if err != nil {
			return
		}
		b := encoded(t, got)
		again, err := versions.DecodeParams(mixedOp(), b)
		if err != nil || string(encoded(t, again)) != string(b) { // NaN is not equal to itself
			t.Errorf("%x: %+v became %+v, %v", data, got, again, err)
		}
	})
}
