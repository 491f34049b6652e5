package cluster_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/cluster/internal/faulty"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// TestServeDriver: an agent that names its driver serves others, too, and waits for that one.
// It ends when that one is closed, or is lost, also in the middle of a job, and if nobody ever
// comes when its context ends. Time is virtual, so each step is seen to its end.
func TestServeDriver(t *testing.T) {
	why := errors.New("enough")
	for _, test := range []struct {
		name string
		does func(t *testing.T, s *serving)
		lost bool  // the driver
		want error // unless it is lost
	}{
		{name: "closed", does: func(t *testing.T, s *serving) {
			s.driver("driver").computes(20, 0).closes()
		}},
		{name: "closed at once", does: func(t *testing.T, s *serving) {
			s.driver("driver").closes()
		}},
		{name: "closed beside another one", does: func(t *testing.T, s *serving) {
			before := s.driver("before").computes(20, 0)
			before.closes()
			s.goesOn("the loss of another driver")
			beside := s.driver("beside")
			d := s.driver("driver").computes(20, 0)
			job := beside.begins(40, time.Second)
			time.Sleep(3 * time.Second)
			d.closes()
			if err := job.Wait(); err != nil { // which goes on without the agent
				t.Error(err)
			}
			beside.closes()
		}},
		{name: "lost", lost: true, does: func(t *testing.T, s *serving) {
			d := s.driver("driver").computes(20, 0)
			if err := s.faults.Crash("driver"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			d.Close()
		}},
		{name: "lost in a job", lost: true, does: func(t *testing.T, s *serving) {
			d := s.driver("driver")
			d.begins(40, time.Second)
			time.Sleep(3 * time.Second)
			if err := s.faults.Crash("driver"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second) // the task that runs ends
			d.Close()
		}},
		{name: "nobody comes", want: why, does: func(t *testing.T, s *serving) {
			time.Sleep(time.Minute)
			s.goesOn("a minute without a driver")
			s.stop(why)
		}},
		{name: "others come", want: why, does: func(t *testing.T, s *serving) {
			s.driver("other").computes(20, 0).closes()
			s.goesOn("the end of another driver")
			s.stop(why)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaves(t)
			synctest.Test(t, func(t *testing.T) {
				s := serve(t)
				test.does(t, s)
				err := s.end(10 * time.Second)
				lost, ok := errors.AsType[*cluster.NodeLostError](err)
				switch {
				case test.lost && (!ok || lost.Node != "driver" || lost.Err == nil):
					t.Errorf("the driver is lost, and Serve returns %v", err)
				case !test.lost && err != test.want:
					t.Errorf("Serve returns %v, want %v", err, test.want)
				}
			})
		})
	}
}

// TestServeOptions: everything that is wrong with options is said at once.
func TestServeOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &serving{t: t, node: transport.NewNetwork().Node}
		o := s.options("agent")
		o.Memory, o.Window, o.Owner, o.ByPriority = -1, -2, true, true
		const want = "cluster: invalid options: Owner is set, and so is Policy, ByPriority or NewPolicy; Memory is -1, want at least 0; Window is -2, want at least 0"
		if err := cluster.Serve(t.Context(), o); err == nil || err.Error() != want {
			t.Errorf("Serve returns %v", err)
		}
	})
}

// TestServeSelf: an agent cannot be its own driver.
func TestServeSelf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &serving{t: t, node: transport.NewNetwork().Node}
		o := s.options("agent")
		o.Driver = "agent"
		if err := cluster.Serve(t.Context(), o); !is[*cluster.OptionsError](err) {
			t.Errorf("Serve returns %v", err)
		}
	})
}

// is reports whether err is, or wraps, an error of a type.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// serving is an agent whose driver is called driver.
type serving struct {
	t      *testing.T
	faults *faulty.Network
	node   func(name string) (transport.Transport, error)
	stop   context.CancelCauseFunc
	ended  chan error
}

// serve starts an agent.
func serve(t *testing.T) *serving {
	faults := faulty.New(faulty.Options{})
	s := &serving{t: t, faults: faults, node: faults.Node, ended: make(chan error, 1)}
	ctx, stop := context.WithCancelCause(t.Context())
	s.stop = stop
	o := s.options("agent")
	o.Driver = "driver"
	go func() { s.ended <- cluster.Serve(ctx, o) }()
	return s
}

func (s *serving) options(name string) cluster.Options {
	tr, err := s.node(name)
	if err != nil {
		s.t.Fatal(err)
	}
	rt, err := exec.NewLocal(exec.Options{Workers: 1, Float: true})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { rt.Close() })
	return cluster.Options{Transport: tr, Runtime: rt, Ops: ops(), Values: []versions.Value{&number{}}, Idle: true, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

// goesOn has the test fail if the agent has ended.
func (s *serving) goesOn(after string) {
	s.t.Helper()
	synctest.Wait()
	select {
	case err := <-s.ended:
		s.t.Fatalf("after %s Serve has returned %v", after, err)
	default:
	}
}

// end returns what Serve returns, within a time.
func (s *serving) end(within time.Duration) error {
	s.t.Helper()
	select {
	case err := <-s.ended:
		return err
	case <-time.After(within):
		s.t.Error("Serve goes on")
		s.stop(nil)
		return <-s.ended
	}
}

// driven is a driver of the agent.
type driven struct {
	*cluster.Driver
	t  *testing.T
	op *versions.Op
}

// driver starts a driver, which sees the agent.
func (s *serving) driver(name string) *driven {
	s.t.Helper()
	o := s.options(name)
	d, err := cluster.NewDriver(o)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	if err := d.Await(ctx, 1); err != nil {
		d.Close()
		s.t.Fatal(err)
	}
	return &driven{d, s.t, o.Ops[0]}
}

// begins submits tasks of a length, one after the other.
func (d *driven) begins(tasks int, each time.Duration) exec.Job {
	d.t.Helper()
	j := d.NewJob(context.Background())
	x := &graph.Datum{Value: &number{}, Bytes: 8}
	for range tasks {
		s := graph.Spec{Op: d.op, Params: &mix{Reads: 1, Writes: 1, Sleep: each.Microseconds()}, Operands: []graph.Operand{{Datum: x, Mode: graph.InOut}}}
		if _, err := j.Submit(&s); err != nil {
			d.t.Fatal(err)
		}
	}
	return j
}

// computes has the agent execute tasks.
func (d *driven) computes(tasks int, each time.Duration) *driven {
	d.t.Helper()
	if err := d.begins(tasks, each).Wait(); err != nil {
		d.t.Fatal(err)
	}
	for _, u := range d.Usage() {
		if done := u.Tasks["mix"]; done != 0 && u.Node != "agent" || done != tasks && u.Node == "agent" {
			d.t.Errorf("%s has executed %d tasks of %d", u.Node, done, tasks)
		}
	}
	return d
}

// closes closes the driver.
func (d *driven) closes() {
	d.t.Helper()
	if err := d.Close(); err != nil {
		d.t.Error(err)
	}
}
