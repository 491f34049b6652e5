package loopapps

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/exec/loop"
)

// TestKDTree: the neighbours of queries among points, of which many coincide, are those of a
// sort by distance and number.
func TestKDTree(t *testing.T) {
	for _, n := range []int{0, 1, leaf, leaf + 1, 2*leaf + 1, 333} {
		for _, values := range []float64{1, 3, 1 << 20} { // of a coordinate
			const d = 3
			tree := newKDTree(n, d)
			x := make([][]float64, n)
			for i := range x {
				x[i] = make([]float64, d)
				for j := range x[i] {
					x[i][j] = math.Floor(values*uniform(5, i*d+j)) / values
				}
				tree.add(i, x[i])
			}
			todo := tree.grow(tree.root(), 2)
			for _, part := range todo {
				tree.grow(part, 0)
			}
			if n > 2*leaf+1 && len(todo) != 4 {
				t.Errorf("%d points: %d parts are left", n, len(todo))
			}
			offsets := make([]float64, d)
			for q := range 20 {
				at := []float64{2*uniform(6, q) - 0.5, uniform(7, q), float64(q % 2)}
				want := make([]neighbour, n)
				for i := range x {
					want[i] = neighbour{square(x[i], at), i}
				}
				slices.SortFunc(want, func(a, b neighbour) int {
					return cmp.Or(cmp.Compare(a.square, b.square), cmp.Compare(a.id, b.id))
				})
				for _, k := range []int{1, 7} {
					got := make(nearest, 0, k)
					tree.search(at, offsets, &got)
					if !slices.Equal(got, want[:min(k, n)]) {
						t.Fatalf("%d points, %v values, k = %d: %v, want %v", n, values, k, got, want[:min(k, n)])
					}
				}
			}
		}
	}
}

// TestNeighbours: in all forms the neighbours are those of an exhaustive search, and wrong ones do
// not pass.
func TestNeighbours(t *testing.T) {
	for _, workers := range []int{1, 3} {
		rt := start(t, workers)
		for _, blocks := range []int{1, 5, 40} {
			b, err := newNeighbours(t.Context(), rt, 300, 3, 4, blocks, 9)
			if err != nil {
				t.Fatal(err)
			}
			for k, f := range Forms() {
				b.SetForm(f)
				loops, err := b.Run(t.Context(), rt, loop.Options{}, new(Sites))
				if last := len(loops) - 1; err != nil || last < 1 || loops[last].Items != 1200 {
					t.Fatalf("%v, %v: %v, %v", b.Describe(), f, err, loops)
				}
				if err := b.Verify(k == 0); err != nil {
					t.Errorf("%v, %v: %v", b.Describe(), f, err)
				}
			}
			l := b.have[77]
			l[0], l[1] = l[1], l[0]
			if b.Verify(false) == nil {
				t.Error("neighbours in another order pass")
			}
			b.have[77] = l[:3]
			if b.Verify(false) == nil {
				t.Error("a neighbour that is missing passes")
			}
		}
	}
	b, err := newNeighbours(t.Context(), start(t, 1), 2, 3, 5, 4, 9)
	if err != nil || b.k != 2 {
		t.Error("more neighbours than points", err)
	}
}
