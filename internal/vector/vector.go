package vector

import "math/bits"

// chunk is the elements of a chunk: of a part at most twice as many products are sent, and what
// the tree costs for each chunk does not count.
const chunk = 64

// Add computes y = αx + βy. If β is 0 y is not read.
func Add(alpha float64, x []float64, beta float64, y []float64) {
	y = y[:len(x)]
	switch {
	case beta == 0 && alpha == 1:
		copy(y, x)
	case beta == 0:
		for i, v := range x {
			y[i] = alpha * v
		}
	case beta == 1:
		for i, v := range x {
			y[i] += alpha * v
		}
	case alpha == 1:
		for i, v := range x {
			y[i] = v + beta*y[i]
		}
	default:
		for i, v := range x {
			y[i] = alpha*v + beta*y[i]
		}
	}
}

// Dot returns Σ (scale·x_i)·(scale·y_i).
func Dot(x, y []float64, scale float64) float64 {
	var s Sum
	s.chunks(x, y, scale)
	for i := len(x) &^ (chunk - 1); i < len(x); i++ {
		s.product(product(x[i], y[i], scale))
	}
	return s.Total()
}

// product is never part of a fused operation, whatever the compiler may do elsewhere.
func product(x, y, scale float64) float64 {
	if scale == 1 {
		return float64(x * y)
	}
	return float64(float64(scale*x) * float64(scale*y))
}

// layout returns what the part of a vector from element first on has of the tree: so many products,
// whole chunks, and again products.
func layout(first, n int) (head, chunks, tail int) {
	head = min(n, -first&(chunk-1))
	return head, (n - head) / chunk, (n - head) % chunk
}

// subtree returns the level of the largest subtree that begins with a chunk and has no more than
// so many.
func subtree(first, chunks int) (level int) {
	level = bits.Len(uint(chunks)) - 1
	if first > 0 {
		level = min(level, bits.TrailingZeros(uint(first)))
	}
	return level
}

// Len returns how many numbers [Part] makes of n elements from element first on.
func Len(first, n int) int {
	head, chunks, tail := layout(first, n)
	for c := (first + head) / chunk; chunks > 0; tail++ {
		size := 1 << subtree(c, chunks)
		c, chunks = c+size, chunks-size
	}
	return head + tail
}

// Part overwrites to, [Len] numbers, with what x and y have of the dot product of two vectors of which
// they are the elements from first on.
func Part(to []float64, first int, x, y []float64, scale float64) {
	head, chunks, tail := layout(first, len(x))
	put := func(v float64) { to[0], to = v, to[1:] }
	for i := range head {
		put(product(x[i], y[i], scale))
	}
	x, y, first = x[head:], y[head:], first+head
	for c := first / chunk; chunks > 0; {
		level := subtree(c, chunks)
		size := 1 << level
		var s Sum
		s.chunks(x[:size*chunk], y[:size*chunk], scale)
		put(s.levels[level])
		x, y, c, chunks = x[size*chunk:], y[size*chunk:], c+size, chunks-size
	}
	for i := range tail {
		put(product(x[i], y[i], scale))
	}
}

// Sum adds up a dot product. The zero value is that of no elements.
type Sum struct {
	open   [4]float64 // the chunk that has begun: its elements in turn
	begun  int        // how many these are
	count  int        // whole chunks: its bits say for which levels there is a subtree
	levels [64]float64
}

// Add adds what [Part] has made of the next n elements.
func (s *Sum) Add(n int, part []float64) {
	head, chunks, tail := layout(s.count*chunk+s.begun, n)
	take := func() (v float64) {
		v, part = part[0], part[1:]
		return v
	}
	for range head {
		s.product(take())
	}
	for chunks > 0 {
		level := subtree(s.count, chunks)
		s.subtree(level, take())
		chunks -= 1 << level
	}
	for range tail {
		s.product(take())
	}
}

// Total returns the sum of all that was added.
func (s *Sum) Total() float64 {
	v := (s.open[0] + s.open[1]) + (s.open[2] + s.open[3])
	for level := range bits.Len(uint(s.count)) {
		if s.count>>level&1 == 1 {
			v = s.levels[level] + v
		}
	}
	return v
}

// product adds the product of the next element.
func (s *Sum) product(p float64) {
	s.open[s.begun&3] += p
	if s.begun++; s.begun == chunk {
		v := (s.open[0] + s.open[1]) + (s.open[2] + s.open[3])
		s.open, s.begun = [4]float64{}, 0
		s.subtree(0, v)
	}
}

// subtree adds a subtree, which becomes larger with those before it.
func (s *Sum) subtree(level int, v float64) {
	n := 1 << level
	for ; s.count>>level&1 == 1; level++ {
		v = s.levels[level] + v
	}
	s.count += n
	s.levels[level] = v
}

// chunks adds the whole chunks of x and y.
func (s *Sum) chunks(x, y []float64, scale float64) {
	for len(x) >= chunk {
		a, b := (*[chunk]float64)(x), (*[chunk]float64)(y)
		var s0, s1, s2, s3 float64
		if scale == 1 {
			for i := 0; i < chunk; i += 4 {
				s0 += float64(a[i] * b[i])
				s1 += float64(a[i+1] * b[i+1])
				s2 += float64(a[i+2] * b[i+2])
				s3 += float64(a[i+3] * b[i+3])
			}
		} else {
			for i := 0; i < chunk; i += 4 {
				s0 += product(a[i], b[i], scale)
				s1 += product(a[i+1], b[i+1], scale)
				s2 += product(a[i+2], b[i+2], scale)
				s3 += product(a[i+3], b[i+3], scale)
			}
		}
		s.subtree(0, (s0+s1)+(s2+s3))
		x, y = x[chunk:], y[chunk:]
	}
}
