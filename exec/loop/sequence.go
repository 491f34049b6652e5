package loop

// sequence is the chunks of a queue, whichever worker takes them: under each scheme they follow
// from the queue's shape alone. So workers share only a counter of a queue.
type sequence struct {
	items, count int
	// If all chunks have one size, except that the first larger ones have one item more and the
	// last one may be smaller, these two numbers determine them …
	size, larger int
	// … otherwise starts has the beginning of each, and the end.
	starts []int
}

// newSequence returns the chunks of a queue of that shape. For a scheme with different chunks, some
// P·log N of them, it takes a few nanoseconds each.
func newSequence(s Scheme, q Shape) *sequence {
	if size, larger, ok := s.even(q); ok {
		c := &sequence{items: q.Items, size: size, larger: larger}
		// The larger ones come first, and then as many as the rest needs.
		c.count = larger + int(ceil(u(q.Items-larger*(size+1)), u(size)))
		return c
	}
	return tabulate(q.Items, func(i, remaining int) int { return s.next(q, i, remaining) })
}

// tabulate returns chunks with the sizes returned by next, from 1 to the remaining items.
func tabulate(items int, next func(i, remaining int) int) *sequence {
	c := &sequence{items: items, starts: []int{0}}
	for at := 0; at < items; c.count++ {
		at += next(c.count, items-at)
		c.starts = append(c.starts, at)
	}
	return c
}

// chunk returns the items of chunk i: from lo to below hi. There are none from count on.
func (c *sequence) chunk(i int) (lo, hi int, ok bool) {
	if i >= c.count {
		return 0, 0, false
	}
	if c.starts != nil {
		return c.starts[i], c.starts[i+1], true
	}
	lo = i*c.size + min(i, c.larger)
	if hi = lo + c.size; i < c.larger {
		hi++
	}
	// Not hi > items: near the largest number of items hi overflows.
	if i == c.count-1 {
		hi = c.items
	}
	return lo, hi, true
}
