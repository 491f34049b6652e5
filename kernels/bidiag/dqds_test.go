package bidiag

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSteps: dqds finds the values of all matrices that have no zero on the diagonal and no squares out of range, and
// takes few steps for each.
func TestSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for _, n := range []int{3, 4, 10, 100, 600} {
		for _, p := range problems(n, rng) {
			d := slices.Clone(p.d)
			steps, ok := stepsOf(d, p.e)
			switch p.name {
			case "zero", "diagonal of rank one third", "no diagonal", "zeros on the diagonal", "denormal", "a tiny block", "singular", "tiny", "graded down", "graded up", "graded both ways":
				continue // some have zeros, or squares that are out of range
			}
			if !ok {
				t.Errorf("%s %d: not found", p.name, n)
			}
			if most := 15 * n; steps > most {
				t.Errorf("%s %d: %d steps", p.name, n, steps)
			}
		}
	}
}

// TestGraded: what dqds finds of matrices with elements and values of all sizes has the relative accuracy of the
// QR iteration. It finds nothing where products have lost bits in an underflow.
func TestGraded(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 99))
	found := 0
	for range 600 {
		n := 5 + rng.IntN(60)
		gradeD, gradeE := 30*rng.Float64()*float64(rng.IntN(2)), 30*rng.Float64()*float64(rng.IntN(2))
		d, e := make([]float64, n), make([]float64, n-1)
		for i := range d {
			d[i] = rng.NormFloat64() * math.Pow(10, -gradeD*rng.Float64())
		}
		for i := range e {
			e[i] = rng.NormFloat64() * math.Pow(10, -gradeE*rng.Float64())
		}
		alone := slices.Clone(d)
		if !valuesAlone(alone, e) {
			continue
		}
		found++
		column := Matrix[float64]{Rows: n, Cols: 1, Stride: 1, Data: make([]float64, n)}
		if err := Bdsqr(d, slices.Clone(e), column, column, nil); err != nil {
			t.Fatal(err)
		}
		for i, want := range d {
			if !(math.Abs(alone[i]-want) <= 300*float64(n)*0x1p-53*want) {
				t.Errorf("order %d: value %d is %v, want %v", n, i, alone[i], want)
				break
			}
		}
	}
	if found < 300 {
		t.Errorf("only %d were found", found)
	}
}
