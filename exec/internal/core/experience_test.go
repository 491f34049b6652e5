package core

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// TestLinks: what a value takes from one node to another is learned: a time for each, and one
// for each byte. Where nothing has come yet, it is as elsewhere, or guessed.
func TestLinks(t *testing.T) {
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 0.01*want {
			t.Errorf("%s: %v s, want %v", what, got, want)
		}
	}
	var x Experience
	near("guessed", x.transferTime([]int{1}, 2, 1<<20), guessedLatency+float64(1<<20)/guessedRate)
	took := func(n, bytes int64, each, rate float64) time.Duration {
		return time.Duration((float64(n)*each + float64(bytes)/rate) * 1e9)
	}
	for _, n := range []int64{1, 4, 2, 8} {
		small, large := n<<10, n<<20
		x.LearnTransfer(1, 2, n, small, took(n, small, 1e-3, 1e9))
		x.LearnTransfer(1, 2, n, large, took(n, large, 1e-3, 1e9))
		x.LearnTransfer(3, 2, n, large, took(n, large, 0, 1e8))
	}
	near("both learned", x.transferTime([]int{1}, 2, 4<<20), 1e-3+float64(4<<20)/1e9)
	near("of one size", x.transferTime([]int{3}, 2, 4<<20), float64(4<<20)/1e8)
	near("the nearest", x.transferTime([]int{3, 1}, 2, 4<<20), 1e-3+float64(4<<20)/1e9)
	if s := x.transferTime([]int{5}, 6, 4<<20); s <= float64(4<<20)/1e9 || s >= float64(4<<20)/1e8 {
		t.Errorf("between others: %v s", s)
	}
	if s := x.transferTime(nil, 2, 1<<20); s != 0 {
		t.Errorf("from nobody: %v s", s)
	}
}

// TestSlowness: of nodes that are alike, what is known of many ops makes the same number each time,
// to the last bit: plans are decided by it, and are the same for a seed.
func TestSlowness(t *testing.T) {
	var x Experience
	for i := range 12 {
		task := &graph.Task{Op: name(fmt.Sprint("op", i))}
		for node := range 3 {
			x.learnRun(node, task, 1, time.Duration(1e9/float64(3+7*i+node)))
		}
	}
	for node := range 3 {
		want := x.slowness(node)
		for range 50 {
			if got := x.slowness(node); got != want {
				t.Fatalf("node %d: %v, and then %v", node, want, got)
			}
		}
	}
}

// name is an op that is a name only.
type name string

// OpName implements [graph.Op].
func (n name) OpName() string { return string(n) }
