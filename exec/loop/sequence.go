package loop

// sequence is the chunks of a queue, whichever worker takes them: under each of the schemes they
// follow from the queue's shape alone. So a counter is all that workers share of a queue.
type sequence struct {
	items, count int
	// Where all chunks are of one size, but for the first ones that have one item more and
	// the last one, that is all there is to know …
	size, larger int
	// … and otherwise starts has where each begins, and the end.
	starts []int
}

// newSequence returns the chunks of a queue of that shape. It takes a few nanoseconds for
// each chunk of a scheme whose chunks differ, of which there are some P·log N.
func newSequence(s Scheme, q Shape) *sequence {
	if size, larger, ok := s.even(q); ok {
		c := &sequence{items: q.Items, size: size, larger: larger}
		// The larger ones come first, and then as many as the rest needs.
		c.count = larger + int(ceil(u(q.Items-larger*(size+1)), u(size)))
		return c
	}
	return tabulate(q.Items, func(i, remaining int) int { return s.next(q, i, remaining) })
}

// tabulate returns the chunks whose sizes next says, which is at least 1 and at most what
// remains.
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
