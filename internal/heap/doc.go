// Package heap provides binary heaps whose elements can be taken out from anywhere.
package heap

import "cmp"

// Heap is a binary heap; At[0] is its first element. It compares keys alone, which takes no calls.
type Heap[K cmp.Ordered, V any] struct{ At []Item[K, V] }

// Item is an element of a heap. The one with the smallest Key comes first, and of equal ones the one with the smallest
// Seq.
type Item[K cmp.Ordered, V any] struct {
	Key   K
	Seq   uint64
	Value V
}

func (a *Item[K, V]) before(b *Item[K, V]) bool {
	return a.Key < b.Key || a.Key == b.Key && a.Seq < b.Seq
}

// Push adds an element.
func (h *Heap[K, V]) Push(x Item[K, V]) {
	h.At = append(h.At, x)
	h.up(len(h.At)-1, x)
}

// Remove takes element i out.
func (h *Heap[K, V]) Remove(i int) Item[K, V] {
	x, n := h.At[i], len(h.At)-1
	last := h.At[n]
	h.At[n] = Item[K, V]{}
	h.At = h.At[:n]
	if i < n {
		h.Set(i, last)
	}
	return x
}

// Set puts x in the place of element i, from where it moves down or up.
func (h *Heap[K, V]) Set(i int, x Item[K, V]) {
	at := h.At
	for c := 2*i + 1; c < len(at); c = 2*i + 1 {
		if c+1 < len(at) && at[c+1].before(&at[c]) {
			c++
		}
		if !at[c].before(&x) {
			break
		}
		at[i] = at[c]
		i = c
	}
	h.up(i, x)
}

// up puts x in the free place i or above it.
func (h *Heap[K, V]) up(i int, x Item[K, V]) {
	for i > 0 && x.before(&h.At[(i-1)/2]) {
		h.At[i] = h.At[(i-1)/2]
		i = (i - 1) / 2
	}
	h.At[i] = x
}
