package bidiag

import (
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
