package cluster

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// away is a transport that reaches nobody.
type away struct {
	transport.Transport
	asked func() // is called by each Fetch
}

func (a *away) Self() string { return "self" }

func (a *away) Fetch(_ context.Context, from string, _ transport.Ref, _ time.Duration, _ versions.Value) error {
	a.asked()
	return &transport.UnreachableError{Node: from}
}

// TestFetchLeft: a node that cannot be reached is asked again as long as it may be one that is
// yet to be met. One that has left is not, nor one that was just waited for in vain.
func TestFetchLeft(t *testing.T) { synctest.Test(t, fetchLeft) }

func fetchLeft(t *testing.T) {
	calls, leaves := 0, 0
	f := newSharedFetches()
	through := &away{asked: func() {
		if calls++; calls == leaves {
			f.event(transport.Event{Node: "other"})
		}
	}}
	m := newMeter(1)
	s := newStore(through, f, 1, known{}, &m)
	defer s.close()
	ask := func() {
		t.Helper()
		calls = 0
		_, _, err := s.fetchFromAny(s.ctx, nil, transport.Ref{}, givers{From: []string{"other"}})
		if u := (*transport.UnreachableError)(nil); !errors.As(err, &u) {
			t.Fatalf("%v, want an UnreachableError", err)
		}
	}
	leaves = 3
	if ask(); calls != leaves {
		t.Errorf("asked %d times, and it left the %dth", calls, leaves)
	}
	if ask(); calls != 1 {
		t.Errorf("after it has left it is asked %d times", calls)
	}
	leaves = 0
	for _, again := range []func(){
		func() { f.event(transport.Event{Node: "other", Joined: true}) },
		func() { time.Sleep(unmetTime) },
		func() { f.event(transport.Event{Node: "other", Joined: true}) },
	} {
		again()
		if ask(); calls < 5 {
			t.Errorf("a node that is yet to be met is asked %d times", calls)
		}
		if ask(); calls != 1 {
			t.Errorf("after it was waited for in vain it is asked %d times", calls)
		}
	}
	for range 2 * maxRemembered {
		f.event(transport.Event{Node: time.Now().String()})
		f.noteUnmet([]string{time.Now().String()})
		time.Sleep(1)
	}
	if len(f.left) > maxRemembered || len(f.unmet) > maxRemembered {
		t.Errorf("%d nodes that have left are remembered, and %d that were waited for", len(f.left), len(f.unmet))
	}
}

// row is a value as far as its memory counts.
type row struct {
	versions.Shaped
	x []float64
}

func (r *row) Shape() []byte { return []byte{byte(len(r.x))} }
func (r *row) Bytes() int64  { return int64(8 * len(r.x)) }
func (r *row) Memory() versions.Memory {
	return versions.Memory{Data: unsafe.Pointer(&r.x[0]), Rows: 1, Width: r.Bytes(), Pitch: r.Bytes()}
}

func (a *away) Publish(transport.Ref, versions.Value) {}

func (a *away) Drop(transport.Ref) {}

// TestSpare: what a node has dropped is used again for what is of its kind: zero, if a task updates
// what nobody has written. There is never more of it than the node has had at once, and none when the node has had
// nothing for a while.
func TestSpare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(1)
		s := newStore(&away{}, newSharedFetches(), 1, known{}, &m)
		defer s.close()
		mode := graph.Out
		want := func(job uint64, i int32, n int) any {
			t.Helper()
			x := &row{x: make([]float64, n*n)}
			f := core.FactsOf(x)
			o := &operand{Ref: transport.Ref{Job: job, I: i}, Type: f.Kind, Shape: f.Shape, Zero: true}
			var v any
			s.mu.Lock()
			if v = s.reuse(o, mode&graph.In != 0); v == nil {
				v = x
			}
			s.held[o.Ref] = &held{ref: o.Ref, value: v}
			s.addBytes(bytesOf(v))
			s.mu.Unlock()
			return v
		}
		spare := func() int64 {
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.recycled.bytes
		}
		kept := func(bytes int64) {
			t.Helper()
			if n := spare(); n != bytes {
				t.Errorf("%d bytes are kept, want %d", n, bytes)
			}
		}
		a, b := want(1, 0, 4), want(1, 1, 4)
		a.(*row).x[5] = 3
		s.held[transport.Ref{Job: 1, I: 1}].coming = true // what comes late comes into it
		s.forget(1)
		kept(128)
		if x := want(2, 0, 3); x == a {
			t.Error("a tile of another shape is used again")
		}
		if x := want(2, 1, 4); x != a {
			t.Error("a tile that was dropped is not used again")
		} else if x := x.(*row).x; x[5] != 3 {
			t.Error("a tile that is written over was made zero first")
		}
		if x := want(2, 2, 4); x == a || x == b {
			t.Error("a tile is used twice, or one into which something may still come")
		}
		s.drop(transport.Ref{Job: 2, I: 1})
		kept(128)
		a.(*row).x[5] = 3
		mode = graph.InOut
		if x := want(2, 4, 4); x != a || x.(*row).x[5] != 0 {
			t.Error("a tile that nobody has written is not zero")
		}
		s.drop(transport.Ref{Job: 2, I: 4})
		want(2, 3, 5) // which has no room beside it
		kept(0)
		s.forget(2)
		kept(400)
		time.Sleep(recycleTime - 1)
		want(3, 0, 2)
		time.Sleep(2)
		if n := spare(); n == 0 || n > 400-32 {
			t.Errorf("%d bytes are kept beside 32, after 400 at once", n)
		}
		s.forget(3)
		time.Sleep(recycleTime + 1)
		kept(0)
		want(4, 0, 4)
		s.held[transport.Ref{Job: 4, I: 1}] = &held{value: new(int)} // whose memory nobody can use
		s.drop(transport.Ref{Job: 4})
		kept(128)
		s.forget(4)
		time.Sleep(recycleTime + 1)
		kept(0)
	})
}

// moved is a cell that counts its copies.
type moved struct {
	cell
	copies int
}

func (m *moved) Snapshot() versions.Value {
	m.copies++
	return &moved{cell: m.cell}
}

// TestTake: a driver gets a version beside what the program's memory holds, and does not copy that
// first.
func TestTake(t *testing.T) {
	m := newMeter(1)
	s := newStore(&away{asked: func() {}}, newSharedFetches(), 1, known{values: map[string]reflect.Type{"*cluster.moved": reflect.TypeFor[moved]()}}, &m)
	defer s.close()
	v := &moved{}
	h := &home{value: v, retained: true, facts: core.FactsOf(v)}
	s.adopt(transport.Ref{Job: 1}, h)
	got := make(chan error, 1)
	s.fetchBeside(transport.Ref{Job: 1, Version: 1}, h, givers{}, func(err error) { got <- err })
	if err := <-got; err == nil {
		t.Error("nobody has the version, and it has come")
	}
	if x := s.held[transport.Ref{Job: 1}].value; x == any(v) || v.copies > 0 {
		t.Errorf("the version was to come into %p, and the program's memory is %p; copied %d times", x, v, v.copies)
	}
}

// late is a transport that gives values once it may.
type late struct {
	away
	may chan struct{}
}

func (l *late) Fetch(context.Context, string, transport.Ref, time.Duration, versions.Value) error {
	<-l.may
	return nil
}

// TestApart: while a version comes a task that makes it, and one that wants the next one, get memory of
// their own, and what has come is given to nobody.
func TestApart(t *testing.T) {
	for _, next := range []struct {
		name    string
		version uint32
		reads   bool
	}{{"the task writes the same version", 1, false}, {"the task reads a later version", 2, true}} {
		m := newMeter(1)
		l := &late{may: make(chan struct{})}
		s := newStore(l, newSharedFetches(), 1, known{values: map[string]reflect.Type{"*cluster.moved": reflect.TypeFor[moved]()}}, &m)
		v := &moved{}
		h := &home{value: v, retained: true, facts: core.FactsOf(v)}
		s.adopt(transport.Ref{Job: 1}, h)
		told := make(chan error, 1)
		s.fetchBeside(transport.Ref{Job: 1, Version: 1}, h, givers{From: []string{"a"}}, func(err error) { told <- err })
		into := s.held[transport.Ref{Job: 1}].value
		o := h.operand(transport.Ref{Job: 1, Version: next.version})
		ends := make(chan error, 1)
		got, later, err := s.want(o, givers{From: []string{"a"}}, next.reads, !next.reads, then(func(err error) { ends <- err }))
		if err != nil || got == into || got == any(v) {
			t.Errorf("%s: it gets the value into which another version comes (%v)", next.name, err)
		}
		close(l.may)
		if later {
			if err := <-ends; err != nil {
				t.Errorf("%s: %v", next.name, err)
			}
		}
		if err := <-told; err == nil {
			t.Errorf("%s: what has come is nobody's, and it is said to be there", next.name)
		}
		if n, want := s.currentBytes(), bytesOf(v); n != want {
			t.Errorf("%s: the store has %d bytes, want %d", next.name, n, want)
		}
		s.close()
	}
}

// slow is a cell into which another one is copied until it is told that it has been.
type slow struct {
	cell
	copied chan struct{} // nil: at once
}

func (v *slow) Snapshot() versions.Value { return &slow{cell: v.cell} }

func (v *slow) Restore(from versions.Value) {
	if v.copied != nil {
		<-v.copied
	}
	v.cell = from.(*slow).cell
}

// TestCopyHere: while a node copies a version that it has into another datum, nobody writes over it:
// neither who brings a later version into the program's memory or into that of the version, nor a task
// that works there, nor one that gets the memory of what was dropped.
func TestCopyHere(t *testing.T) {
	ref := func(version uint32) transport.Ref { return transport.Ref{Job: 1, Version: version} }
	comes := func(begin func(waiter)) {
		there := make(chan struct{})
		begin(then(func(error) { close(there) }))
		<-there
	}
	for name, over := range map[string]func(s *store, h *home){
		"brought": func(s *store, h *home) {
			comes(func(w waiter) { s.bringHome(ref(1), h, givers{From: []string{"a"}}, true, true, w) })
		},
		"kept base": func(s *store, h *home) {
			h.base = &slow{}
			comes(func(w waiter) { s.bringHome(ref(1), h, givers{From: []string{"a"}}, true, true, w) })
		},
		"fetched": func(s *store, h *home) {
			s.held[ref(0)].home = nil
			comes(func(w waiter) { s.want(&operand{Ref: ref(1)}, givers{From: []string{"a"}}, true, false, w) })
		},
		"written": func(s *store, h *home) { s.beginWrite(ref(0)) },
		"wanted": func(s *store, h *home) {
			s.held[ref(0)].home = nil
			s.want(&operand{Ref: ref(1)}, givers{}, false, true, nil)
		},
		"dropped":   func(s *store, h *home) { s.held[ref(0)].home = nil; s.drop(ref(0)) },
		"forgotten": func(s *store, h *home) { s.held[ref(0)].home = nil; s.forget(1) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMeter(1)
				l := &late{may: make(chan struct{})}
				close(l.may)
				s := newStore(l, newSharedFetches(), 1, known{}, &m)
				defer s.close()
				v, into := &slow{}, &slow{copied: make(chan struct{})}
				h := &home{value: v, retained: true, facts: core.FactsOf(v)}
				s.adopt(ref(0), h)
				go func() {
					if !s.values.copy(into, ref(0)) {
						t.Error("it is not there")
					}
				}()
				synctest.Wait()
				done := false
				go func() {
					over(s, h)
					done = true
				}()
				synctest.Wait()
				if done {
					t.Error("it may be written over while it is copied")
				}
				if name != "dropped" && name != "forgotten" && s.values.copy(&slow{}, ref(0)) != (name == "brought") {
					t.Error("it can be copied while it is written over")
				}
				close(into.copied)
				synctest.Wait()
				if !done {
					t.Error("nobody copies it, and it is not given back")
				}
			})
		})
	}
}

// TestZero: what no task has written is zero for those that read it, also where a task was to write it
// that has not begun, and while another version comes.
func TestZero(t *testing.T) {
	m := newMeter(1)
	l := &late{may: make(chan struct{})}
	s := newStore(l, newSharedFetches(), 1, known{values: map[string]reflect.Type{"*cluster.cell": reflect.TypeFor[cell]()}}, &m)
	defer s.close()
	defer close(l.may)
	o := &operand{Ref: transport.Ref{Job: 1}, Type: "*cluster.cell", Shape: "\b", Mode: graph.Out, Zero: true}
	want := func(reads bool) *cell {
		t.Helper()
		v, later, err := s.want(o, givers{}, reads, !reads, then(func(error) {}))
		if later || err != nil {
			t.Fatalf("it is to come: %v", err)
		}
		return v.(*cell)
	}
	want(false).n = 3 // memory that was used before
	first, second := want(true), want(true)
	if first.n != 0 || second != first {
		t.Errorf("it is %d, and in one place for both that read it: %t", first.n, second == first)
	}
	s.want(&operand{Ref: transport.Ref{Job: 1, Version: 1}}, givers{From: []string{"a"}}, true, false, then(func(error) {}))
	first.n = 3
	if now := want(true); now.n != 0 || now == first {
		t.Errorf("while another version comes it is %d, in the memory of that: %t", now.n, now == first)
	}
}
