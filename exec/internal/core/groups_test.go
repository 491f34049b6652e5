package core

import (
	"math/rand/v2"
	"testing"
)

// TestMatchRanks: ranks get nodes of their own whenever there are some, and the ones that they prefer if no rank is in
// the way.
func TestMatchRanks(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		k, n := 1+rng.IntN(4), 1+rng.IntN(5)
		able := make([]uint, k) // a bit for each node
		for r := range able {
			able[r] = uint(rng.IntN(1 << n))
		}
		can := func(r, i int) bool { return able[r]>>i&1 != 0 }
		var possible func(r int, taken uint) bool
		possible = func(r int, taken uint) bool {
			for i := range n {
				if r < k && can(r, i) && taken>>i&1 == 0 && possible(r+1, taken|1<<i) {
					return true
				}
			}
			return r == k
		}
		got := matchRanks(k, n, can, func(_, a, b int) int { return b - a })
		if (got != nil) != possible(0, 0) {
			t.Fatalf("%b on %d nodes: %v", able, n, got)
		}
		taken := map[int]bool{}
		for r, i := range got {
			if !can(r, i) || taken[i] {
				t.Fatalf("%b on %d nodes: %v", able, n, got)
			}
			taken[i] = true
		}
		if k == 1 && got != nil && able[0]>>(got[0]+1) != 0 {
			t.Fatalf("%b on %d nodes: %v is not the node that comes first", able, n, got)
		}
	}
}
