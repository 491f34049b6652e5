package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
	"go.uber.org/goleak"
)

// TestWatchdogPause: the time in which a driver stood still counts neither for a task of its
// own nor for a job of which nothing runs. All other time does.
func TestWatchdogPause(t *testing.T) {
	const after = 4 * time.Hour // so the watchdog does not look by itself
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	node, err := transport.NewNetwork().Node("driver")
	if err != nil {
		t.Fatal(err)
	}
	rt, err := exec.NewLocal(exec.Options{Workers: 1, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	began, release := make(chan bool, 2), make(chan bool)
	op := &versions.Op{Name: "holds", Versions: []versions.Version{{Name: "go", Run: func(*versions.Call) error { began <- true; <-release; return nil }}}}
	d, err := NewDriver(Options{Transport: node, Runtime: rt, Ops: []*versions.Op{op}, Values: []versions.Value{&cell{}},
		Watchdog: &exec.Watchdog{After: after, Report: func(s exec.Stuck) { t.Error(s) }}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	defer close(release)
	d.exec.meter.began = d.exec.meter.began.Add(-1000 * time.Hour) // so that a task may have begun long ago
	for k := range 2 {                                             // a task that runs, and one that is ready behind it
		j := d.NewJob(context.Background())
		if _, err := j.Submit(&graph.Spec{Op: op, Operands: []graph.Operand{{Datum: &graph.Datum{Value: &cell{}, Bytes: 8}, Mode: graph.InOut}}}); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(5 * time.Minute); len(d.exec.status().Tasks) <= k && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	}
	<-began
	now := time.Now()
	look := func(pause time.Duration) []exec.Stuck { // an hour and a pause after the last one
		now = now.Add(time.Hour + pause)
		d.exec.shiftPause(-time.Hour-pause, time.Now()) // what the task has run for is what the clock says
		return d.dog.check(pause, now)
	}
	found := look(0)
	for range 2 {
		found = append(found, look(20*time.Hour)...)
	}
	if len(found) != 0 {
		t.Errorf("the driver stood still: %v", found)
	}
	for range 3 {
		found = append(found, look(0)...)
	}
	var runs, ready int
	for _, s := range found {
		if len(s.Tasks) > 0 {
			runs++
		} else {
			ready++
		}
	}
	if runs != 1 || ready != 1 {
		t.Errorf("%v", found)
	}
}
