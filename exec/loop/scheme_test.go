package loop

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
)

// sizes returns the chunks of a queue, as Next gives them one after the other.
func sizes(s Scheme, q Shape) (all []int) {
	for at := 0; at < q.Items; {
		n := s.Next(q, len(all), q.Items-at)
		all, at = append(all, n), at+n
	}
	return all
}

// times returns n copies of x.
func times(n, x int) []int { return slices.Repeat([]int{x}, n) }

// TestSequences pins the schemes by their sequences. Those of FISS, VISS, TFSS and TSS for
// 1000 items and 4 workers are published; the others follow from the formulas.
func TestSequences(t *testing.T) {
	for _, test := range []struct {
		scheme Scheme
		shape  Shape
		want   []int
	}{
		{Static, Shape{1000, 4, 0}, times(4, 250)},
		{Static, Shape{10, 4, 0}, []int{3, 3, 2, 2}},
		{Static, Shape{10, 4, 3}, []int{3, 3, 3, 1}},
		{Static, Shape{11, 4, 3}, []int{3, 3, 3, 2}},
		{Static, Shape{3, 4, 0}, times(3, 1)},
		{SS, Shape{5, 4, 0}, times(5, 1)},
		{SS, Shape{10, 4, 4}, []int{4, 4, 2}},
		{MFSC, Shape{1000, 4, 0}, append(times(31, 32), 8)}, // 250·ln 2/ln 250 = 31.4
		{MFSC, Shape{8, 4, 0}, times(4, 2)},
		{MFSC, Shape{4, 4, 0}, times(4, 1)}, // ln 1 = 0
		{GSS, Shape{1000, 4, 0}, []int{250, 188, 141, 106, 79, 59, 45, 33, 25, 19, 14, 11, 8, 6, 4, 3, 3, 2, 1, 1, 1, 1}},
		{GSS, Shape{1000, 4, 50}, []int{250, 188, 141, 106, 79, 59, 50, 50, 50, 27}},
		{TSS, Shape{1000, 4, 0}, []int{125, 117, 109, 101, 93, 85, 77, 69, 61, 53, 45, 37, 28}},
		{TSS, Shape{1, 1, 0}, []int{1}}, // n = 1
		{TSS, Shape{3, 4, 0}, times(3, 1)},
		{FAC2, Shape{1000, 4, 0}, slices.Concat(times(4, 125), times(4, 63), times(4, 32), times(4, 16), times(4, 8), times(4, 4), times(4, 2))},
		{TFSS, Shape{1000, 4, 0}, slices.Concat(times(4, 113), times(4, 81), times(4, 49), []int{17, 11})},
		{FISS, Shape{1000, 4, 0}, slices.Concat(times(4, 50), times(4, 83), times(4, 116), []int{4})},
		{FISS, Shape{10, 4, 0}, times(10, 1)}, // 0 by integer division
		{VISS, Shape{1000, 4, 0}, slices.Concat(times(4, 62), times(4, 93), times(3, 108), []int{56})},
		{VISS, Shape{10, 4, 0}, times(10, 1)},
		{PLS, Shape{1000, 4, 0}, slices.Concat(times(4, 125), []int{125, 94, 71, 53, 40, 30, 22, 17, 12, 9, 7, 5, 4, 3, 2, 2, 1, 1, 1, 1})},
		{PSS, Shape{1000, 4, 0}, []int{167, 139, 116, 97, 81, 67, 56, 47, 39, 32, 27, 22, 19, 16, 13, 11, 9, 7, 6, 5, 4, 4, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1}},
	} {
		if got := sizes(test.scheme, test.shape); !slices.Equal(got, test.want) {
			t.Errorf("%v of %+v:\ngot  %v\nwant %v", test.scheme, test.shape, got, test.want)
		}
	}
}

// extremes are numbers at which formulas break.
func extremes() []int {
	all := []int{0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 100, 1000}
	for _, big := range []int{1 << 20, math.MaxInt32, math.MaxInt / 2, math.MaxInt/2 + 1, math.MaxInt} {
		all = append(all, big-1, big)
	}
	return all
}

// TestNext: a chunk has at least one item, at least the grain, and no more than there are,
// for all shapes and whatever has been handed out before.
func TestNext(t *testing.T) {
	for _, s := range Schemes() {
		for _, n := range extremes() {
			for _, p := range extremes()[1:] {
				for _, grain := range extremes() {
					for _, i := range extremes() {
						for _, r := range []int{0, 1, 2, n / 2, n/2 + 1, n - 1, n} {
							if r < 0 || r > n || p > math.MaxInt32 {
								continue
							}
							got := s.Next(Shape{n, p, grain}, i, r)
							if got > r || got < min(r, max(grain, 1)) {
								t.Fatalf("%v: chunk %d of %d items for %d workers, grain %d, %d left: %d", s, i, n, p, grain, r, got)
							}
						}
					}
				}
			}
		}
	}
}

// TestSequenceIsNext: what a counter leads to is what Next says one after the other.
func TestSequenceIsNext(t *testing.T) {
	for _, s := range Schemes() {
		for _, n := range []int{0, 1, 2, 3, 7, 64, 999, 1000, 4096} {
			for _, p := range []int{1, 2, 3, 4, 20, 56, 1001} {
				for _, grain := range []int{0, 1, 2, 17, 250, 5000} {
					q := Shape{n, p, grain}
					c, at := newSequence(s, q), 0
					for i, size := range sizes(s, q) {
						lo, hi, ok := c.chunk(i)
						if !ok || lo != at || hi != at+size {
							t.Fatalf("%v of %+v: chunk %d is %d to %d, %v; want %d to %d", s, q, i, lo, hi, ok, at, at+size)
						}
						at = hi
					}
					if lo, hi, ok := c.chunk(len(sizes(s, q))); ok || at != n {
						t.Fatalf("%v of %+v: %d items, and then %d to %d", s, q, at, lo, hi)
					}
				}
			}
		}
	}
}

// TestLongSequences: the largest loop there is needs no table where chunks are alike, and a
// short one elsewhere; its last chunk ends where it should.
func TestLongSequences(t *testing.T) {
	for _, s := range Schemes() {
		q := Shape{Items: math.MaxInt, Workers: 64, Grain: 1 << 20}
		c := newSequence(s, q)
		if _, hi, ok := c.chunk(c.count - 1); !ok || hi != q.Items {
			t.Errorf("%v: the last of %d chunks ends at %d", s, c.count, hi)
		}
		if len(c.starts) > 64*100 {
			t.Errorf("%v: %d chunks in the table", s, len(c.starts))
		}
	}
}

func TestWords(t *testing.T) {
	got := fmt.Sprint(Auto, Schemes(), Layouts(), Victims(), Scheme(99))
	if want := "auto [static ss mfsc gss tss fac2 tfss fiss viss pls pss] [central socket core] [seqpri seq rndpri rnd] Scheme(99)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// panics returns what f panics with.
func panics(f func()) (err error) {
	defer func() { err, _ = recover().(error) }()
	f()
	return nil
}

func TestMisuse(t *testing.T) {
	for _, test := range []struct {
		want Error
		f    func()
	}{
		{ErrScheme, func() { Auto.Next(Shape{1, 1, 1}, 0, 1) }},
		{ErrScheme, func() { Scheme(99).Next(Shape{1, 1, 1}, 0, 1) }},
		{ErrShape, func() { GSS.Next(Shape{1, 0, 1}, 0, 1) }},
		{ErrShape, func() { GSS.Next(Shape{1, 1, 1}, -1, 1) }},
		{ErrItems, func() { NewDispenser(-1, []int{0}, Plan{Scheme: SS}) }},
		{ErrShape, func() { NewDispenser(1, nil, Plan{Scheme: SS}) }},
		{ErrScheme, func() { NewDispenser(1, []int{0}, Plan{}) }},
		{ErrScheme, func() { NewDispenser(1, []int{0}, Plan{Scheme: SS, Victim: 9}) }},
		{ErrItems, func() { NewPartsDispenser([]Part{{-1, 0}}, []int{0}, Plan{Scheme: SS}) }},
		{ErrShape, func() { NewPartsDispenser(nil, nil, Plan{Scheme: SS}) }},
		{ErrScheme, func() { NewPartsDispenser(nil, []int{0}, Plan{Scheme: SS, Layout: PerCore}) }},
	} {
		if err := panics(test.f); !errors.Is(err, test.want) {
			t.Errorf("%v, want %v", err, test.want)
		}
	}
}
