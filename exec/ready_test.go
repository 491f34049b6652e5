package exec_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
	"go.uber.org/goleak"
)

// next is a witness that has the next task begin when its own has ended, as an agent does.
type next struct {
	data  [2]graph.Datum
	spec  graph.Spec
	tried atomic.Int32
	given atomic.Int32
	ended func(error)
}

func (n *next) Attempted(graph.Attempt) { n.tried.Add(1) }
func (n *next) Finished(int)            { n.given.Add(1) }
func (n *next) Ended(err error)         { n.ended(err) }

// TestRunReady: tasks that nothing waits for are begun by the ends of others, more than the window
// has room for; they are retried, hand on operands, fail alone, and are counted as others are.
func TestRunReady(t *testing.T) {
	defer goleak.VerifyNone(t)
	const n = 300
	bad := errors.New("bad")
	for _, workers := range []int{1, 3} {
		var r trace.Recorder
		rt := start(t, exec.Options{Workers: workers, Window: 2, Recorder: &r, Stories: n})
		job := rt.NewJob(context.Background())
		var ends sync.WaitGroup
		var failed atomic.Int32
		op := opOf("t", func(c *versions.Call) error {
			x := c.Args[1].(*cell)
			x.n++
			c.Finished(1)
			if x.n%3 == 0 {
				return bad
			}
			return nil
		})
		all := make([]next, n)
		begin := func(i int) {
			x := &all[i]
			x.data[0].Value, x.data[1].Value = &cell{}, &cell{n: i}
			x.spec = graph.Spec{Op: op, Witness: x, Failure: &graph.Failure{Then: graph.CancelSuccessors},
				Operands: []graph.Operand{in(&x.data[0]), inout(&x.data[1]), in(&x.data[0])}}
			if err := exec.RunReady(job, &x.spec); err != nil {
				t.Error(err)
				ends.Done()
			}
		}
		for i := range all {
			all[i].ended = func(err error) {
				defer ends.Done()
				if err != nil {
					failed.Add(1)
				}
				if i+5 < n {
					begin(i + 5)
				}
			}
		}
		ends.Add(n)
		for i := range 5 {
			begin(i)
		}
		ends.Wait()
		err := job.Wait()
		var te *exec.TaskError
		if !errors.As(err, &te) || !errors.Is(err, bad) {
			t.Errorf("%d workers: %v", workers, err)
		}
		if failed.Load() != n/3 || job.Completed() != n {
			t.Errorf("%d workers: %d of %d failed", workers, failed.Load(), job.Completed())
		}
		for i := range all {
			if x := &all[i]; x.tried.Load() != 1 || x.given.Load() != 1 || x.data[1].Value.(*cell).n != i+1 {
				t.Errorf("task %d: %d attempts, %d handed on, %d", i, x.tried.Load(), x.given.Load(), x.data[1].Value.(*cell).n)
			}
		}
		if c := r.Counts(); c.Submitted != n || c.Ended != n || c.Attempts != n || c.Ready != 0 {
			t.Errorf("%d workers: counts %+v", workers, c)
		}
		if s, err := job.Story(n); err != nil || len(s.Steps) < 3 || len(s.Needs) > 0 {
			t.Errorf("%d workers: %v, %v", workers, s, err)
		}
		rt.Close()
	}
}

// TestRunReadyCancelled: what is not begun when the job ends does not run, and no more is taken.
func TestRunReadyCancelled(t *testing.T) {
	rt := start(t, exec.Options{Workers: 1})
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	job := rt.NewJob(ctx)
	var ran atomic.Int32
	op := opOf("t", func(*versions.Call) error { ran.Add(1); cancel(why); <-ctx.Done(); return nil })
	ends := make(chan error, 3)
	for range 3 {
		x := &next{ended: func(err error) { ends <- err }}
		x.spec = graph.Spec{Op: op, Witness: x, Operands: []graph.Operand{inout(&x.data[0])}}
		if err := exec.RunReady(job, &x.spec); err != nil {
			ends <- err
		}
	}
	cancelled := 0
	for range 3 {
		if err := <-ends; errors.Is(err, why) {
			cancelled++
		}
	}
	if ran.Load() != 1 || cancelled != 2 {
		t.Errorf("%d ran, %d were cancelled", ran.Load(), cancelled)
	}
	x := &next{}
	x.spec = graph.Spec{Op: op, Witness: x}
	if err := exec.RunReady(job, &x.spec); !errors.Is(err, why) {
		t.Error(err)
	}
	if err := job.Wait(); !errors.Is(err, why) {
		t.Error(err)
	}
}
