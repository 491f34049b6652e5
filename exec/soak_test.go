package exec_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// TestSoak runs random programs of tasks that fail, panic, exit, outlast their
// time-out, are retried, wait, hand operands on and have children, and access
// data in every mode, under every policy, on jobs that share a runtime and are
// cancelled now and then. It checks every value that a task sees and the error of
// every job, and expects a watchdog to keep quiet. TESSERA_SOAK is how long it
// runs, as in "10m".
func TestSoak(t *testing.T) {
	limit := time.Second
	if !testing.Short() {
		limit = 8 * time.Second
	}
	if s := os.Getenv("TESSERA_SOAK"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatalf("TESSERA_SOAK: %v", err)
		}
		limit = d
	}
	deadline := time.Now().Add(limit)
	programs := 0
	for seed := uint64(1); time.Now().Before(deadline); seed++ {
		kind := dispatch.Kinds()[int(seed)%len(dispatch.Kinds())]
		rnd := rand.New(rand.NewPCG(seed, 9))
		o := exec.Options{Workers: 1 + rnd.IntN(4), Policy: kind, Window: 1 + rnd.IntN(100), Target: versions.Target{Units: 2}}
		if rnd.IntN(2) == 0 {
			o.Stories = 10
		}
		if rnd.IntN(3) == 0 {
			o.Recorder = &trace.Recorder{Limit: 50, Dependencies: rnd.IntN(2) == 0}
		}
		if rnd.IntN(2) == 0 {
			var err error
			if o.Selector, err = versions.NewSelector(versions.Config{Mode: versions.Static, Measure: true}); err != nil {
				t.Fatal(err)
			}
		}
		if rnd.IntN(2) == 0 {
			o.Stories, o.Recorder, o.Selector = 0, nil, nil
			o.Window = 1 + rnd.IntN(400)
		} else {
			o.Watchdog = &exec.Watchdog{After: 5 * time.Minute, Report: func(s exec.Stuck) { t.Errorf("seed %d: %v", seed, s) }}
		}
		rt, err := exec.NewLocal(o)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		jobs := 1 + rnd.IntN(3)
		for k := range jobs {
			go func() { done <- soak(rt, seed, uint64(k)) }()
		}
		for range jobs {
			if err := <-done; err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			programs++
		}
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("%d programs in %v", programs, limit)
}

var errSoak = errors.New("a failure on purpose")

// soakValue is the value of a datum of the soak test.
type soakValue struct {
	local
	last int // task that has overwritten it
	sum  int // of the tasks that have commuted or been reduced since
}

// soakTask says what a task of the soak test does.
type soakTask struct {
	id    int
	sees  []soakValue
	modes []graph.Mode
	what  string
	tries atomic.Int32
}

// check compares operand i with what it must be when the task starts.
func (k *soakTask) check(i int, v *soakValue) error {
	want := k.sees[i]
	switch k.modes[i] {
	case graph.Out, graph.Reduce:
		return nil
	case graph.Commute:
		want.sum = v.sum
	}
	if *v != want {
		return fmt.Errorf("wrong value: task %d operand %d holds %v, want %v", k.id, i, *v, want)
	}
	return nil
}

// write does what the task is there for with operand i.
func (k *soakTask) write(i int, v *soakValue) {
	switch k.modes[i] {
	case graph.Out, graph.InOut:
		*v = soakValue{last: k.id}
	case graph.Commute, graph.Reduce:
		v.sum += k.id
	}
}

// soakPart is an operand of a soakTask, for a child.
type soakPart struct {
	*soakTask
	operand int
}

// soakOp executes a soakTask, with a gang, or with workers that help.
func soakOp(gang bool) *versions.Op {
	child := opOf("child", func(c *versions.Call) error {
		*c.Args[0].(*int)++
		if c.Params.(*soakTask).what == "child fails" {
			return errSoak
		}
		runtime.Gosched()
		return nil
	})
	part := opOf("part", func(c *versions.Call) error {
		k, v := c.Params.(*soakPart), c.Args[0].(*soakValue)
		if err := k.check(k.operand, v); err != nil {
			return err
		}
		k.write(k.operand, v)
		return nil
	})
	work := func(c *versions.Call) float64 { return float64(1 + len(c.Args)) }
	constraints, help := versions.Constraints{Units: 2}, (func(*versions.Call) (int, bool))(nil)
	if !gang {
		constraints, help = versions.Constraints{}, func(*versions.Call) (int, bool) { return 3, false }
	}
	return &versions.Op{Name: "soak", Work: work, Versions: []versions.Version{{Name: "go", Constraints: constraints, Help: help, Run: func(c *versions.Call) error {
		k := c.Params.(*soakTask)
		for i, a := range c.Args {
			if err := k.check(i, a.(*soakValue)); err != nil {
				return err
			}
		}
		first := k.tries.Add(1) == 1
		switch k.what {
		case "fails":
			return errSoak
		case "panics":
			panic(errSoak)
		case "exits":
			runtime.Goexit()
		case "too late":
			<-c.Ctx.Done()
			return c.Ctx.Err()
		case "gang":
			var n atomic.Int32
			c.Parallel(5, func(int, *versions.Workspace) { n.Add(1) })
			if n.Load() != 5 {
				return errors.New("wrong value: parts of a gang are missing")
			}
		case "waits":
			exec.Await(c, func() { time.Sleep(50 * time.Microsecond) })
		case "children", "children wait", "child fails":
			job, err := exec.Nested(c)
			if err != nil {
				return err
			}
			n := 0
			d := graph.Datum{Value: &n}
			for range 4 {
				if _, err := job.Submit(&graph.Spec{Op: child, Params: k, Operands: []graph.Operand{inout(&d)}}); err != nil {
					return err
				}
			}
			if k.what == "children wait" {
				if err := job.Wait(); err != nil {
					return err
				}
				if n != 4 {
					return fmt.Errorf("wrong value: %d children counted, want 4", n)
				}
			}
		case "children hand on":
			job, err := exec.Nested(c)
			if err != nil {
				return err
			}
			d := make([]graph.Datum, len(c.Args))
			for i, a := range c.Args {
				d[i].Value = a
				s := graph.Spec{Op: part, Params: &soakPart{k, i}, Operands: []graph.Operand{inout(&d[i])}}
				if _, err := job.Submit(&s); err != nil {
					return err
				}
				job.Hand(&d[i], i)
			}
			return nil
		}
		for i, a := range c.Args {
			k.write(i, a.(*soakValue))
		}
		switch k.what {
		case "fails once":
			if first {
				return errSoak
			}
		case "hands on":
			for i := range c.Args {
				c.Finished(i)
			}
		}
		return nil
	}}}}
}

// soak runs one random program and checks its outcome.
func soak(rt *exec.Local, seed, stream uint64) error {
	rnd := rand.New(rand.NewPCG(seed, 100+stream))
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	why := errors.New("cancelled on purpose")
	cancels := rnd.IntN(4) == 0
	job := rt.NewJob(ctx)
	const data = 8
	var d [data]graph.Datum
	var now [data]soakValue // by the sequential program
	value := func() any { return new(soakValue) }
	modes := []graph.Mode{graph.In, graph.In, graph.Out, graph.InOut, graph.Commute, graph.Commute, graph.Reduce, graph.Reduce}
	special := data // from which datum on none is accessed in an uncommon way
	if rnd.IntN(2) == 0 {
		special = rnd.IntN(data)
	}
	for i := range d {
		d[i].Value, d[i].Bytes = value(), int64(i)
		if i >= special {
			continue
		}
		if i%3 == 0 {
			d[i].SetRenaming(value)
		}
		d[i].SetReduction(graph.Reduction{New: value,
			Combine: func(dst, src any) { dst.(*soakValue).sum += src.(*soakValue).sum }})
	}
	well := []string{"", "", "gang", "waits", "children", "children wait", "fails once", "hands on", "children hand on"}
	bad := []string{"fails", "panics", "exits", "child fails", "too late"}
	tasks := 50 + rnd.IntN(300)
	failing := 0 // number of the task that makes the job fail, if one does
	if rnd.IntN(3) == 0 {
		failing = 1 + rnd.IntN(tasks)
	}
	op := soakOp(seed%2 == 0)
	for n := 1; n <= tasks; n++ {
		k := &soakTask{id: n, what: well[rnd.IntN(len(well))]}
		s := graph.Spec{Op: op, Params: k, Priority: int64(rnd.IntN(5))}
		switch {
		case n == failing:
			k.what = bad[rnd.IntN(len(bad))]
		case k.what == "fails once":
			s.Failure = &graph.Failure{Retries: 2}
		}
		if k.what == "too late" {
			s.Failure = &graph.Failure{Timeout: time.Millisecond}
		}
		for _, x := range rnd.Perm(data)[:rnd.IntN(4)] {
			mode := modes[rnd.IntN(len(modes))]
			if x >= special {
				mode = modes[rnd.IntN(4)]
			}
			s.Operands = append(s.Operands, graph.Operand{Datum: &d[x], Mode: mode})
			k.sees = append(k.sees, now[x])
			k.modes = append(k.modes, mode)
			k.write(len(k.modes)-1, &now[x])
		}
		if cancels && n == tasks/2 {
			cancel(why)
		}
		if _, err := job.Submit(&s); err != nil {
			break
		}
	}
	err := job.Wait()
	var te *exec.TaskError
	switch {
	case errors.As(err, &te) && failing > 0 && int(te.Task) == failing:
		return nil
	case cancels && errors.Is(err, why):
		return nil
	case err != nil:
		return fmt.Errorf("stream %d: %w (task %d was to fail, cancelled %v)", stream, err, failing, cancels)
	case failing > 0:
		return fmt.Errorf("stream %d: no error although task %d fails", stream, failing)
	}
	for i := range d {
		if got := *d[i].Latest().(*soakValue); got != now[i] {
			return fmt.Errorf("stream %d: datum %d is %v at the end, want %v", stream, i, got, now[i])
		}
	}
	return nil
}
