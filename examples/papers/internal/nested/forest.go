package nested

import (
	"math"
	"math/rand/v2"
	"slices"
)

// row is a row of numbers.
type row = []float64

// points are labelled points, one after the other: their coordinates and their class, 0 or 1.
const (
	coordinates = 8
	width       = coordinates + 1
)

// newPoints returns random points of two classes: inside and outside of a ball.
func newPoints(n int, seed uint64) row {
	rng := rand.New(rand.NewPCG(seed, 0))
	all := make(row, n*width)
	for i := range n {
		p, r := all[i*width:(i+1)*width], 0.0
		for k := range coordinates {
			p[k] = rng.NormFloat64()
			if k < 3 { // the other coordinates do not matter
				r += p[k] * p[k]
			}
		}
		if r > 2.4 {
			p[coordinates] = 1
		}
	}
	return all
}

// newFlowers returns random points of two classes that are well separated, like the flowers of Iris. Few of
// them are support vectors.
func newFlowers(n int, seed uint64) row {
	rng := rand.New(rand.NewPCG(seed, 0))
	all := make(row, n*width)
	for i := range n {
		p, class := all[i*width:(i+1)*width], float64(rng.IntN(2))
		for k := range coordinates {
			p[k] = 0.5*rng.NormFloat64() + class
		}
		p[coordinates] = class
	}
	return all
}

// A tree is a complete binary tree with a given number of levels of inner nodes. Node i has a coordinate and a
// threshold; its children are 2i+1 and 2i+2. Below the last level are leaves, with the part of class 1 instead
// of a threshold.
const (
	levels   = 6
	inner    = 1<<levels - 1
	treeSize = 2 * (2*inner + 1)
)

// pick draws the numbers of a sample of the points, with replacement.
func pick(sample, points row, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range sample {
		sample[i] = float64(rng.IntN(len(points) / width))
	}
}

// train grows a tree on a sample.
func train(tree, points, sample row, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	of := make([]int, len(sample))
	for i, x := range sample {
		of[i] = int(x)
	}
	grow(tree, points, of, 0, 0.5, rng)
}

// grow grows the subtree of a node from the given points. Without points the node gets share, that of its
// parent.
func grow(tree, points row, of []int, node int, share float64, rng *rand.Rand) {
	ones := 0.0
	for _, i := range of {
		ones += points[i*width+coordinates]
	}
	if len(of) > 0 {
		share = ones / float64(len(of))
	}
	if node >= inner {
		tree[2*node+1] = share
		return
	}
	// Try random coordinates and thresholds. Keep the pair that makes the purest halves.
	best, at, threshold := math.Inf(1), 0, 0.0
	for range 3 * 8 {
		if len(of) == 0 {
			break
		}
		k := rng.IntN(coordinates)
		t := points[of[rng.IntN(len(of))]*width+k]
		var n, one [2]float64
		for _, i := range of {
			side := 0
			if points[i*width+k] > t {
				side = 1
			}
			n[side]++
			one[side] += points[i*width+coordinates]
		}
		impure := 0.0
		for side := range n {
			if n[side] > 0 {
				impure += one[side] * (n[side] - one[side]) / n[side]
			}
		}
		if impure < best {
			best, at, threshold = impure, k, t
		}
	}
	tree[2*node], tree[2*node+1] = float64(at), threshold
	split := slices.Clone(of)
	left := split[:0]
	var right []int
	for _, i := range of {
		if points[i*width+at] > threshold {
			right = append(right, i)
		} else {
			left = append(left, i)
		}
	}
	grow(tree, points, left, 2*node+1, share, rng)
	grow(tree, points, right, 2*node+2, share, rng)
}

// accuracy returns the part of the points that the forest classifies correctly, by the mean of its trees.
func accuracy(forest, points row) float64 {
	right := 0
	n, trees := len(points)/width, len(forest)/treeSize
	for i := range n {
		p, sum := points[i*width:(i+1)*width], 0.0
		for t := range trees {
			tree, node := forest[t*treeSize:(t+1)*treeSize], 0
			for node < inner {
				node = 2*node + 1
				if parent := (node - 1) / 2; p[int(tree[2*parent])] > tree[2*parent+1] {
					node++
				}
			}
			sum += tree[2*node+1]
		}
		if (sum > float64(trees)/2) == (p[coordinates] == 1) {
			right++
		}
	}
	return float64(right) / float64(n)
}
