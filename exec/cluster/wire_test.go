package cluster

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// FuzzDecode: what comes is refused or decoded, and what was decoded is encoded and
// decoded to the same.
func FuzzDecode(f *testing.F) {
	r := transport.Ref{Job: 7, Matrix: 1, I: 2, J: -3, Version: 4}
	f.Add(encode(kindHello, hello{Memory: 3, Offer: offered{Ops: []string{"gemm/f64", "potrf/f64"}, Kinds: []kindOffered{
		{Kind: Kind{2, versions.Target{Kind: "cpu", Processor: "KNL", Features: []string{"avx512f"}, Ops: []string{"gemm"}}, ""}, Lacks: []lack{{Ops: []int{1}, Why: []string{"no"}}}}, {Kind: Kind{Workers: 1, Accelerator: "sim0"}}}}}))
	f.Add(encode(kindRun, run{Job: 7, Drops: []transport.Ref{r}, Tasks: []task{{ID: 1, Op: "gemm/f64", Params: "\x01", Retries: 2, Timeout: time.Second,
		Operands: []operand{{Ref: r, Mode: graph.InOut, givers: givers{From: []string{"a", "b"}, Soon: true}, Type: "*kernels.Tile[float64]", Shape: "T"}}}}}))
	f.Add(encode(kindEnded, ended{Job: 7, Ends: []end{{ID: 1, Fault: &fault{Op: "potrf", Text: "no"}}, {ID: 2, Missing: []missing{{Ref: r, Cut: []string{"a"}, Lacks: []string{"b"}}}, Why: "gone"}}}))
	f.Add(encode(kindOver, over{Job: 7}))
	f.Add(encode(kindEnded, ended{Job: 7, Ends: []end{{ID: 3, Version: "go", Came: []came{{Ref: r, From: "a", Bytes: 9, Began: -1, Took: time.Second}}}}}))
	f.Add(encode(kindRun, run{Job: 7, Tell: true}))
	f.Add(encode(kindRun, run{Job: 7, Tasks: []task{{ID: 1, Op: "a", Priority: -3, Operands: []operand{{Ref: r, Copy: &r}, {Ref: r, Zero: true}}}, {ID: 1 << 63, Constraints: encodeConstraints(&versions.Constraints{Processor: "KNL"})}}}))
	f.Add(encode(kindLook, look{}))
	f.Add(encode(kindState, state{Held: 1 << 40, Busy: 2, Waiting: 3, Tasks: []standing{{Job: 7, ID: 1, Stage: stageWaits, For: time.Second, Wants: []transport.Ref{r}}, {Job: 7, ID: 2, Stage: stageRuns}}}))
	f.Add([]byte{protocol, byte(kindRun), 0x82, 7, 0x80, 0, 1, 0xff})
	f.Add([]byte{protocol, byte(kindRun), 0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, m []byte) {
		k, body, err := split("x", m)
		if err != nil {
			return
		}
		for _, x := range []any{new(hello), new(run), new(ended), new(over), new(look), new(state)} {
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
				if o, err := h.Offer.offer(); err == nil && (o.workers() < 1 || len(o.lacks) != len(o.kinds)) {
					t.Fatalf("%+v was taken", h)
				}
			}
		}
	})
}

// FuzzFault: an error that a node tells of is one here, whatever it says of its type.
func FuzzFault(f *testing.F) {
	known := []error{&MemoryError{}, &MessageError{}, &RemoteError{}}
	for _, err := range []error{&MemoryError{Need: 3}, &MessageError{"a", "b"}, errors.New("x")} {
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
	var d directory
	e := &entry{ref: transport.Ref{Job: 9, Matrix: 1, I: 2, J: 3}}
	e.brought(false)
	if !e.has(0) || e.has(1) || e.lost() {
		t.Fatalf("a new datum: %+v", e)
	}
	e.read(2)
	e.read(1)
	e.read(2)
	if got := [][]int{e.from(nil), e.from(nil), e.from(nil), e.from(nil)}; !reflect.DeepEqual(got, [][]int{{0, 2, 1}, {2, 0, 1}, {1, 0, 2}, {0, 2, 1}}) {
		t.Errorf("holders do not take turns: %v", got)
	}
	first, made := e.ref, &record{}
	d.written(e, 1, made)
	if e.version != 1 || e.ref.Version != 1 || !reflect.DeepEqual(e.holders, []int{1}) || e.made[0] != made {
		t.Errorf("after a task: %+v", e)
	}
	for node, want := range [][]transport.Ref{{first}, nil, {first}} {
		if got := d.drops(node); !reflect.DeepEqual(got, want) || d.drops(node) != nil {
			t.Errorf("node %d is to drop %v, want %v", node, got, want)
		}
	}
	if r, from := e.at(0); r != first || !reflect.DeepEqual(from, []int{0}) {
		t.Errorf("the first version is %v at %v, want the driver's", r, from)
	}
	e.drop(1)
	if !e.lost() {
		t.Error("nobody has it, and it is not lost")
	}
}

// TestPlan: what is made again is what leads to what was lost, from what somebody has, and
// no more.
func TestPlan(t *testing.T) {
	var d directory
	a, b, c := &entry{set: 1}, &entry{set: 1}, &entry{set: 1}
	id := graph.TaskID(0)
	run := func(node int, uses ...use) *record {
		id++
		r := &record{id: id, uses: uses}
		for i, u := range uses {
			r.uses[i].version = u.of.version
		}
		for _, u := range uses {
			if u.mode&graph.Out != 0 {
				d.written(u.of, node, r)
			}
		}
		return r
	}
	a1 := run(1, use{of: a, mode: graph.Out})
	b1 := run(1, use{of: b, mode: graph.Out})
	b2 := run(1, use{of: a, mode: graph.In}, use{of: b, mode: graph.InOut}) // reads a before it changes
	run(2, use{of: a, mode: graph.InOut})
	c1 := run(1, use{of: c, mode: graph.Out})
	c2 := run(2, use{of: b, mode: graph.In}, use{of: c, mode: graph.InOut})
	for _, e := range []*entry{a, b, c} {
		e.drop(1)
	}
	if p, gone := planFor([]*entry{b}); gone != nil || !slices.Equal(p.tasks, []*record{a1, b1, b2}) || len(p.sources) != 0 {
		t.Errorf("b: %v, gone %v", p, gone)
	}
	c.drop(2)
	p, gone := planFor([]*entry{b, c})
	if gone != nil || !slices.Equal(p.tasks, []*record{a1, b1, b2, c1, c2}) {
		t.Errorf("b and c: %v, gone %v", p, gone)
	}
	b.read(3)
	if p, _ := planFor([]*entry{c}); !slices.Equal(p.tasks, []*record{c1, c2}) || len(p.sources) != 1 {
		t.Errorf("c from b: %v", p)
	}
	c.made[0] = nil
	if _, gone := planFor([]*entry{c}); gone != c {
		t.Errorf("what nothing can make is %v", gone)
	}
}
