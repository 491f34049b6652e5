package loop_test

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/cluster/clustertest"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// vector is a value of tests that nodes can send.
type vector struct{ x []float64 }

func (v *vector) Bytes() int64             { return int64(8 * len(v.x)) }
func (v *vector) Snapshot() versions.Value { return &vector{slices.Clone(v.x)} }
func (v *vector) Restore(s versions.Value) { copy(v.x, s.(*vector).x) }
func (v *vector) Encode(w io.Writer) error { return binary.Write(w, binary.LittleEndian, v.x) }
func (v *vector) Decode(r io.Reader) error { return binary.Read(r, binary.LittleEndian, v.x) }
func (v *vector) Shape() []byte            { return binary.AppendUvarint(nil, uint64(len(v.x))) }
func (v *vector) Reshape(b []byte) error {
	n, size := binary.Uvarint(b)
	if size != len(b) || n > 1e6 {
		return errors.New("no vector")
	}
	v.x = make([]float64, n)
	return nil
}

// scaleParams is the parameter of op "scale".
type scaleParams struct {
	loop.Range
	By   float64
	Fail bool
}

// scale computes OUT y, a part of By·x for IN x, in a loop of the node that gets it.
func scale() *versions.Op {
	return &versions.Op{Name: "scale", NewParams: func() any { return new(scaleParams) }, Versions: []versions.Version{{Name: "go", Run: func(call *versions.Call) error {
		p, x, y := call.Params.(*scaleParams), call.Args[0].(*vector).x, call.Args[1].(*vector).x
		if p.Fail {
			return errors.New("on purpose")
		}
		return loop.Within(call, p.Count, loop.Options{}, func(c loop.Chunk) error {
			for i := c.Lo; i < c.Hi; i++ {
				y[i] = p.By * x[p.First+i]
			}
			return nil
		})
	}}}}
}

// submitScale submits 3·x for x_i = i in chunks, and returns what is to become of them.
func submitScale(t *testing.T, rt exec.Runtime, job exec.Job, op *versions.Op, n int, p loop.Plan, fail int) (parts map[int]*vector) {
	t.Helper()
	x := &vector{make([]float64, n)}
	for i := range x.x {
		x.x[i] = float64(i)
	}
	from := &graph.Datum{Name: "x", Key: graph.Key{Matrix: 1}, Value: x, Bytes: x.Bytes()}
	parts = map[int]*vector{}
	tasks, err := loop.Submit(rt, job, n, loop.Options{Plan: p}, func(c loop.Chunk) (graph.Spec, error) {
		y := &vector{make([]float64, c.Len())}
		parts[c.Lo] = y
		to := &graph.Datum{Name: "y", Key: graph.Key{Matrix: 2, I: int32(c.Lo)}, Value: y, Bytes: y.Bytes()}
		return graph.Spec{Op: op, Params: &scaleParams{Range: c.Range(), By: 3, Fail: c.Lo <= fail && fail < c.Hi},
			Operands: []graph.Operand{{Datum: from, Mode: graph.In}, {Datum: to, Mode: graph.Out}}}, nil
	})
	// A task may have failed before the last one is submitted.
	if fail < 0 && (err != nil || tasks != len(parts)) {
		t.Fatalf("%v: %v, %d tasks for %d chunks", p, err, tasks, len(parts))
	}
	return parts
}

// checkScale checks what has become of it.
func checkScale(t *testing.T, parts map[int]*vector, n int) {
	t.Helper()
	got := make([]float64, 0, n)
	for len(got) < n {
		p := parts[len(got)]
		if p == nil {
			t.Fatalf("no chunk begins at item %d", len(got))
		}
		got = append(got, p.x...)
	}
	for i, y := range got {
		if y != 3*float64(i) {
			t.Fatalf("y[%d] is %v", i, y)
		}
	}
}

// TestSubmit: chunks as tasks, on one machine.
func TestSubmit(t *testing.T) {
	rt := start(t, exec.Options{Workers: 3})
	op := scale()
	for _, p := range plans() {
		job := rt.NewJob(t.Context())
		parts := submitScale(t, rt, job, op, 300, p, -1)
		if err := job.Wait(); err != nil {
			t.Fatalf("%v: %v", p, err)
		}
		checkScale(t, parts, 300)
	}
	none := errors.New("none")
	job := rt.NewJob(t.Context())
	if n, err := loop.Submit(rt, job, 10, loop.Options{Plan: loop.Plan{Scheme: loop.SS}}, func(c loop.Chunk) (graph.Spec, error) {
		if c.Lo == 3 {
			return graph.Spec{}, none
		}
		return graph.Spec{Op: op, Params: &scaleParams{}, Operands: []graph.Operand{
			{Datum: &graph.Datum{Value: &vector{}}, Mode: graph.In}, {Datum: &graph.Datum{Value: &vector{}}, Mode: graph.Out}}}, nil
	}); n != 3 || !errors.Is(err, none) {
		t.Error(n, err)
	}
	if err := job.Wait(); err != nil {
		t.Error(err)
	}
}

// TestSubmitNodes: the same on several nodes, each of which has a part; and a failure.
func TestSubmitNodes(t *testing.T) {
	op := scale()
	d := clustertest.Start(t, transport.NewNetwork().Node, 2, func(o *cluster.Options) {
		o.Ops, o.Values = []*versions.Op{op}, []versions.Value{&vector{}}
	}).Driver
	for _, p := range []loop.Plan{{}, {Scheme: loop.GSS}, {Scheme: loop.Static, Layout: loop.PerSocket, Shares: true}} {
		job := d.NewJob(t.Context())
		parts := submitScale(t, d, job, op, 2000, p, -1)
		if err := job.Wait(); err != nil {
			t.Fatalf("%v: %v", p, err)
		}
		checkScale(t, parts, 2000)
	}
	for _, u := range d.Usage() {
		if u.Tasks["scale"] == 0 {
			t.Errorf("%s has executed nothing", u.Node)
		}
	}
	// Shares go to nodes: three of them have two workers each.
	var queues []int
	job := d.NewJob(t.Context())
	if _, err := loop.Submit(d, job, 600, loop.Options{Plan: loop.Plan{Scheme: loop.Static, Layout: loop.PerSocket, Shares: true}}, func(c loop.Chunk) (graph.Spec, error) {
		if c.Lo/200 != c.Queue {
			t.Errorf("%+v", c)
		}
		queues = append(queues, c.Queue)
		return graph.Spec{Op: op, Params: &scaleParams{}, Operands: []graph.Operand{
			{Datum: &graph.Datum{Value: &vector{}}, Mode: graph.In}, {Datum: &graph.Datum{Value: &vector{}}, Mode: graph.Out}}}, nil
	}); err != nil || slices.Max(queues) != 2 {
		t.Error(err, queues)
	}
	if err := job.Wait(); err != nil {
		t.Error(err)
	}
	// A chunk that fails is a task that does.
	job = d.NewJob(t.Context())
	submitScale(t, d, job, op, 100, loop.Plan{Scheme: loop.SS, Grain: 10}, 42)
	var te *exec.TaskError
	if err := job.Wait(); !errors.As(err, &te) || te.Task != 5 {
		t.Error(err)
	}
	// Loops in Go are executed on the driver's own workers.
	workers := map[int]bool{}
	var mu sync.Mutex
	if err := loop.For(t.Context(), d, 100, loop.Options{Plan: loop.Plan{Scheme: loop.SS}}, func(c loop.Chunk) error {
		mu.Lock()
		workers[c.Worker] = true
		mu.Unlock()
		return nil
	}); err != nil || len(workers) == 0 || len(workers) > 2 {
		t.Error(err, workers)
	}
}
