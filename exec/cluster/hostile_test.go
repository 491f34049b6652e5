package cluster

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// cell is a value of one number.
type cell struct{ n int64 }

func (c *cell) Bytes() int64             { return 8 }
func (c *cell) Snapshot() versions.Value { s := *c; return &s }
func (c *cell) Restore(s versions.Value) { *c = *s.(*cell) }
func (c *cell) Encode(w io.Writer) error { return binary.Write(w, binary.LittleEndian, c.n) }
func (c *cell) Decode(r io.Reader) error { return binary.Read(r, binary.LittleEndian, &c.n) }
func (c *cell) Shape() []byte            { return []byte{8} }
func (c *cell) Reshape(b []byte) error {
	if string(b) != "\b" {
		return errors.New("no cell has that shape")
	}
	return nil
}

// lines is a log.
type lines struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(b)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.String()
}

// TestHostile: a node that sends nonsense, to an agent and to a driver, gets nothing done and
// harms nobody: the driver's job goes on, and is right.
func TestHostile(t *testing.T) {
	network := transport.NewNetwork()
	inc := &versions.Op{Name: "inc", Versions: []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
		time.Sleep(100 * time.Microsecond)
		c.Args[0].(*cell).n++ // panics if there is none, or it is something else
		return nil
	}}}}
	var said lines
	options := func(name string) Options {
		tr, err := network.Node(name)
		if err != nil {
			t.Fatal(err)
		}
		rt, err := exec.NewLocal(exec.Options{Workers: 1, Float: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { rt.Close() })
		return Options{Transport: tr, Runtime: rt, Ops: []*versions.Op{inc}, Values: []versions.Value{&cell{}}, Idle: true, Log: slog.New(slog.NewTextHandler(&said, nil))}
	}
	ctx, stop := context.WithCancel(context.Background())
	o := options("agent")
	var served sync.WaitGroup
	served.Go(func() { _ = Serve(ctx, o) })
	defer served.Wait()
	defer stop()
	d, err := NewDriver(options("driver"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	crook, err := network.Node("crook")
	if err != nil {
		t.Fatal(err)
	}
	faults := make(chan string, 1000) // that the crook is told
	met := make(chan string, 10)
	if err := crook.Start(func(_ string, m []byte) {
		k, body, err := split("agent", m)
		var e ended
		if err == nil && k == kindEnded && decode("agent", body, &e) == nil {
			for _, x := range e.Ends {
				if x.Fault == nil && len(x.Missing) == 0 {
					t.Errorf("task %d of the crook has ended well", x.ID)
				} else if x.Fault != nil {
					faults <- x.Fault.Text
				}
			}
		}
	}, func(e transport.Event) { met <- e.Node }); err != nil {
		t.Fatal(err)
	}
	defer crook.Close()
	for range 2 {
		<-met
	}
	if err := d.Await(ctx, 1); err != nil {
		t.Fatal(err)
	}

	data := make([]graph.Datum, 5)
	for i := range data {
		data[i].Value, data[i].Bytes = &cell{}, 8
	}
	j := d.NewJob(ctx)
	const rounds = 100
	hi := func(kinds ...kindOffered) []byte {
		return encode(kindHello, hello{Offer: offered{Ops: []string{"inc"}, Kinds: kinds}})
	}
	send := func(to string, m []byte) { _ = crook.Send(ctx, to, m) }
	for i := range rounds {
		for k := range data {
			if _, err := j.Submit(&graph.Spec{Op: inc, Operands: []graph.Operand{{Datum: &data[k], Mode: graph.InOut}}}); err != nil {
				t.Fatal(err)
			}
		}
		if i != rounds/2 {
			continue
		}
		for ran := 0; ran == 0; time.Sleep(time.Millisecond) { // or else the crook names the job first
			d.placing.Lock()
			for _, n := range d.allNodes() {
				ran += len(n.ran)
			}
			d.placing.Unlock()
		}
		for j.Completed() == 0 { // until the agent knows whose the job is
			time.Sleep(time.Millisecond)
		}
		d.lock.Lock()
		job := d.last // the driver's
		d.lock.Unlock()
		good := func(set func(*task)) []byte {
			params, err := versions.EncodeParams(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			x := task{ID: 1, Op: "inc", Params: string(params), Operands: []operand{{Ref: transport.Ref{Job: 1, Matrix: 1}, Mode: graph.InOut, Type: "*cluster.cell", Shape: "\b", Zero: true}}}
			set(&x)
			return encode(kindRun, run{Job: 1, Tasks: []task{x}})
		}
		for _, m := range [][]byte{
			nil, {protocol}, {protocol + 1, byte(kindRun)}, {protocol, 200}, {protocol, byte(kindRun), 0xff, 1, 2}, encode(kindEnded, ended{Job: job}), encode(kindOrder, order{Job: job, Task: 1}),
			encode(kindForget, forget{Job: job}), // another driver's
			encode(kindRun, run{Job: job, Drops: []transport.Ref{{Job: job, Matrix: 1}}, Tasks: []task{{ID: 1, Op: "inc"}}}),
			good(func(x *task) { x.Op = "rm -rf" }),
			good(func(x *task) { x.Params = "\x01\x02\x03" }),
			good(func(x *task) { x.Operands = nil }),
			good(func(x *task) { x.Constraints = "\xff" }),
			good(func(x *task) { x.Constraints = encodeConstraints(&versions.Constraints{Units: -1}) }),
			good(func(x *task) { x.Operands[0].Mode = 0 }),
			good(func(x *task) { x.Operands[0].Mode = 0xff }),
			good(func(x *task) { x.Operands[0].Mode = graph.Reduce }),
			good(func(x *task) { x.Operands[0].Type = "*os.File" }),
			good(func(x *task) { x.Operands[0].Shape = "\x01\x02" }),
			good(func(x *task) { x.Operands[0].Shape = ""; x.Operands[0].Type = "" }),
			good(func(x *task) { x.Operands[0].Zero, x.Operands[0].From = false, []string{"nobody", "crook"} }),
			good(func(x *task) { x.Retries, x.Timeout, x.Operands = -5, -time.Hour, nil }),
			good(func(x *task) { x.Constraints = encodeConstraints(&versions.Constraints{Processor: "VAX"}) }),
		} {
			send("agent", m)
		}
		for _, m := range [][]byte{
			nil, {protocol, byte(kindHello), 0}, hi(kindOffered{Kind: Kind{Workers: -1}}), hi(kindOffered{Kind: Kind{Workers: 1 << 30}}), hi(kindOffered{Kind: Kind{Workers: 1 << 14}}, kindOffered{Kind: Kind{Workers: 1}}), hi(), hi(make([]kindOffered, 300)...),
			hi(kindOffered{Kind: Kind{Workers: 1}, Lacks: []lack{{Ops: []int{0, -3}}}}), hi(kindOffered{Kind: Kind{Workers: 1, Target: versions.Target{Memory: -7}}}), encode(kindHello, hello{Memory: -1}), encode(kindHello, hello{Jobs: -2}),
			encode(kindRun, run{Job: job}), encode(kindForget, forget{Job: job}), encode(kindEnded, ended{Job: job + 1, Ends: []end{{ID: 1}}}),
			encode(kindEnded, ended{Job: job, Ends: []end{{ID: 1}, {ID: 1 << 60}, {ID: 300, Missing: []missing{{Ref: transport.Ref{Job: job}}}}}, Peak: -1, Busy: -1}), // tasks that it was not given
		} {
			send("driver", m)
		}
	}
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	for i := range data {
		if n := data[i].Value.(*cell).n; n != rounds {
			t.Errorf("datum %d is %d, want %d", i, n, rounds)
		}
	}
	for _, want := range []string{"no message of protocol", "of kind 200", "another driver's", "-1 workers", "1073741824 workers", "16385 workers", "0 kinds", "300 kinds", "op -3 of 1", "-7 bytes of memory", "-1 bytes of memory", "-2 jobs"} {
		if !strings.Contains(said.text(), want) {
			t.Errorf("the log does not say %q:\n%s", want, said.text())
		}
	}
	told := ""
	for range 12 {
		select {
		case x := <-faults:
			told += x + "\n"
		case <-time.After(5 * time.Minute):
			t.Fatalf("the crook was told of too few faults:\n%s", told)
		}
	}
	for want, times := range map[string]int{"op rm -rf is not known": 1, "parameter of inc": 1, "no such access mode": 3, "*os.File are not known": 1, "no cell has that shape": 1, "index out of range": 2, "constraints: ": 2, "needs processor VAX": 1} {
		if n := strings.Count(told, want); n != times {
			t.Errorf("%q was told %d times, want %d:\n%s", want, n, times, told)
		}
	}
}

// TestUnlike: nodes of another protocol are no part of a cluster, and who waits for them is
// told why; an agent tells a driver of another protocol which one it speaks.
func TestUnlike(t *testing.T) {
	network := transport.NewNetwork()
	options := func(name string) Options {
		tr, err := network.Node(name)
		if err != nil {
			t.Fatal(err)
		}
		rt, err := exec.NewLocal(exec.Options{Workers: 1, Float: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { rt.Close() })
		return Options{Transport: tr, Runtime: rt, Log: slog.New(slog.DiscardHandler), Program: "a program"}
	}
	ctx, stop := context.WithCancel(context.Background())
	agent := options("agent")
	var served sync.WaitGroup
	served.Go(func() { _ = Serve(ctx, agent) })
	defer served.Wait()
	defer stop()
	older, err := network.Node("older")
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan []byte, 10)
	if err := older.Start(func(from string, m []byte) {
		if from == "agent" {
			answers <- m
			return
		}
		_ = older.Send(ctx, from, append([]byte{protocol - 1, byte(kindHello)}, encode(kindHello, hello{})[2:]...))
	}, func(e transport.Event) {
		if e.Node == "agent" {
			_ = older.Send(ctx, "agent", []byte{protocol - 1, byte(kindCall), 0xa0})
		}
	}); err != nil {
		t.Fatal(err)
	}
	defer older.Close()
	select {
	case m := <-answers:
		if m[0] != protocol || kind(m[1]) != kindHello {
			t.Errorf("the agent answers %v", m)
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("the agent does not answer")
	}
	d, err := NewDriver(options("driver"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for end := time.Now().Add(5 * time.Minute); (d.refusals() == nil || len(d.Nodes()) < 2) && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	wait, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	want := fmt.Sprintf("a message from older: no message of protocol %d but of %d", protocol, protocol-1)
	if err := d.Await(wait, 2); err == nil || !strings.Contains(err.Error(), "1 of 2 agents") || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	if u := d.Usage(); len(d.Nodes()) != 2 || u[len(u)-1].Program == "" && u[1].Program != "a program" {
		t.Errorf("nodes %v, usage %+v", d.Nodes(), u)
	}
}
