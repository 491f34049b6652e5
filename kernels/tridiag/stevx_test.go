package tridiag

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/internal/scalar"
)

// stevx runs Stevx on copies, and returns the vectors first to last−1, and how often it asked for them.
func stevx[T scalar.Real](t *testing.T, d, e []T, first, last int, crew Crew[T]) (values []T, vectors Matrix[T], asked int) {
	t.Helper()
	n := len(d)
	values = slices.Clone(d)
	q := Matrix[T]{n, n, n + 3, make([]T, n*(n+3))}
	err := Stevx(values, slices.Clone(e), q, make([]T, WorkStedc(n)), byGonum[T](), crew, func([]T) (int, int) {
		asked++
		return first, last
	})
	if err != nil || !slices.IsSorted(values) {
		t.Fatalf("%v, or values not in order", err)
	}
	return values, q.Block(0, 0, last-first, n), asked
}

func testStevx[T scalar.Real](t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	iterated := map[string]bool{}
	for _, n := range []int{Leaf + 1, 230} {
		for _, p := range problems(n, rng) {
			d, e := converted[T](p.d), converted[T](p.e)
			for _, part := range [][2]int{{0, 0}, {0, 1}, {n / 3, n/3 + n/8}, {n - n/6, n}, {0, n}} {
				first, last := part[0], part[1]
				w, v, asked := stevx(t, d, e, first, last, together[T])
				if r, o := check(d, e, w[first:last], v); !(r < 30 && o < 30) {
					t.Errorf("%s %d, %v: residual %.3g, orthogonality %.3g", p.name, n, part, r, o)
				}
				if asked == 1 && last-first > 1 {
					iterated[p.name] = true
				}
				if n > 2*Leaf {
					_, alone, _ := stevx(t, d, e, first, last, Alone(make([]T, MergeScratch(n))))
					for i := range v.Rows {
						if !slices.Equal(alone.Row(i), v.Row(i)) {
							t.Errorf("%s %d, %v: another vector %d", p.name, n, part, i)
							break
						}
					}
				}
			}
		}
	}
	for _, name := range []string{"random", "1-2-1", "Clement", "Legendre", "weak couplings", "huge"} {
		if !iterated[name] {
			t.Errorf("%s: no part by inverse iteration", name)
		}
	}
	for _, name := range []string{"zero", "identity", "cluster at eps"} {
		if iterated[name] {
			t.Errorf("%s: a cluster by inverse iteration", name)
		}
	}
}

// TestStevx: vectors that are chosen are right, whether values are separate or not, and the crew makes no difference.
func TestStevx(t *testing.T) {
	t.Run("float64", testStevx[float64])
	t.Run("float32", testStevx[float32])
}

// TestCount: as many eigenvalues are less than x as Values finds there.
func TestCount(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for _, p := range problems(100, rng) {
		scale := ScaleFor(p.d, p.e, 1)
		Multiply(p.d, scale)
		Multiply(p.e, scale)
		values := slices.Clone(p.d)
		if err := Sterf(values, slices.Clone(p.e)); err != nil {
			t.Fatal(err)
		}
		for range 50 {
			x := values[rng.IntN(100)] + rng.NormFloat64()*0.1
			lo, _ := slices.BinarySearch(values, x-1e-12)
			hi, _ := slices.BinarySearch(values, x+1e-12)
			if got := Count(p.d, p.e, x); got < lo || got > hi {
				t.Errorf("%s: %d values less than %v, not %d to %d", p.name, got, x, lo, hi)
			}
		}
	}
}
