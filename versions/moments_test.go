package versions

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestClassOf(t *testing.T) {
	for _, test := range []struct {
		work float64
		want int
	}{
		{math.NaN(), 0}, {math.Inf(-1), 0}, {-5, 0}, {0, 0}, {0.5, 0}, {1, 0}, {3.99, 0},
		{4, 1}, {15.99, 1}, {16, 2}, {1 << 25, 12}, {math.Pow(4, 31), 31},
		{math.Pow(4, 40), 31}, {math.MaxFloat64, 31}, {math.Inf(1), 31},
	} {
		if got := ClassOf(test.work); got != test.want {
			t.Errorf("ClassOf(%g) = %d, want %d", test.work, got, test.want)
		}
		if u := unitsOf(test.work); !(u >= 1 && u < 1e20) {
			t.Errorf("unitsOf(%g) = %g", test.work, u)
		}
	}
}

// TestMoments compares update and merge with the two-pass formulas.
func TestMoments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(1e-12, 1), 1, 50).Draw(t, "x")
		cut := rapid.IntRange(0, len(x)).Draw(t, "cut")
		var a, b moments
		for i, v := range x {
			if i < cut {
				a.add(v)
			} else {
				b.add(v)
			}
		}
		a.merge(b)

		n := float64(len(x))
		mean, m2 := 0.0, 0.0
		for _, v := range x {
			mean += v / n
		}
		for _, v := range x {
			m2 += (v - mean) * (v - mean)
		}
		sd := 0.0
		if len(x) > 1 {
			sd = math.Sqrt(m2 / (n - 1))
		}
		if a.count != uint64(len(x)) || a.runs != a.count {
			t.Fatalf("counts %d, %d of %d", a.count, a.runs, len(x))
		}
		if math.Abs(a.mean-mean) > 1e-12 || math.Abs(a.sd()-sd) > 1e-8 {
			t.Fatalf("mean %g, want %g; sd %g, want %g", a.mean, mean, a.sd(), sd)
		}
	})
}

func TestMomentsFull(t *testing.T) {
	full := moments{runs: maxCount, count: maxCount, mean: 1}
	m := full
	m.add(2)
	m.merge(moments{runs: 1, count: 1, mean: 3})
	if m != full {
		t.Errorf("got %+v", m)
	}
}

func TestClean(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"AMD EPYC", "AMD EPYC"},
		{"a\x00b\nc\x1b[31m", "abc[31m"},
		{"a\xffb", "ab"},
		{string(make([]byte, 1000)), ""},
	} {
		if got := clean(test.in); got != test.want {
			t.Errorf("%q: got %q", test.in, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := clean(rapid.String().Draw(t, "s") + rapid.StringN(0, 300, -1).Draw(t, "more"))
		if len(s) > maxName || !printable(s) || clean(s) != s {
			t.Fatalf("%q", s)
		}
	})
}
