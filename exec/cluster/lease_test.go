package cluster

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster/internal/faulty"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
	"go.uber.org/goleak"
)

// TestLease: a driver that is cut off, stands still, or dies in the middle of a job, is gone
// for its agents after the transport's time. They have nothing of it then: no job, no task and
// no value, and they serve the next driver.
func TestLease(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	synctest.Test(t, lease) // in virtual time
}

func lease(t *testing.T) {
	const lease = 150 * time.Millisecond
	faults := faulty.New(faulty.Options{Timeout: lease})
	options := func(name string) Options {
		tr, err := faults.Node(name)
		if err != nil {
			t.Fatal(err)
		}
		rt, err := exec.NewLocal(exec.Options{Workers: 1, Float: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { rt.Close() })
		return Options{Transport: tr, Runtime: rt, Ops: []*versions.Op{addOp()}, Values: []versions.Value{&cell{}}, Idle: true, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	}
	ctx, stop := context.WithCancel(context.Background())
	var agents []*agent
	var served sync.WaitGroup
	for i := range 2 {
		o := options(fmt.Sprint("agent", i))
		k, err := o.validate()
		if err != nil {
			t.Fatal(err)
		}
		a := newAgent(o, k)
		agents = append(agents, a)
		served.Go(func() { _ = a.serve(ctx) })
	}
	defer served.Wait()
	defer stop()
	for i, fail := range []func(string){
		func(name string) { faults.Cut([]string{name}, []string{"agent0", "agent1"}) },
		func(name string) { faults.Stall(name, time.Hour) },
		func(name string) { _ = faults.Crash(name) },
		nil,
	} {
		name := fmt.Sprint("driver", i)
		d, err := NewDriver(options(name))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Await(ctx, 2); err != nil {
			t.Fatalf("driver %d: %v", i, err)
		}
		data, values := make([]graph.Datum, 6), []versions.Shaped(nil)
		for k := range data {
			data[k] = graph.Datum{Value: &cell{}, Bytes: 8}
			if k%2 == 0 {
				values = append(values, data[k].Value.(*cell))
			}
		}
		kept, err := d.Keep(values)
		if err != nil {
			t.Fatal(err)
		}
		// The first job leaves values that are kept, the second one is under way.
		j := d.NewJob(ctx)
		submit := func(tasks int) {
			for k := range tasks {
				s := graph.Spec{Op: d.known.ops["add"], Params: &addend{N: 1, Sleep: int64(time.Millisecond)}, Operands: []graph.Operand{{Datum: &data[k%6], Mode: graph.InOut}}}
				if _, err := j.Submit(&s); err != nil {
					t.Fatal(err)
				}
			}
		}
		submit(12)
		if err := j.Wait(); err != nil {
			t.Fatalf("driver %d: %v", i, err)
		}
		var got cell
		if err := kept.Fetch(ctx, values[0], &got); err != nil || got.n != 4 || data[1].Value.(*cell).n != 4 {
			t.Fatalf("driver %d: %d and %d, want 4, error %v", i, got.n, data[1].Value.(*cell).n, err)
		}
		if fail == nil {
			d.Close()
			break
		}
		submit(2000)
		var stores []*store
		for _, a := range agents {
			a.mu.Lock()
			stores = append(stores, a.byName[name].exec.store)
			a.mu.Unlock()
		}
		for stores[0].currentBytes()+stores[1].currentBytes() == 0 {
			time.Sleep(time.Millisecond)
		}
		fail(name)
		for began := time.Now(); ; time.Sleep(lease / 10) {
			left := ""
			for k, a := range agents {
				a.mu.Lock()
				if len(a.byName) > 0 || len(a.owners) > 0 {
					left += fmt.Sprintf(" %d drivers and %d jobs", len(a.byName), len(a.owners))
				}
				a.mu.Unlock()
				stores[k].mu.Lock()
				if n := len(stores[k].held); n > 0 {
					left += fmt.Sprintf(" %d values", n)
				}
				stores[k].mu.Unlock()
			}
			if left == "" {
				break
			}
			if time.Since(began) > 20*lease {
				t.Fatalf("driver %d has gone, and after %v there are%s", i, time.Since(began), left)
			}
		}
		// The one that has gone may end in its own time.
		faults.Heal()
		d.Close()
	}
}

// stuck is a transport that sends when it may.
type stuck struct {
	away
	may chan struct{}
}

func (s *stuck) Send(context.Context, string, []byte) error {
	<-s.may
	return nil
}

func (s *stuck) Start(transport.Handler, func(transport.Event)) error { return nil }

func (s *stuck) Close() error { return nil }

// stuckOptions returns options of an agent whose messages leave at once and reach nobody.
func stuckOptions(t *testing.T) (Options, known) {
	t.Helper()
	rt, err := exec.NewLocal(exec.Options{Workers: 1, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	may := make(chan struct{})
	close(may)
	o := Options{Transport: &stuck{may: may}, Runtime: rt, Ops: []*versions.Op{addOp()}, Values: []versions.Value{&cell{}}, Log: slog.New(slog.DiscardHandler)}
	k, err := o.validate()
	if err != nil {
		t.Fatal(err)
	}
	return o, k
}

// TestLeft: messages of a driver that has left, of which one may still be handled, leave nothing.
func TestLeft(t *testing.T) {
	o, k := stuckOptions(t)
	for i, m := range [][]byte{encode(kindForget, forget{Job: 5}), encode(kindRecall, recall{Job: 5, Tasks: []uint64{1}, Count: 1}), encode(kindQuery, query{})} {
		a := newAgent(o, k)
		if err := a.receive("driver", m); err != nil || len(a.byName)+len(a.owners) > 0 {
			t.Errorf("message %d: %d drivers and %d jobs are there, error %v", i, len(a.byName), len(a.owners), err)
		}
	}
}

// TestLeavesBetween: what handles a message of a driver may have looked it up before the driver leaves,
// and go on when nothing of it is there any more. Then nothing begins, and no job is anybody's.
func TestLeavesBetween(t *testing.T) {
	o, k := stuckOptions(t)
	params, err := versions.EncodeParams(nil, &addend{N: 1})
	if err != nil {
		t.Fatal(err)
	}
	a, like := newAgent(o, k), core.FactsOf(&cell{})
	defer a.background.Wait()
	if err := a.receive("driver", encode(kindCall, call{Epoch: 1})); err != nil {
		t.Fatal(err)
	}
	d := a.present("driver")
	a.event(transport.Event{Node: "driver"})
	<-d.closedAll
	w := a.work(d, 5)
	w.run([]task{{ID: 1, Op: "add", Params: string(params), Operands: []operand{{Ref: transport.Ref{Job: 5, Matrix: 1}, Mode: graph.Out, Type: like.Kind, Shape: like.Shape}}}})
	w.giveBack([]uint64{1}, 1)
	w.tasks.Wait()
	if n := d.exec.store.currentBytes(); len(d.exec.jobs) > 0 || n > 0 {
		t.Errorf("%d jobs have begun, and %d bytes are there", len(d.exec.jobs), n)
	}
	if mine, _ := a.jobOf("driver", 5); mine != nil || len(a.owners) > 0 {
		t.Errorf("%d jobs are owned", len(a.owners))
	}
}

// TestLeavesTogether: when an agent, or a driver, leaves, all tasks are told: one that goes on until it
// is may have the worker for which those of other jobs, and of other drivers, wait.
func TestLeavesTogether(t *testing.T) {
	for _, drivers := range []int{1, 6} {
		synctest.Test(t, func(t *testing.T) { leavesTogether(t, drivers) })
	}
}

func leavesTogether(t *testing.T, drivers int) {
	o, _ := stuckOptions(t)
	o.Ops = []*versions.Op{{Name: "goes on", Versions: []versions.Version{{Name: "go", Run: func(c *versions.Call) error { <-c.Ctx.Done(); return nil }}}}}
	k, err := o.validate()
	if err != nil {
		t.Fatal(err)
	}
	params, err := versions.EncodeParams(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	a, served := newAgent(o, k), make(chan error)
	go func() { served <- a.serve(ctx) }()
	for i := range uint64(6) {
		name := fmt.Sprint("driver", i%uint64(drivers))
		for _, m := range [][]byte{encode(kindCall, call{Epoch: 1}), encode(kindRun, run{Job: 5 + i, Epoch: 1, Tasks: []task{{ID: 1, Op: "goes on", Params: string(params)}}})} {
			if err := a.receive(name, m); err != nil {
				t.Fatal(err)
			}
		}
	}
	if drivers == 1 {
		d := a.present("driver0")
		a.event(transport.Event{Node: "driver0"})
		<-d.closedAll
	}
	stop()
	<-served
}

// TestForgotten: what a job that is over leaves on a node counts as there until the turn of the message
// has come that has it forgotten: tasks that are given to the node before that could go with a
// message before it.
func TestForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt, err := exec.NewLocal(exec.Options{Workers: 1, Float: true})
		if err != nil {
			t.Fatal(err)
		}
		defer rt.Close()
		o := Options{Transport: &stuck{may: make(chan struct{}, 2)}, Runtime: rt, Ops: []*versions.Op{addOp()}, Values: []versions.Value{&cell{}}}
		k, err := o.validate()
		if err != nil {
			t.Fatal(err)
		}
		d := newDriver(o, k)
		defer d.Close()
		n := newNode(1, "agent")
		n.memory.Cap, n.out = 8, newOutbox(o.Transport, n.name, func(err error) { t.Error(err) })
		d.nodes = append(d.nodes, n)
		e := &core.Entry{Ref: transport.Ref{Job: 5}, Facts: core.Facts{Label: core.Label{Bytes: 8}}}
		n.memory.Hold(e)
		d.directory.MarkStale(1, e.Ref)
		placed := 0
		d.starving[1] = func() { placed++ }
		n.out.add(func() []byte { return []byte("before") }) // which stays on its way
		d.forget(5, d.nodes, []*core.Entry{e})
		synctest.Wait()
		if n.memory.Used != 8 || n.memory.PendingForgets != 1 || len(d.directory.Stale[1]) != 1 || placed != 0 {
			t.Errorf("of 8 bytes %d are there, %d messages free some, %v are to be dropped, before the node is told", n.memory.Used, n.memory.PendingForgets, d.directory.Stale[1])
		}
		o.Transport.(*stuck).may <- struct{}{}
		synctest.Wait()
		if n.memory.Used != 0 || n.memory.PendingForgets != 0 || len(d.directory.Stale[1]) != 0 || placed != 1 {
			t.Errorf("%d bytes are there, %d messages free some, %v are to be dropped, when the node has been told; tasks that wait for room are placed %d times", n.memory.Used, n.memory.PendingForgets, d.directory.Stale[1], placed)
		}
		o.Transport.(*stuck).may <- struct{}{}
	})
}
