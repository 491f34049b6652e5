package supernodal

import "math"

// Division divides the fronts of a factorization into parts. A part is computed by one goroutine, after the parts that it
// reads. It is either subtrees whose roots have the same parent, or that without the subtrees of other parts. The bits of
// the factor do not depend on the division.
//
//	        ┌───┐
//	        │ 4 │  a front with much work: by itself
//	      ┌─┴───┴─┐
//	    ┌─┴─┐   ┌─┴─┐
//	    │ 2 │   │ 3 │
//	  ┌─┴───┴┐  └┬─┬┘
//	┌─┴─┐   (┴) (┴)(┴)   light subtrees belong to the part of their parent, or several make a part
//	│ 1 │
//	└┬─┬┘
//	(┴)(┴)
//
// What a front contributes to a parent in its own part waits as a packed triangle on the stack of the goroutine. What it
// contributes to another part waits as it is computed, in one of two arenas: that of the part's depth in the tree of parts, even
// or odd. There it may lie where the parts below those that it reads had theirs.
type Division struct {
	Parts []Part // in an order in which each comes after those that it reads

	// Arena is the number of elements of each arena.
	Arena [2]int64
	// Stack is the largest number of elements of contributions that wait on the stack of a part, and Front that of a
	// contribution before it comes there.
	Stack, Front int64

	of     []int32 // the part of a supernode
	across []place // where a supernode contributes to another part
}

// Part is the fronts that are computed by one goroutine.
type Part struct {
	Supernodes []int32 // in ascending order
	Reads      []int32 // the parts, all with smaller numbers, that contribute to it
	Above      int32   // the supernode of another part to which its roots contribute; −1 for none
	Into       int32   // that part, which reads it; −1 for none
	Work       float64
	Shared     float64 // the work of fronts so large that several cores may share each
	Ahead      float64 // the work of fronts that are computed after this part: those above its own
}

// place is a place in an arena; at is −1 for none.
type place struct {
	arena int
	at    int64
}

// sharedWork is the number of operations from which on several cores may share a front.
const sharedWork = 1e8

// Divide divides the fronts into parts of about grain operations, and larger ones where single fronts are. There is one
// part if grain is infinite.
func (a *Analysis) Divide(grain float64) *Division {
	d := &Division{}
	var root []int32
	d.Parts, d.of, root = a.partition(a.Work, grain)
	for k := range d.Parts {
		p := &d.Parts[k]
		for _, s := range p.Supernodes {
			if a.Work[s] >= sharedWork {
				p.Shared += a.Work[s]
			}
		}
	}
	d.arenas(a, root)
	d.measure(a, root)
	return d
}

// partition divides the supernodes, which take work, into parts that take about grain, and more where single supernodes do.
// It returns the part of each, and the part of which it is a root, −1 for none. Part.Shared is left out.
func (a *Analysis) partition(work []float64, grain float64) (parts []Part, of, root []int32) {
	n := int32(a.Supernodes())
	of, root = make([]int32, n), make([]int32, n)
	weight := make([]float64, n)
	// group makes parts of subtrees, and returns the work of those that are left to their parent.
	group := func(subtrees []int32, all bool) float64 {
		first, sum := 0, 0.0
		var light []int32
		flush := func() {
			for _, c := range light[first:] {
				root[c] = int32(len(parts))
			}
			if first < len(light) {
				parts = append(parts, Part{})
			}
			first, sum = len(light), 0
		}
		for _, c := range subtrees {
			if weight[c] >= grain {
				root[c] = int32(len(parts))
				parts = append(parts, Part{})
				continue
			}
			light = append(light, c)
			if sum += weight[c]; sum >= grain {
				flush()
			}
		}
		if all {
			flush()
		}
		return sum
	}
	var roots []int32
	for s := range n {
		root[s] = -1
		weight[s] = work[s] + group(a.children(s), work[s] >= grain)
		if a.Parent[s] < 0 {
			roots = append(roots, s)
		}
	}
	group(roots, true)
	ahead := make([]float64, n)
	for s := n - 1; s >= 0; s-- {
		if up := a.Parent[s]; up >= 0 {
			ahead[s] = ahead[up] + work[up]
		}
		if of[s] = root[s]; root[s] < 0 {
			of[s] = of[a.Parent[s]]
		}
	}
	for s := range n {
		p := &parts[of[s]]
		p.Supernodes = append(p.Supernodes, s)
		p.Work += work[s]
		if root[s] >= 0 {
			p.Above, p.Ahead = a.Parent[s], max(p.Ahead, ahead[s])
		}
	}
	for k := range parts {
		p := &parts[k]
		if p.Into = -1; p.Above >= 0 {
			p.Into = of[p.Above]
			parts[p.Into].Reads = append(parts[p.Into].Reads, int32(k))
		}
	}
	return parts, of, root
}

// arenas says where contributions to other parts are.
func (d *Division) arenas(a *Analysis, root []int32) {
	n := len(d.Parts)
	contributes := make([]int64, n)
	d.across = make([]place, len(root))
	for s, p := range root {
		if d.across[s].at = -1; p >= 0 && a.Parent[s] >= 0 {
			contributes[p] += bandedSize(a.below(int32(s)))
		}
	}
	// needs[p][x] is what the subtree of part p needs of arena x.
	needs, base := make([][2]int64, n), make([][2]int64, n)
	depth := make([]int, n)
	for p := n - 1; p >= 0; p-- {
		if up := d.Parts[p].Into; up >= 0 {
			depth[p] = depth[up] + 1
		}
	}
	for p := range n {
		x := depth[p] % 2
		needs[p][x] = max(needs[p][x], contributes[p])
		up := d.Parts[p].Into
		if up < 0 {
			// Roots of the tree contribute nothing; their subtrees may be computed at the same time.
			for x := range 2 {
				base[p][x] = d.Arena[x]
				d.Arena[x] += needs[p][x]
			}
			continue
		}
		for x := range 2 {
			base[p][x] = needs[up][x]
			needs[up][x] += needs[p][x]
		}
	}
	for p := n - 1; p >= 0; p-- {
		if up := d.Parts[p].Into; up >= 0 {
			base[p][0] += base[up][0]
			base[p][1] += base[up][1]
		}
	}
	for s, p := range root {
		if p < 0 || a.Parent[s] < 0 {
			continue
		}
		x := depth[p] % 2
		d.across[s] = place{x, base[p][x]}
		base[p][x] += bandedSize(a.below(int32(s)))
	}
}

// measure computes the memory of a goroutine.
func (d *Division) measure(a *Analysis, root []int32) {
	left := make([]int64, len(root)) // what the children of a supernode leave on the stack
	for _, p := range d.Parts {
		var waiting int64
		for _, s := range p.Supernodes {
			waiting -= left[s]
			if root[s] >= 0 {
				continue
			}
			m := a.below(s)
			left[a.Parent[s]] += packedSize(m)
			waiting += packedSize(m)
			d.Stack = max(d.Stack, waiting)
			d.Front = max(d.Front, bandedSize(m))
		}
	}
}

// Grain returns the grain with which so many goroutines have enough parts each, and none of these is too short.
func (a *Analysis) Grain(goroutines int) float64 {
	const each, least = 16, 3e6 // the least is about a millisecond
	if goroutines == 1 {
		return math.Inf(1)
	}
	return max(least, a.Flops/float64(each*goroutines))
}
