package cluster

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// deafening is a transport that may say that it cannot go on.
type deafening struct {
	transport.Transport
	event func(transport.Event)
}

func (d *deafening) Start(h transport.Handler, e func(transport.Event)) error {
	d.event = e
	return d.Transport.Start(h, e)
}

// TestDeaf: an agent whose transport cannot go on ends, and a driver's jobs do, with its error.
func TestDeaf(t *testing.T) {
	network := transport.NewNetwork()
	inc := &versions.Op{Name: "inc", Versions: []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
		c.Args[0].(*cell).n++
		return nil
	}}}}
	options := func(name string) (Options, *deafening) {
		tr, err := network.Node(name)
		if err != nil {
			t.Fatal(err)
		}
		rt, err := exec.NewLocal(exec.Options{Workers: 1, Float: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { rt.Close() })
		x := &deafening{Transport: tr}
		return Options{Transport: x, Runtime: rt, Ops: []*versions.Op{inc}, Values: []versions.Value{&cell{}}, Idle: true, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}, x
	}
	o, agent := options("agent")
	ended := make(chan error, 1)
	go func() { ended <- Serve(context.Background(), o) }()
	own, driver := options("driver")
	d, err := NewDriver(own)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	datum := graph.Datum{Value: &cell{}, Bytes: 8}
	task := func(j exec.Job) error {
		_, err := j.Submit(&graph.Spec{Op: inc, Operands: []graph.Operand{{Datum: &datum, Mode: graph.InOut}}})
		return err
	}
	j := d.NewJob(t.Context())
	if err := task(j); err != nil {
		t.Fatal(err)
	}
	why := errors.New("test")
	driver.event(transport.Event{Node: "driver", Err: &transport.DeafError{Node: "driver", Err: why}})
	var deaf *transport.DeafError
	if err := j.Wait(); !errors.As(err, &deaf) || deaf.Node != "driver" || !errors.Is(err, why) {
		t.Errorf("a job ends with %v", err)
	}
	if err := task(d.NewJob(t.Context())); !errors.As(err, &deaf) {
		t.Errorf("one that comes then ends with %v", err)
	}
	if err := d.Await(t.Context(), 1); !errors.As(err, &deaf) {
		t.Errorf("Await: %v", err)
	}
	agent.event(transport.Event{Node: "agent", Err: &transport.DeafError{Node: "agent", Err: why}})
	if err := <-ended; !errors.As(err, &deaf) || deaf.Node != "agent" {
		t.Errorf("an agent ends with %v", err)
	}
}

// asking is a value whose shape says how many bytes it takes.
type asking struct{ cell }

func (a *asking) Shape() []byte              { return nil }
func (a *asking) Reshape(shape []byte) error { a.n = int64(len(shape)); return nil }
func (a *asking) Measure(shape []byte) (int64, error) {
	return strconv.ParseInt(string(shape), 10, 64)
}

// TestShapeTooLarge: a shape that a message names gets no memory if it needs more than the node may have.
func TestShapeTooLarge(t *testing.T) {
	k := known{values: map[string]reflect.Type{"asking": reflect.TypeFor[asking]()}, maxValue: 100 << 20}
	bad := (*valueError)(nil)
	if _, err := k.value("asking", "104857601"); !errors.As(err, &bad) || !strings.Contains(err.Error(), "this node may have 104857600") {
		t.Errorf("a value of more: %v", err)
	}
	if v, err := k.value("asking", "104857600"); err != nil || v.(*asking).n != 9 {
		t.Errorf("a value of that: %v, %v", v, err)
	}
}
