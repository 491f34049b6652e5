package bench

import (
	"slices"
	"testing"
)

// TestMeterGoesForward: two calls in one stage, as of a factorization and a solution by it, do not
// begin anew for the user.
func TestMeterGoesForward(t *testing.T) {
	var said []int
	m := newMeter(Spec{Repeat: 2, Watch: Watch{Progress: func(done, _ int) { said = append(said, done) }}})
	m.progress(4, 8)
	m.progress(8, 8)
	m.progress(1, 2)
	m.progress(2, 2)
	m.next()
	m.progress(4, 8)
	if want := []int{grain / 2, grain, grain, grain, grain, grain + grain/2}; !slices.Equal(said, want) {
		t.Errorf("said %v, want %v", said, want)
	}
}

// TestMeterOfGrowingTotal: the second run goes by how many tasks the first one came to.
func TestMeterOfGrowingTotal(t *testing.T) {
	var said []int
	m := newMeter(Spec{Repeat: 2, Watch: Watch{Progress: func(done, _ int) { said = append(said, done) }}})
	m.progress(8, 8)
	m.next()
	m.progress(1, 2)
	m.progress(4, 8)
	if want := []int{grain, grain, grain + grain/8, grain + grain/2}; !slices.Equal(said, want) {
		t.Errorf("said %v, want %v", said, want)
	}
}
