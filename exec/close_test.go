package exec_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// closeOp is a task that makes trouble for a runtime that is being closed: it
// has children in a window that is too small for them, waits, leads a gang, hands
// its operand on.
func closeOp() *versions.Op {
	child := opOf("child", func(c *versions.Call) error { runtime.Gosched(); return nil })
	op := opOf("trouble", func(c *versions.Call) error {
		kind := c.Params.(int)
		if kind == 0 {
			c.Parallel(3, func(int, *versions.Workspace) {})
			exec.Await(c, func() { time.Sleep(20 * time.Microsecond) })
			c.Parallel(3, func(int, *versions.Workspace) {})
			return nil
		}
		children, err := exec.Nested(c)
		if err != nil {
			return err
		}
		d := make([]graph.Datum, 2)
		for k := range 6 {
			if _, err := children.Submit(&graph.Spec{Op: child, Operands: []graph.Operand{{Datum: &d[k%2], Mode: graph.Commute}}}); err != nil {
				return err
			}
		}
		switch kind {
		case 1:
			return children.WaitOn(&d[0])
		case 2:
			children.Hand(&d[1], 0)
		case 3:
			return children.Wait()
		}
		return nil
	})
	op.Versions[0].Constraints.Units = 2
	return op
}

// TestCloseWhileTasksWait closes runtimes at any point of programs whose tasks
// wait in every way, and looks for goroutines that are left over. A program that
// is not closed ends well.
func TestCloseWhileTasksWait(t *testing.T) {
	before := runtime.NumGoroutine()
	rounds := 600
	if testing.Short() {
		rounds = 120
	}
	op := closeOp()
	for seed := range uint64(rounds) {
		rnd := rand.New(rand.NewPCG(seed, 21))
		kinds := dispatch.Kinds()
		o := exec.Options{Workers: 1 + rnd.IntN(4), Window: 1 + rnd.IntN(8), Float: true,
			Policy: kinds[rnd.IntN(len(kinds))], Target: versions.Target{Units: 2}}
		rt, err := exec.NewLocal(o)
		if err != nil {
			t.Fatal(err)
		}
		closes := rnd.IntN(3) > 0
		over := make(chan error)
		var d [2]graph.Datum
		go func() {
			job := rt.NewJob(context.Background())
			for range 20 {
				mode := graph.InOut
				if rnd.IntN(2) == 0 {
					mode = graph.Commute
				}
				s := graph.Spec{Op: op, Params: rnd.IntN(5), Operands: []graph.Operand{{Datum: &d[rnd.IntN(2)], Mode: mode}}}
				if _, err := job.Submit(&s); err != nil {
					break
				}
			}
			over <- job.Wait()
		}()
		if closes {
			time.Sleep(time.Duration(seed%40) * 20 * time.Microsecond)
			go rt.Close()
			rt.Close()
		}
		select {
		case err := <-over:
			if err != nil && !(closes && errors.Is(err, exec.ErrClosed)) {
				t.Fatalf("seed %d: %v", seed, err)
			}
		case <-time.After(5 * time.Minute):
			buf := make([]byte, 1<<20)
			t.Fatalf("seed %d does not end\n%s", seed, buf[:runtime.Stack(buf, true)])
		}
		rt.Close()
	}
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if runtime.NumGoroutine() <= before {
			return
		}
	}
	t.Errorf("%d goroutines are left, %d were there before", runtime.NumGoroutine(), before)
}
