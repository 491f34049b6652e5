package cluster

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
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

// TestShapeTooLarge: a shape that a message names gets no memory if it needs more than the node may have.
func TestShapeTooLarge(t *testing.T) {
	shape := (&kernels.Tile[float64]{Rows: 1 << 13, Cols: 1 << 13}).Shape()
	k := known{values: map[string]reflect.Type{"tile": reflect.TypeFor[kernels.Tile[float64]](), "pivots": reflect.TypeFor[kernels.Pivots]()}, most: 100 << 20}
	bad := (*valueError)(nil)
	if _, err := k.value("tile", string(shape)); !errors.As(err, &bad) || !strings.Contains(err.Error(), "this node may have 104857600") {
		t.Errorf("a tile of 512 MiB: %v", err)
	}
	many := (&kernels.Pivots{Rows: make([]int, 14<<20)}).Shape()
	if _, err := k.value("pivots", string(many)); !errors.As(err, &bad) {
		t.Errorf("pivots of 112 MiB: %v", err)
	}
	v, err := k.value("tile", string((&kernels.Tile[float64]{Rows: 3, Cols: 4}).Shape()))
	if x, ok := v.(*kernels.Tile[float64]); err != nil || !ok || len(x.Data) != 12 {
		t.Errorf("a small tile: %v, %v", v, err)
	}
}
