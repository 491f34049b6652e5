package loop

import "slices"

// profile is the cost of a loop's items, from the chunks of one execution: all items of a chunk
// count as equal.
type profile struct {
	ends []int     // ends of the chunks, in the order of their items
	sums []float64 // seconds of all items up to each end
}

// newProfile returns the costs of a loop's items from the spans of all of them.
func newProfile(spans []Span) *profile {
	p := &profile{ends: []int{0}, sums: []float64{0}}
	sum := 0.0
	for i := range spans {
		sum += (spans[i].End - spans[i].Start).Seconds()
		p.ends = append(p.ends, spans[i].Hi)
		p.sums = append(p.sums, sum)
	}
	return p
}

// total returns the seconds of all items.
func (p *profile) total() float64 { return p.sums[len(p.sums)-1] }

// before returns the seconds of the first n items.
func (p *profile) before(n int) float64 {
	i, exact := slices.BinarySearch(p.ends, n)
	if exact {
		return p.sums[i]
	}
	part := float64(n-p.ends[i-1]) / float64(p.ends[i]-p.ends[i-1])
	return p.sums[i-1] + part*(p.sums[i]-p.sums[i-1])
}

// cost returns the seconds of the items of a chunk.
func (p *profile) cost(c Chunk) float64 { return p.before(c.Hi) - p.before(c.Lo) }
