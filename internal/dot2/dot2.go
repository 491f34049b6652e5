package dot2

import "math"

// Sum is a sum of products. The zero value is 0.
type Sum struct{ high, low float64 }

// Add adds x·y.
func (s *Sum) Add(x, y float64) {
	p := float64(x * y) // never part of a fused operation
	t := s.high + p
	z := t - s.high
	s.low += (s.high - (t - z)) + (p - z) + math.FMA(x, y, -p)
	s.high = t
}

// Total returns the sum, rounded.
func (s *Sum) Total() float64 { return s.high + s.low }

// Dot returns c + Σ x[i]·y[i]. y is at least as long as x.
func Dot(c float64, x, y []float64) float64 {
	s := Sum{high: c}
	y = y[:len(x)]
	for i, v := range x {
		s.Add(v, y[i])
	}
	return s.Total()
}
