package loopapps

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRowMax: rows of all lengths, from any row to any other, against a loop that anyone can read.
func TestRowMax(t *testing.T) {
	const n = 200
	random := rand.New(rand.NewPCG(1, 2))
	g, c := &Pattern{ia: []int{0}}, make([]uint32, n)
	for i := range c {
		c[i] = random.Uint32() >> random.IntN(32) // some beyond 2³¹
		for range random.IntN(3) * i / 5 {
			g.ja = append(g.ja, random.Int32N(n))
		}
		g.ia = append(g.ia, len(g.ja))
	}
	g.ja = slices.Clip(g.ja)
	const untouched = 12345
	for range 300 {
		lo := random.IntN(n + 1)
		hi := lo + random.IntN(n+1-lo)
		u, changes := slices.Repeat([]uint32{untouched}, n), 0
		changed := rowMax(g, c, u, lo, hi)
		for i := range u {
			want := uint32(untouched)
			if row := g.ja[g.ia[i]:g.ia[i+1]]; lo <= i && i < hi {
				want = c[i]
				for _, j := range row {
					want = max(want, c[j])
				}
				if want != c[i] {
					changes++
				}
				if got := largest(c, row, c[i]); got != want {
					t.Fatalf("without vectors: row %d, %d columns: %d, want %d", i, len(row), got, want)
				}
			}
			if u[i] != want {
				t.Fatalf("rows %d to %d: row %d, %d columns: %d, want %d", lo, hi, i, g.ia[i+1]-g.ia[i], u[i], want)
			}
		}
		if changed != changes {
			t.Fatalf("rows %d to %d: %d changes, want %d", lo, hi, changed, changes)
		}
	}
}
