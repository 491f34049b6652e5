package exec_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// cores counts the workers that tasks occupy, in the virtual time of package synctest.
type cores struct{ busy, most atomic.Int32 }

// task returns a spec of a task that takes units workers for a time. It fails if its gang has another number, or if
// not all of them work at the same time.
func (c *cores) task(units int, took time.Duration) graph.Spec {
	s := graph.Spec{Op: opOf(fmt.Sprintf("units%d", units), func(call *versions.Call) error {
		if got := gangOf(call); got != units {
			return fmt.Errorf("%d units, want %d", got, units)
		}
		c.use(int32(units))
		defer c.use(int32(-units))
		began := time.Now()
		call.Parallel(units, func(int, *versions.Workspace) { time.Sleep(took) })
		if d := time.Since(began); d != took {
			return fmt.Errorf("took %v, want %v", d, took)
		}
		return nil
	})}
	if units > 1 {
		s.Constraints = &versions.Constraints{Units: units}
	}
	return s
}

func (c *cores) use(n int32) {
	if now := c.busy.Add(n); now > c.most.Load() {
		c.most.Store(now)
	}
}

// gangOf returns the number of workers of a call.
func gangOf(c *versions.Call) int {
	if c.Gang == nil {
		return 1
	}
	return c.Gang.Units()
}

// TestUnits: tasks of two units and of one, in any order and under every policy: all run, at no time more than there
// are workers, and no worker is idle while something fits.
func TestUnits(t *testing.T) {
	const took = 10 * time.Millisecond
	for _, kind := range dispatch.Kinds() {
		for seed := range uint64(6) {
			synctest.Test(t, func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(seed, 1))
				rt := start(t, exec.Options{Workers: 2, Float: true, Policy: kind})
				units := []int{2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
				rnd.Shuffle(len(units), func(i, j int) { units[i], units[j] = units[j], units[i] })
				var c cores
				began, job := time.Now(), rt.NewJob(context.Background())
				for _, n := range units {
					submit(t, job, c.task(n, took))
				}
				if err := job.Wait(); err != nil {
					t.Fatalf("%v, %v: %v", kind, units, err)
				}
				// Ten of one unit on two workers, and two of two: seven times as long as one.
				if d := time.Since(began); d > 7*took*105/100 || c.most.Load() != 2 {
					t.Errorf("%v, %v: %v on at most %d workers", kind, units, d, c.most.Load())
				}
			})
		}
	}
}

// TestUnitsPlaces: on two NUMA nodes of two and three workers, a task of three waits for those of the second node, and
// what wants more than any node has is refused.
func TestUnitsPlaces(t *testing.T) {
	for _, kind := range dispatch.Kinds() {
		synctest.Test(t, func(t *testing.T) {
			opt := exec.Options{Workers: 5, Float: true, Policy: kind}
			opt.Nodes(2)
			rt := start(t, opt)
			var c cores
			job := rt.NewJob(context.Background())
			rnd := rand.New(rand.NewPCG(7, uint64(kind)))
			for range 60 {
				submit(t, job, c.task(1+rnd.IntN(3), time.Duration(1+rnd.IntN(5))*time.Millisecond))
			}
			if err := job.Wait(); err != nil || c.most.Load() > 5 {
				t.Errorf("%v: %v, %d workers", kind, err, c.most.Load())
			}
			s := c.task(4, 0)
			var none *versions.NoVersionError
			if _, err := job.Submit(&s); !errors.As(err, &none) {
				t.Errorf("%v: 4 units were not refused: %v", kind, err)
			}
		})
	}
}

// before has the task of a spec call f first.
func before(s graph.Spec, f func()) graph.Spec {
	v := &s.Op.(*versions.Op).Versions[0]
	run := v.Run
	v.Run = func(call *versions.Call) error {
		f()
		return run(call)
	}
	return s
}

// TestUnitsPatience: a stream of tasks of one unit that never ends together does not keep a task of two from its
// workers for ever, whatever the policy; nor does it wait if nothing else is there.
func TestUnitsPatience(t *testing.T) {
	for _, kind := range dispatch.Kinds() {
		synctest.Test(t, func(t *testing.T) {
			rt := start(t, exec.Options{Workers: 2, Float: true, Policy: kind})
			var c cores
			var small, passed atomic.Int32
			job := rt.NewJob(context.Background())
			// One worker is half a task ahead of the other one.
			submit(t, job, c.task(1, 5*time.Millisecond))
			submit(t, job, c.task(1, 10*time.Millisecond))
			wide := before(c.task(2, time.Millisecond), func() { passed.Store(small.Load()) })
			last := kind == dispatch.LIFO || kind == dispatch.Steal // these take the latest task first
			if !last {
				submit(t, job, wide)
			}
			for range 200 {
				submit(t, job, before(c.task(1, 10*time.Millisecond), func() { small.Add(1) }))
			}
			if last {
				submit(t, job, wide)
			}
			if err := job.Wait(); err != nil {
				t.Fatalf("%v: %v", kind, err)
			}
			if n := passed.Load(); n > 36 {
				t.Errorf("%v: %d tasks of 200 were before it", kind, n)
			}
		})
	}
}

// TestUnitsMemory: tasks that want several workers and memory get both, one after the other.
func TestUnitsMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := start(t, exec.Options{Workers: 3, Float: true, Target: versions.Target{Memory: 100}})
		var c cores
		job := rt.NewJob(context.Background())
		for i := range 60 {
			s := c.task(1+i%3, time.Millisecond)
			s.Constraints = &versions.Constraints{Units: 1 + i%3, Memory: int64(10 + 45*(i%2))}
			submit(t, job, s)
		}
		if err := job.Wait(); err != nil || c.most.Load() > 3 {
			t.Errorf("%v, %d workers", err, c.most.Load())
		}
	})
}

// TestUnitsFail: tasks that fail, are tried again, or are cancelled while they wait leave no worker behind.
func TestUnitsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := start(t, exec.Options{Workers: 3, Float: true})
		var c cores
		for round := range 20 {
			ctx, cancel := context.WithCancel(context.Background())
			job := rt.NewJob(ctx)
			for i := range 12 {
				s := c.task(1+i%3, time.Millisecond)
				v := &s.Op.(*versions.Op).Versions[0]
				run, tries := v.Run, 0
				s.Failure = &graph.Failure{Retries: 1}
				v.Run = func(call *versions.Call) error {
					if tries++; i == 5 && tries == 1 {
						return errors.New("once")
					}
					if i == 10 && round%2 == 0 {
						cancel()
					}
					return run(call)
				}
				submit(t, job, s)
			}
			if err := job.Wait(); (err != nil) != (round%2 == 0) {
				t.Errorf("round %d: %v", round, err)
			}
			cancel()
		}
	})
}
