package csr

// halo says which elements of the parts of x each block needs for its product. Blocks on one node share the
// slices that the node gets:
//
//	node 1   block 0 ─┬─ slice of part 2
//	         block 1 ─┘
//	node 2   block 2 ─── slice of part 1
//	         block 3 ─── part 2, which is on the node
type halo struct {
	spans  []*tile // for each block with rows: see spanFirst
	slices []slice
	needs  [][]int // for each block with rows: the slices that it needs
}

// slice is elements lo to hi−1 of a part of x, which blocks on node need.
type slice struct {
	part, lo, hi int
	node         int32
	whole        bool // the node reads the part itself instead of a copy of the slice
}

// share decides which slice of each part goes to each node: the elements that the blocks on the node need,
// or the whole part if that is most of it. share stores the first element of each slice in the spans. here
// says that all blocks are in the memory of this process.
func (h *halo) share(parts []part, owners []int32, here bool) {
	at := map[[2]int]int{} // from node and part to their slice
	h.needs = make([][]int, len(parts))
	for k, span := range h.spans {
		for i := range parts {
			lo, hi := int(span.At(i, spanLo)), int(span.At(i, spanHi))
			if lo == hi {
				continue
			}
			key := [2]int{int(owners[k]), i}
			n, ok := at[key]
			if !ok {
				n = len(h.slices)
				at[key], h.slices = n, append(h.slices, slice{part: i, lo: lo, hi: hi, node: owners[k]})
			}
			s := &h.slices[n]
			s.lo, s.hi = min(s.lo, lo), max(s.hi, hi)
			h.needs[k] = append(h.needs[k], n)
		}
	}
	for n := range h.slices {
		s := &h.slices[n]
		rows := parts[s.part].hi - parts[s.part].lo
		if s.whole = here || s.node == owners[s.part] || 2*(s.hi-s.lo) > rows; s.whole {
			s.lo, s.hi = 0, rows
		}
	}
	for k, all := range h.needs {
		for _, n := range all {
			h.spans[k].Row(h.slices[n].part)[spanFrom] = float64(h.slices[n].lo)
		}
	}
}

// part is elements lo to hi−1 of a vector. block is the block of A with the same rows, −1 if there is none.
type part struct{ lo, hi, block int }
