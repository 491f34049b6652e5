package file

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/lu"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/blocked/tiles"
)

// sample returns a state of an m×n factorization.
func sample[T blocked.Element](algorithm Algorithm, kind blocked.Kind, m, n, nb int) *State[T] {
	a := blocked.New[T](kind, m, n, nb)
	for i := range m {
		for j := range n {
			if a.Stored(i/nb, j/nb) {
				a.Tile(i/nb, j/nb).Set(i%nb, j%nb, T(i*100+j)+0.5)
			}
		}
	}
	s := &State[T]{Algorithm: algorithm, Step: 1, Input: 1 << 63, Matrix: a}
	if algorithm == Getrf {
		s.Pivots = lu.NewPivots(m, n, nb)
		swaps := make([]int, s.Pivots.Len())
		for i := range swaps {
			swaps[i] = m - 1
		}
		s.Pivots.SetSwaps(swaps, 3)
	}
	if algorithm == Geqrf {
		s.Rotations = qr.NewRotations[T](m, n, nb, qr.RotationOptions{Tree: qr.TreeBinary, IB: 2, Cores: 3})
		for k, f := range s.Rotations.Factors(1) {
			f.Set(0, 0, T(k)+0.25)
		}
	}
	return s
}

func testState[T blocked.Element](t *testing.T) {
	for _, s := range []*State[T]{sample[T](Potrf, blocked.SymUpper, 11, 11, 4), sample[T](Getrf, blocked.Full, 9, 7, 3), sample[T](Getrf, blocked.Full, 4, 9, 4), sample[T](Geqrf, blocked.Full, 9, 6, 3)} {
		var b bytes.Buffer
		if err := WriteState(&b, s); err != nil {
			t.Fatal(err)
		}
		file := b.Bytes()
		got, err := ReadState[T](&b)
		if err != nil {
			t.Fatal(err)
		}
		if got.Algorithm != s.Algorithm || got.Step != s.Step || got.Input != s.Input || Fingerprint(got.Matrix) != Fingerprint(s.Matrix) {
			t.Errorf("%+v became %+v", s, got)
		}
		if s.Pivots != nil {
			want, have := make([]int, s.Pivots.Len()), make([]int, s.Pivots.Len())
			s.Pivots.Swaps(want)
			got.Pivots.Swaps(have)
			if !slices.Equal(want, have) || got.Pivots.Info() != 3 {
				t.Errorf("pivots %v became %v", want, have)
			}
		}
		if s.Rotations != nil {
			for k, f := range got.Rotations.Factors(1) {
				if got.Rotations.Options() != s.Rotations.Options() || f.At(0, 0) != T(k)+0.25 {
					t.Errorf("rotations %+v became %+v, factor %d is %v", s.Rotations.Options(), got.Rotations.Options(), k, f.At(0, 0))
				}
			}
		}
		// Every byte counts, and every length.
		for i := range file {
			spoiled := slices.Clone(file)
			spoiled[i] ^= 0x10
			var bad *StateError
			if _, err := ReadState[T](bytes.NewReader(spoiled)); !errors.As(err, &bad) {
				t.Fatalf("byte %d of %d: %v", i, len(file), err)
			}
			if _, err := ReadState[T](bytes.NewReader(file[:i])); !errors.As(err, &bad) {
				t.Fatalf("%d bytes of %d: %v", i, len(file), err)
			}
		}
	}
}

func TestState(t *testing.T) {
	t.Run("f64", testState[float64])
	t.Run("f32", testState[float32])
	var b bytes.Buffer
	if err := WriteState(&b, sample[float32](Potrf, blocked.SymLower, 5, 5, 2)); err != nil {
		t.Fatal(err)
	}
	var bad *StateError
	if _, err := ReadState[float64](&b); !errors.As(err, &bad) {
		t.Errorf("float32 read as float64: %v", err)
	}
}

func TestFingerprint(t *testing.T) {
	a := sample[float64](Potrf, blocked.SymUpper, 11, 11, 4).Matrix
	f := Fingerprint(a)
	a.Tile(1, 1).Set(3, 0, 7) // below the diagonal: means nothing
	if Fingerprint(a) != f {
		t.Error("the fingerprint depends on what is not stored")
	}
	a.Tile(1, 1).Set(0, 3, 7)
	if Fingerprint(a) == f {
		t.Error("the fingerprint does not depend on an element")
	}
	if Fingerprint(blocked.New[float64](blocked.Full, 4, 4, 2)) == Fingerprint(blocked.New[float64](blocked.Full, 2, 8, 2)) {
		t.Error("the fingerprint does not depend on the shape")
	}
}

// A tile is the same however large it is thought to be.
func TestReadTile(t *testing.T) {
	a := sample[float64](Getrf, blocked.Full, 9, 8, 4).Matrix
	for i, j := range a.StoredTiles() {
		want := a.Tile(i, j)
		var b bytes.Buffer
		sum := castagnoli()
		if err := want.Encode(io.MultiWriter(&b, sum)); err != nil {
			t.Fatal(err)
		}
		b.Write(sum.Sum(nil))
		for direct := 1; direct <= 17; direct++ {
			into := tiles.Outline[float64](blocked.Full, 9, 8, 4)
			if err := readTile(bytes.NewReader(b.Bytes()), into, i, j, direct); err != nil {
				t.Fatal(err)
			}
			got := into.Tile(i, j)
			for r := range want.Rows {
				if !slices.Equal(got.Row(r), want.Row(r)) {
					t.Fatalf("tile (%d, %d), row %d, by %d: %v, want %v", i, j, r, direct, got.Row(r), want.Row(r))
				}
			}
		}
		other := tiles.Outline[float64](blocked.Full, 9, 12, 5)
		var bad *StateError
		for _, direct := range []int{1, 1000} {
			if err := readTile(bytes.NewReader(b.Bytes()), other, 0, 0, direct); !errors.As(err, &bad) {
				t.Errorf("tile (%d, %d) in place of a larger one: %v", i, j, err)
			}
		}
	}
}

// A state of the format before is refused by its name.
func TestFormerState(t *testing.T) {
	var bad *StateError
	if _, err := ReadState[float64](strings.NewReader(formerMagic + "....")); !errors.As(err, &bad) || !strings.Contains(bad.Reason, "format 1") {
		t.Errorf("error %v", err)
	}
}

// A header whose checksum is right may still describe a matrix that no memory
// holds, and nothing of which follows.
func TestReadStateTooLarge(t *testing.T) {
	for _, head := range []string{
		`{"op":"potrf","type":"f64","rows":100000000,"cols":100000000,"nb":100000000}`,
		`{"op":"potrf","type":"f64","rows":10000000,"cols":10000000,"nb":100000}`,
		`{"op":"potrf","type":"f64","rows":100000000,"cols":100000000,"nb":1}`,
		`{"op":"potrf","type":"f64","rows":1,"cols":100000000000,"nb":100000000000}`,
		`{"op":"getrf","type":"f64","rows":1000000000000,"cols":1000000000000,"nb":1000000000,"pivots":[1]}`,
		`{"op":"potrf","type":"f64","rows":16777216,"cols":1,"nb":16777216}`,
		`{"op":"potrf","type":"f64","rows":2147483647,"cols":1,"nb":2147483647}`,
		`{"op":"potrf","type":"f64","rows":1,"cols":2147483647,"nb":2147483647}`,
		`{"op":"potrf","type":"f64","rows":2147483648,"cols":1,"nb":2147483648}`,
		`{"op":"potrf","type":"f64","rows":4294967297,"cols":4294967297,"nb":4294967297}`,
		`{"op":"potrf","type":"f64","rows":1,"cols":1000000000000,"nb":1000}`,
		`{"op":"potrv","type":"f64","rows":5,"cols":5,"nb":2}`,
		`{"type":"f64","rows":5,"cols":5,"nb":2}`,
		`{"op":"potrf","type":"f64","rows":5,"cols":5,"nb":2,"step":4}`,
		`{"op":"potrf","type":"f64","rows":-5,"cols":-5,"nb":2}`,
		`{"op":"potrf","type":"f64","rows":5,"cols":5,"nb":0}`,
		`{"op":"potrf","type":"f64","rows":5,"cols":5,"nb":5,"kind":77}`,
	} {
		file := binary.LittleEndian.AppendUint32([]byte(stateMagic), uint32(len(head)))
		file = append(file, head...)
		sum := castagnoli()
		sum.Write([]byte(head))
		file = append(sum.Sum(file), 1, 2, 3)
		var bad *StateError
		if _, err := ReadState[float64](bytes.NewReader(file)); !errors.As(err, &bad) {
			t.Errorf("%s: %v", head, err)
		}
	}
}

// Misuse of package blocked is an error of the file, and any other panic a bug that nothing hides.
func TestRefuse(t *testing.T) {
	try := func(v any) (err error) {
		defer refuse("nonsense", &err)
		panic(v)
	}
	var bad *StateError
	if err := try(blocked.ErrShape); !errors.As(err, &bad) {
		t.Errorf("error %v", err)
	}
	defer func() {
		if v := recover(); v != "bug" {
			t.Errorf("panic %v", v)
		}
	}()
	t.Errorf("a bug became error %v", try("bug"))
}

// FuzzReadState: whatever is read gives a state or an error, in memory that the
// file pays for.
func FuzzReadState(f *testing.F) {
	var b bytes.Buffer
	if err := WriteState(&b, sample[float64](Getrf, blocked.Full, 5, 5, 2)); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(stateMagic))
	f.Fuzz(func(t *testing.T, file []byte) {
		s, err := ReadState[float64](bytes.NewReader(file))
		if (s == nil) == (err == nil) {
			t.Errorf("%v, %v", s, err)
		}
	})
}
