package cluster_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
)

// TestWatchdog: a task that does not end, one whose operand does not come, and a job of which
// nothing runs are told of once each, with the nodes and what they wait for.
func TestWatchdog(t *testing.T) {
	leaves(t)
	synctest.Test(t, watchdog) // in virtual time
}

func watchdog(t *testing.T) {
	reports := make(chan exec.Stuck, 10)
	n, op, release := holding(t, 2, func(o *cluster.Options) {
		o.Watchdog = &exec.Watchdog{After: 40 * time.Millisecond, Report: func(s exec.Stuck) { reports <- s }}
	})
	open, gives := latch(t)
	a := graph.Datum{Name: "A", Key: graph.Key{Matrix: 1}, Value: &number{}, Bytes: 8}
	b := graph.Datum{Name: "B", Key: graph.Key{Matrix: 2}, Value: &held{open: open}, Bytes: 8}
	inout := func(d *graph.Datum) []graph.Operand { return []graph.Operand{{Datum: d, Mode: graph.InOut}} }
	next := func(want ...string) { // in as many reports as there are
		t.Helper()
		text := ""
		for end := time.After(10 * time.Second); ; {
			if !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(text, w) }) {
				return
			}
			select {
			case s := <-reports:
				text += s.String() + "\n"
			case <-end:
				t.Fatalf("the reports lack one of %q:\n%s", want, text)
			}
		}
	}
	j := n.NewJob(context.Background())
	submit := func(s graph.Spec) {
		t.Helper()
		if _, err := j.Submit(&s); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		submit(graph.Spec{Op: n.op, Params: &mix{Writes: 1, Reads: 1, Sleep: 100}, Operands: inout(&a)})
	}
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	if len(reports) > 0 {
		t.Errorf("a job that goes on is stuck: %v", <-reports)
	}
	submit(graph.Spec{Op: op, Operands: inout(&a)})
	next("is stuck after 20 of 21 tasks", "task 21, hold on agent", " runs for ", ": INOUT A(0,0)")
	release()
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	submit(graph.Spec{Op: n.op, Params: &mix{}, Operands: inout(&b)})
	next("is stuck after 21 of 22 tasks", "task 22, mix on agent", " waits for B(0,0) from driver for ", ": INOUT B(0,0)", "driver waits for tasks that no other node can execute",
		" waits for B(0,0) from driver, ", " waits for tasks to become ready")
	time.Sleep(time.Second)
	if len(reports) > 0 {
		t.Errorf("told of twice: %v", <-reports)
	}
	gives()
	if err := j.Wait(); err == nil { // there is no op for such values
		t.Error("mix of a value that is held")
	}
}

func TestWatchdogOptions(t *testing.T) {
	node, err := transport.NewNetwork().Node("a")
	if err != nil {
		t.Fatal(err)
	}
	rt, err := exec.NewLocal(exec.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	for _, w := range []exec.Watchdog{{}, {After: time.Second}, {Report: func(exec.Stuck) {}}} {
		var bad *cluster.OptionsError
		if _, err := cluster.NewDriver(cluster.Options{Transport: node, Runtime: rt, Watchdog: &w}); !errors.As(err, &bad) {
			t.Errorf("%+v: %v", w, err)
		}
	}
}
