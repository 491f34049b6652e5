package cluster

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// FuzzDecode: what comes is refused or decoded, and what was decoded is encoded and
// decoded to the same.
func FuzzDecode(f *testing.F) {
	r := transport.Ref{Job: 7, Matrix: 1, I: 2, J: -3, Version: 4}
	f.Add(encode(kindHello, hello{Memory: 3, Offer: offered{Ops: []string{"gemm/f64", "potrf/f64"}, Kinds: []kindOffered{
		{Kind: Kind{Workers: 2, Target: versions.Target{Kind: "cpu", Processor: "KNL", Features: []string{"avx512f"}, Ops: []string{"gemm"}}, Accelerator: ""}, Lacks: []lack{{Ops: []int{1}, Why: []string{"no"}}}}, {Kind: Kind{Workers: 1, Accelerator: "sim0"}}}}}))
	f.Add(encode(kindRun, run{Job: 7, Drops: []transport.Ref{r}, Tasks: []task{{ID: 1, Op: "gemm/f64", Params: "\x01", Retries: 2, Timeout: time.Second,
		Operands: []operand{{Ref: r, Mode: graph.InOut, givers: givers{From: []string{"a", "b"}, Soon: true}, Type: "*kernels.Tile[float64]", Shape: "T"}}}}}))
	f.Add(encode(kindEnded, ended{Job: 7, Ends: []end{{ID: 1, Fault: &fault{Op: "potrf", Text: "no"}}, {ID: 2, Missing: []missing{{Ref: r, Unreachable: []string{"a"}, Without: []string{"b"}}}, Why: "gone"}}}))
	f.Add(encode(kindForget, forget{Job: 7}))
	f.Add(encode(kindEnded, ended{Job: 7, Ends: []end{{ID: 3, Version: "go", Fetched: []arrival{{Ref: r, From: "a", Bytes: 9, Began: -1, Took: time.Second}}}}}))
	f.Add(encode(kindRun, run{Job: 7, Story: true}))
	f.Add(encode(kindRun, run{Job: 7, Tasks: []task{{ID: 1, Op: "a", Priority: -3, Operands: []operand{{Ref: r, Copy: &r}, {Ref: r, Zero: true}}}, {ID: 1 << 63, Constraints: encodeConstraints(&versions.Constraints{Processor: "KNL"})}}}))
	f.Add(encode(kindRun, run{Job: 7, Tasks: []task{{ID: 1, Op: "a", Group: &transport.Group{Number: 1 << 60, Nodes: []string{"b", "a"}, Rank: 1}}}}))
	f.Add(encode(kindEnded, ended{Job: 7, Ends: []end{{ID: 1, Arrived: 1 << 60}}}))
	f.Add(encode(kindOrder, order{Job: 7, Task: 1, Begin: true}))
	f.Add(encode(kindQuery, query{}))
	f.Add(encode(kindStatus, status{Held: 1 << 40, Busy: 2, Waiting: 3, Tasks: []taskStatus{{Job: 7, ID: 1, Stage: stageWaits, For: time.Second, Wants: []transport.Ref{r}}, {Job: 7, ID: 2, Stage: stageRuns}}}))
	f.Add([]byte{protocol, byte(kindRun), 0x82, 7, 0x80, 0, 1, 0xff})
	f.Add([]byte{protocol, byte(kindRun), 0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, m []byte) {
		k, body, err := split("x", m)
		if err != nil {
			return
		}
		for _, x := range []any{new(hello), new(run), new(ended), new(forget), new(query), new(order), new(status)} {
			if decode("x", body, x) != nil {
				continue
			}
			again := reflect.New(reflect.TypeOf(x).Elem()).Interface()
			_, b, err := split("x", encode(k, x))
			if err == nil {
				err = decode("x", b, again)
			}
			if err != nil || !reflect.DeepEqual(x, again) {
				t.Fatalf("%+v became %+v, %v", x, again, err)
			}
			if h, ok := x.(*hello); ok {
				if o, err := h.Offer.offer(); err == nil && (o.Workers() < 1 || len(o.Missing) != len(o.Kinds)) {
					t.Fatalf("%+v was taken", h)
				}
			}
		}
	})
}

// FuzzFault: an error that a node tells of is one here, whatever it says of its type.
func FuzzFault(f *testing.F) {
	known := []error{&core.MemoryError{}, &MessageError{}, &RemoteError{}}
	for _, err := range []error{&core.MemoryError{Need: 3}, &MessageError{"a", "b"}, errors.New("x")} {
		told := newFault(err, known)
		f.Add(told.Type, told.Fields, told.Text)
	}
	f.Add("*cluster.MemoryError", []byte{0x9f, 0xff, 0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, "")
	f.Fuzz(func(t *testing.T, typ string, fields []byte, text string) {
		x := &fault{Type: typ, Fields: fields, Text: text}
		if err := x.err("node", known); err == nil {
			t.Errorf("%+v became %v", x, err)
		}
	})
}

// TestDirectory walks one datum through what can happen to it.
func TestDirectory(t *testing.T) {
	var d core.Directory
	e := &core.Entry{Ref: transport.Ref{Job: 9, Matrix: 1, I: 2, J: 3}}
	e.NoteHome(false)
	if !e.Has(0) || e.Has(1) || e.Lost() {
		t.Fatalf("a new datum: %+v", e)
	}
	e.AddHolder(2)
	e.AddHolder(1)
	e.AddHolder(2)
	if got := [][]int{e.Sources(nil), e.Sources(nil), e.Sources(nil), e.Sources(nil)}; !reflect.DeepEqual(got, [][]int{{0, 2, 1}, {2, 0, 1}, {1, 0, 2}, {0, 2, 1}}) {
		t.Errorf("holders do not take turns: %v", got)
	}
	first, made := e.Ref, &core.Record{}
	d.RecordWrite(e, 1, made)
	if e.Version != 1 || e.Ref.Version != 1 || !reflect.DeepEqual(e.Holders, []int{1}) || e.Makers[0] != made {
		t.Errorf("after a task: %+v", e)
	}
	for node, want := range [][]transport.Ref{{first}, nil, {first}} {
		if got := d.TakeStale(node); !reflect.DeepEqual(got, want) || d.TakeStale(node) != nil {
			t.Errorf("node %d is to drop %v, want %v", node, got, want)
		}
	}
	if r, from := e.Locate(0); r != first || !reflect.DeepEqual(from, []int{0}) {
		t.Errorf("the first version is %v at %v, want the driver's", r, from)
	}
	e.RemoveHolder(1)
	if !e.Lost() {
		t.Error("nobody has it, and it is not lost")
	}
}

// TestPlan: what is made again is what leads to what was lost, from what somebody has, and
// no more.
func TestPlan(t *testing.T) {
	var d core.Directory
	a, b, c := &core.Entry{Set: 1}, &core.Entry{Set: 1}, &core.Entry{Set: 1}
	id := graph.TaskID(0)
	run := func(node int, uses ...core.Use) *core.Record {
		id++
		r := &core.Record{ID: id, Uses: uses}
		for i, u := range uses {
			r.Uses[i].Version = u.Of.Version
		}
		for _, u := range uses {
			if u.Mode&graph.Out != 0 {
				d.RecordWrite(u.Of, node, r)
			}
		}
		return r
	}
	a1 := run(1, core.Use{Of: a, Mode: graph.Out})
	b1 := run(1, core.Use{Of: b, Mode: graph.Out})
	b2 := run(1, core.Use{Of: a, Mode: graph.In}, core.Use{Of: b, Mode: graph.InOut}) // reads a before it changes
	run(2, core.Use{Of: a, Mode: graph.InOut})
	c1 := run(1, core.Use{Of: c, Mode: graph.Out})
	c2 := run(2, core.Use{Of: b, Mode: graph.In}, core.Use{Of: c, Mode: graph.InOut})
	for _, e := range []*core.Entry{a, b, c} {
		e.RemoveHolder(1)
	}
	if p, gone := core.PlanFor([]*core.Entry{b}); gone != nil || !slices.Equal(p.Tasks, []*core.Record{a1, b1, b2}) || len(p.Sources) != 0 {
		t.Errorf("b: %v, gone %v", p, gone)
	}
	c.RemoveHolder(2)
	p, gone := core.PlanFor([]*core.Entry{b, c})
	if gone != nil || !slices.Equal(p.Tasks, []*core.Record{a1, b1, b2, c1, c2}) {
		t.Errorf("b and c: %v, gone %v", p, gone)
	}
	b.AddHolder(3)
	if p, _ := core.PlanFor([]*core.Entry{c}); !slices.Equal(p.Tasks, []*core.Record{c1, c2}) || len(p.Sources) != 1 {
		t.Errorf("c from b: %v", p)
	}
	c.Makers[0] = nil
	if _, gone := core.PlanFor([]*core.Entry{c}); gone != c {
		t.Errorf("what nothing can make is %v", gone)
	}
}
