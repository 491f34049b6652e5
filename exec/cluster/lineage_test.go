package cluster

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// TestLostBase: what is kept, and was made from what the program's memory held before the program waited
// for it, is lost for good when the job is over, and the error says so at once.
func TestLostBase(t *testing.T) { synctest.Test(t, lostBase) } // in virtual time

func lostBase(t *testing.T) {
	var said again
	d, kill := copyCluster(t, 2, Copies{Off: true}, 0, slog.New(&said))
	v := &cell{}
	k, err := d.Keep([]versions.Shaped{v})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Release()
	of, kept := graph.Datum{Name: "of", Value: &cell{n: 5}, Bytes: 8}, graph.Datum{Value: v, Bytes: 8}
	j := d.NewJob(t.Context())
	submit := func(operands ...graph.Operand) {
		t.Helper()
		if _, err := j.Submit(&graph.Spec{Op: d.known.ops["add"], Params: &addend{N: 1}, Operands: operands}); err != nil {
			t.Fatal(err)
		}
	}
	submit(graph.Operand{Datum: &of, Mode: graph.InOut})
	if err := j.WaitOn(&of); err != nil {
		t.Fatal(err)
	}
	submit(graph.Operand{Datum: &kept, Mode: graph.InOut}, graph.Operand{Datum: &of, Mode: graph.In})
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	kill[d.Usage()[k.Locate([]versions.Shaped{v})[0]].Node[0]-'a']()
	time.Sleep(time.Second)
	var lost *NodeLostError
	if err := k.Fetch(t.Context(), v, &cell{}); !errors.As(err, &lost) || lost.Data != "of(0,0)" {
		t.Errorf("error %v, want one that says that of(0,0) is lost", err)
	}
	if len(said.tasks) > 0 {
		t.Errorf("tasks were executed again, %d times", len(said.tasks))
	}
}

// beforehand is a transport that does something before it fetches the first time.
type beforehand struct {
	transport.Transport
	before func()
}

func (f *beforehand) Fetch(ctx context.Context, from string, r transport.Ref, wait time.Duration, into versions.Value) error {
	if before := f.before; before != nil {
		f.before = nil
		before()
	}
	return f.Transport.Fetch(ctx, from, r, wait, into)
}

// TestFetchWritten: what is kept can be fetched while another job writes it. The version that goes
// meanwhile says nothing about the next one.
func TestFetchWritten(t *testing.T) { synctest.Test(t, fetchWritten) } // in virtual time

func fetchWritten(t *testing.T) {
	var said again
	d, _ := copyCluster(t, 1, Copies{Off: true}, 0, slog.New(&said))
	v, got := &cell{}, &cell{}
	k, err := d.Keep([]versions.Shaped{v})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Release()
	kept := graph.Datum{Value: v, Bytes: 8}
	add := func() {
		j := d.NewJob(t.Context())
		if _, err := j.Submit(&graph.Spec{Op: d.known.ops["add"], Params: &addend{N: 1}, Operands: []graph.Operand{{Datum: &kept, Mode: graph.InOut}}}); err != nil {
			t.Fatal(err)
		}
		if err := j.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	add()
	d.exec.store.transport = &beforehand{d.opt.Transport, add}
	if err := k.Fetch(t.Context(), v, got); err != nil || got.n != 4 {
		t.Errorf("%d, want 4, error %v", got.n, err)
	}
	if len(said.tasks) > 0 {
		t.Errorf("tasks were executed again, %d times", len(said.tasks))
	}
}

// TestLateHello: what a node has said of itself before it left may come after that, over another
// connection. That is no news. What says that it joined otherwise is refused.
func TestLateHello(t *testing.T) { synctest.Test(t, lateHello) } // in virtual time

func lateHello(t *testing.T) {
	var said again
	d, kill := copyCluster(t, 1, Copies{Off: true}, 0, slog.New(&said))
	d.lock.Lock()
	epoch := d.nodeNamed("a").epoch
	d.lock.Unlock()
	kill[0]()
	time.Sleep(time.Second)
	for _, x := range []struct {
		epoch uint64
		fails bool
	}{{epoch, false}, {epoch + 1, true}} {
		if err := d.receive("a", encode(kindHello, hello{Epoch: x.epoch, Called: unasked, Offer: offeredBy(d.opt.Ops, d.opt.Runtime)})); (err != nil) != x.fails {
			t.Errorf("epoch %d of %d: %v", x.epoch, epoch, err)
		}
	}
}

// TestWaitOnLost: what a program waits for is made again if it is lost when no task is under way: before
// that, or while it comes.
func TestWaitOnLost(t *testing.T) {
	for _, comes := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { waitOnLost(t, comes) }) // in virtual time
	}
}

func waitOnLost(t *testing.T, comes bool) {
	d, kill := copyCluster(t, 2, Copies{Off: true}, 0, slog.New(slog.DiscardHandler))
	data, j := graph.Datum{Value: &cell{}, Bytes: 8}, d.NewJob(t.Context())
	if _, err := j.Submit(&graph.Spec{Op: d.known.ops["add"], Params: &addend{N: 7}, Operands: []graph.Operand{{Datum: &data, Mode: graph.InOut}}}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	lose := func() {
		for _, u := range d.Usage() {
			if u.Tasks["add"] > 0 {
				kill[u.Node[0]-'a']()
			}
		}
		time.Sleep(time.Second) // until that is known
	}
	if comes {
		d.exec.store.transport = &beforehand{d.opt.Transport, lose}
	} else {
		lose()
	}
	if err := j.WaitOn(&data); err != nil || data.Value.(*cell).n != 7 {
		t.Errorf("it is lost while it comes: %t; %d, want 7, error %v", comes, data.Value.(*cell).n, err)
	}
	if err := j.Wait(); err != nil {
		t.Error(err)
	}
}

// TestWaitOnGone: who waits for what is lost for good is told so.
func TestWaitOnGone(t *testing.T) { synctest.Test(t, waitOnGone) } // in virtual time

func waitOnGone(t *testing.T) {
	d, kill := copyCluster(t, 1, Copies{Off: true}, 0, slog.New(slog.DiscardHandler))
	v := &cell{}
	k, err := d.Keep([]versions.Shaped{v})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Release()
	kept, program := graph.Datum{Value: v, Bytes: 8}, graph.Datum{Value: &cell{n: 7}, Bytes: 8}
	j := d.NewJob(t.Context())
	if _, err := j.Submit(&graph.Spec{Op: d.known.ops["add"], Params: &addend{}, Operands: []graph.Operand{{Datum: &kept, Mode: graph.InOut}, {Datum: &program, Mode: graph.In}}}); err != nil {
		t.Fatal(err)
	}
	if err := j.Wait(); err != nil { // after which the program may have changed its memory
		t.Fatal(err)
	}
	kill[0]()
	time.Sleep(time.Second)
	var lost *NodeLostError
	if err := j.WaitOn(&kept); err != nil {
		t.Errorf("before the job has begun: %v", err)
	}
	if _, err := j.Submit(&graph.Spec{Op: d.known.ops["add"], Params: &addend{}, Operands: []graph.Operand{{Datum: &program, Mode: graph.InOut}}}); err != nil {
		t.Fatal(err)
	}
	if err := j.WaitOn(&kept); !errors.As(err, &lost) {
		t.Errorf("%v, want a NodeLostError", err)
	}
	if err := j.Wait(); !errors.As(err, &lost) {
		t.Errorf("then Wait returns %v", err)
	}
}
