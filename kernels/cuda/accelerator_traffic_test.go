package cuda_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/kernels/kerneltest/traffic"
	"github.com/tessera-la/tessera/versions"
)

const inout = versions.Reads | versions.Writes

// rightLooking returns the calls of a Cholesky factorization of n×n tiles, each
// step of which updates all that remains.
func rightLooking(n int) (calls [][]traffic.Operand) {
	a := lower(n)
	for k := range n {
		calls = append(calls, call(a[k][k]))
		for m := k + 1; m < n; m++ {
			calls = append(calls, call(a[m][k], a[k][k]))
		}
		for j := k + 1; j < n; j++ {
			calls = append(calls, call(a[j][j], a[j][k]))
			for m := j + 1; m < n; m++ {
				calls = append(calls, call(a[m][j], a[m][k], a[j][k]))
			}
		}
	}
	return calls
}

// leftLooking returns the same calls in another order: each tile gets all its
// updates before the next one does.
func leftLooking(n int) (calls [][]traffic.Operand) {
	a := lower(n)
	for j := range n {
		for m := j; m < n; m++ {
			for k := range j {
				if m == j {
					calls = append(calls, call(a[j][j], a[j][k]))
				} else {
					calls = append(calls, call(a[m][j], a[m][k], a[j][k]))
				}
			}
			if m == j {
				calls = append(calls, call(a[j][j]))
			} else {
				calls = append(calls, call(a[m][j], a[j][j]))
			}
		}
	}
	return calls
}

// lower returns the tiles of a lower triangle.
func lower(n int) [][]*matrix {
	a := make([][]*matrix, n)
	for i := range a {
		for range i + 1 {
			a[i] = append(a[i], newMatrix(8, 8, 0, 1))
		}
	}
	return a
}

// call returns the operands of a call that updates c.
func call(c *matrix, reads ...*matrix) (ops []traffic.Operand) {
	for _, a := range reads {
		ops = append(ops, traffic.Operand{Value: a, Use: versions.Reads})
	}
	return append(ops, traffic.Operand{Value: c, Use: inout})
}

// scheduled returns calls in the order of a scheduler that chooses among those
// that are ready.
func scheduled(calls [][]traffic.Operand, choose func(ready int) int) (order [][]traffic.Operand) {
	needs := make([]int, len(calls))
	next := make([][]int, len(calls))
	wrote, read := map[any]int{}, map[any][]int{}
	for i, ops := range calls {
		after := func(j int) {
			next[j] = append(next[j], i)
			needs[i]++
		}
		for _, o := range ops {
			if j, ok := wrote[o.Value]; ok {
				after(j)
			}
			if o.Use == inout {
				for _, j := range read[o.Value] {
					after(j)
				}
				wrote[o.Value], read[o.Value] = i, nil
			} else {
				read[o.Value] = append(read[o.Value], i)
			}
		}
	}
	var ready []int
	for i, n := range needs {
		if n == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		k := choose(len(ready))
		i := ready[k]
		ready = append(ready[:k], ready[k+1:]...)
		order = append(order, calls[i])
		for _, j := range next[i] {
			if needs[j]--; needs[j] == 0 {
				ready = append(ready, j)
			}
		}
	}
	return order
}

// TestAcceleratorTraffic executes a Cholesky factorization of 32×32 tiles, in
// several orders, with room for twelve, and compares what is copied with the
// least that is possible for that order if calls run one after the other.
func TestAcceleratorTraffic(t *testing.T) {
	n := 32
	if testing.Short() {
		n = 20
	}
	const room, bound = 12, 1.3
	rnd := rand.New(rand.NewPCG(1, 1))
	for name, calls := range map[string][][]traffic.Operand{
		"right":  rightLooking(n),
		"left":   leftLooking(n),
		"fifo":   scheduled(rightLooking(n), func(int) int { return 0 }),
		"lifo":   scheduled(rightLooking(n), func(ready int) int { return ready - 1 }),
		"random": scheduled(rightLooking(n), rnd.IntN),
	} {
		in, out := traffic.Least(calls, room)
		for _, depth := range []int{1, 2, 4} {
			for _, ahead := range []int{0, 4} {
				if name == "random" && ahead == 0 {
					continue // nobody can guess what comes next
				}
				t.Run(fmt.Sprintf("%s/depth=%d/ahead=%d", name, depth, ahead), func(t *testing.T) {
					s := replay(t, calls, room, depth, ahead)
					moved, least := s.Ins+s.Outs, int64(in+out)
					ratio := float64(moved) / float64(least)
					t.Logf("%d calls, %d in and %d out, least %d and %d: %.3f; %d early", len(calls), s.Ins, s.Outs, in, out, ratio, s.Early)
					if moved < least {
						t.Error("less than the least")
					}
					if ratio > bound {
						t.Errorf("more than %g times the least", bound)
					}
				})
			}
		}
	}
}

// replay executes calls, which do nothing, with so many in flight, and asks for
// the operands of those ahead.
func replay(t *testing.T, calls [][]traffic.Operand, room int64, depth, ahead int) cuda.Stats {
	a, _ := newAccelerator(t, cuda.SimOptions{Memory: 4 << 20}, cuda.Options{Memory: room * 8 * 8 * 8, Movers: 1})
	defer closed(t, a, false)
	nothing := &versions.Version{Name: "cuda", Run: func(*versions.Call) error { return nil }}
	var flying []*versions.Launch
	end := func(wait time.Duration) {
		for _, l := range a.Ended(nil, wait) {
			if l.Err != nil {
				t.Fatal(l.Err)
			}
			for i, f := range flying {
				if f == l {
					flying = append(flying[:i:i], flying[i+1:]...)
					break
				}
			}
		}
	}
	blocked := func(ops []traffic.Operand) bool {
		for _, l := range flying {
			for _, o := range ops {
				if uses(l, o.Value, o.Use) {
					return true
				}
			}
		}
		return false
	}
	for i, ops := range calls {
		for len(flying) >= depth || blocked(ops) {
			end(time.Second)
		}
		l := &versions.Launch{Call: versions.Call{Ctx: context.Background()}, Version: nothing, Job: 1}
		for _, o := range ops {
			l.Call.Args = append(l.Call.Args, o.Value)
			l.Uses = append(l.Uses, o.Use)
		}
		if err := a.Launch(l); err != nil {
			t.Fatal(err)
		}
		flying = append(flying, l)
		for _, later := range calls[i+1 : min(i+1+ahead, len(calls))] {
			if blocked(later) {
				break
			}
			var values []any
			for _, o := range later {
				values = append(values, o.Value)
			}
			a.Prefetch(values, 1)
		}
	}
	for len(flying) > 0 {
		end(time.Second)
	}
	if err := a.Flush(1); err != nil {
		t.Error(err)
	}
	return a.Stats()
}
