package core

import "math/bits"

// nodeSet is a set of nodes by number. The zero value is empty.
type nodeSet struct {
	words []uint64
	n     int
}

// set adds or removes a node.
func (s *nodeSet) set(node int, in bool) {
	w, bit := node/64, uint64(1)<<(node%64)
	for len(s.words) <= w {
		s.words = append(s.words, 0)
	}
	if was := s.words[w]&bit != 0; was == in {
		return
	}
	if s.words[w] ^= bit; in {
		s.n++
	} else {
		s.n--
	}
}

// has reports whether a node is in the set.
func (s *nodeSet) has(node int) bool {
	return node/64 < len(s.words) && s.words[node/64]>>(node%64)&1 != 0
}

// after returns the next node of the set after one, in a circle, −1 if there is none. If also is
// not nil, only nodes of both sets count.
func (s *nodeSet) after(node int, also *nodeSet) int {
	word := func(k int) uint64 {
		if also == nil {
			return s.words[k]
		}
		if k >= len(also.words) {
			return 0
		}
		return s.words[k] & also.words[k]
	}
	at := node + 1
	w := at / 64
	if w < len(s.words) {
		if x := word(w) >> (at % 64) << (at % 64); x != 0 {
			return w*64 + bits.TrailingZeros64(x)
		}
		w++
	}
	for i := range s.words {
		k := (w + i) % len(s.words)
		if x := word(k); x != 0 {
			return k*64 + bits.TrailingZeros64(x)
		}
	}
	return -1
}
