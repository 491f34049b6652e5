package dispatch

import "math/rand/v2"

// victims is the order in which a worker tries the others' deques.
type victims interface {
	// victim returns the i-th worker that thief tries to steal from, for i from
	// 0 to the number of workers less one: all of them once, thief included.
	// Thief may be -1.
	victim(thief, i int) int
}

// sequential tries the workers that follow the thief.
type sequential int // number of workers

func (n sequential) victim(thief, i int) int { return (max(thief, -1) + 1 + i) % int(n) }

// random begins with a worker taken at random and goes on from there, so that
// thieves do not crowd at one victim.
type random struct {
	n     int
	start int
	rng   *rand.Rand
}

// newRandom returns random victims. The seed is fixed: a simulation of the same
// events makes the same decisions.
func newRandom(workers int) *random {
	return &random{n: workers, rng: rand.New(rand.NewPCG(1, uint64(workers)))}
}

func (r *random) victim(_, i int) int {
	if i == 0 {
		r.start = r.rng.IntN(r.n)
	}
	return (r.start + i) % r.n
}

// numaFirst tries the workers of the thief's own NUMA node before the others,
// each in sequence.
type numaFirst struct{ order [][]int32 } // by thief + 1

func newNUMAFirst(nodes []int) *numaFirst {
	n := len(nodes)
	v := &numaFirst{order: make([][]int32, n+1)}
	for thief := -1; thief < n; thief++ {
		order := make([]int32, 0, n)
		for _, near := range []bool{true, false} {
			for i := range n {
				w := (thief + 1 + i) % n
				if same := thief >= 0 && nodes[w] == nodes[thief]; same == near {
					order = append(order, int32(w))
				}
			}
		}
		v.order[thief+1] = order
	}
	return v
}

func (v *numaFirst) victim(thief, i int) int {
	if thief < -1 || thief+1 >= len(v.order) {
		thief = -1
	}
	return int(v.order[thief+1][i])
}
