package cluster

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// world is a directory, and the values that its nodes would have.
type world struct {
	t      *testing.T
	rng    *rand.Rand
	where  core.Directory
	data   map[*core.Entry]bool
	all    []*core.Entry
	truth  map[core.Instance]uint64 // what the sequential program has made
	copies map[*core.Entry]uint64   // what second copies hold
	id     graph.TaskID
	seeds  map[*core.Record]uint64
}

const worldNodes = 4 // agents 1 to 4; the driver is 0

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 11)), data: map[*core.Entry]bool{}, truth: map[core.Instance]uint64{}, copies: map[*core.Entry]uint64{}, seeds: map[*core.Record]uint64{}}
	for i := range 9 {
		e := &core.Entry{Ref: transport.Ref{Job: 1, I: int32(i)}}
		if i%2 == 0 {
			e.Set = 7
			w.truth[core.Instance{Of: e, Version: 0}] = 0
		} else {
			w.truth[core.Instance{Of: e, Version: 0}] = w.rng.Uint64()
			e.NoteHome(false)
		}
		w.data[e], w.all = true, append(w.all, e)
	}
	return w
}

// compute returns what a task makes of one of its data.
func (w *world) compute(r *core.Record, value func(core.Use) uint64, of *core.Entry) uint64 {
	h := w.seeds[r]
	for _, u := range r.Uses {
		if u.Mode&graph.In != 0 {
			h = (h ^ value(u)) * 0x9e3779b97f4a7c15
		}
	}
	return h + uint64(slices.Index(w.all, of))
}

// task has a node execute a random task.
func (w *world) task() {
	w.id++
	r := &core.Record{ID: w.id}
	w.seeds[r] = w.rng.Uint64()
	writes := false
	for _, k := range w.rng.Perm(len(w.all))[:1+w.rng.IntN(3)] {
		mode := []graph.Mode{graph.In, graph.Out, graph.InOut, graph.InOut}[w.rng.IntN(4)]
		writes = writes || mode != graph.In
		r.Uses = append(r.Uses, core.Use{Of: w.all[k], Version: w.all[k].Version, Mode: mode})
	}
	node := 1 + w.rng.IntN(worldNodes)
	for _, u := range r.Uses {
		if u.Mode == graph.In {
			u.Of.AddHolder(node)
			continue
		}
		w.truth[core.Instance{Of: u.Of, Version: u.Version + 1}] = w.compute(r, func(u core.Use) uint64 { return w.truth[core.Instance{Of: u.Of, Version: u.Version}] }, u.Of)
		w.where.RecordWrite(u.Of, node, r)
	}
	if w.rng.IntN(20) == 0 { // the program has waited for one
		w.all[w.rng.IntN(len(w.all))].NoteHome(true)
	}
}

// round takes replicas, as replication.go does.
func (w *world) round(nodes int) {
	for _, e := range w.all {
		if e.Unwritten() || e.IsReplicated(nodes) {
			continue
		}
		c := e.NewReplica(transport.Ref{Job: 7, I: int32(len(w.copies)), J: -1})
		for _, n := range w.rng.Perm(worldNodes) {
			if len(c.Holders) < nodes && (nodes > 1 || n+1 != e.Holders[0]) {
				c.Holders = append(c.Holders, n+1)
			}
		}
		w.copies[c] = w.truth[core.Instance{Of: e, Version: e.Version}]
		e.Replica = core.Replica{Entry: c, Version: e.Version}
	}
	if nodes > 1 {
		if n := core.FreeRecords(w.data); n > 0 {
			w.t.Fatalf("%d records are kept behind a round that is whole", n)
		}
	}
}

// kept returns how many records there are.
func kept(data map[*core.Entry]bool) int {
	all := map[*core.Record]bool{}
	for e := range data {
		for _, r := range e.Makers {
			all[r] = true
		}
	}
	delete(all, nil)
	return len(all)
}

// lose loses a node, and makes again what nobody has; ok says that it can be made.
func (w *world) lose(node int) (ok bool) {
	var lost []*core.Entry
	for _, e := range w.all {
		if e.LoseNode(node); e.Lost() {
			lost = append(lost, e)
		}
	}
	p, gone := core.PlanFor(lost)
	if gone != nil {
		if !gone.Lost() && gone.Maker(gone.Version) == nil && len(gone.Makers) > 0 {
			w.t.Fatal("something is gone that is there")
		}
		return false
	}
	got := map[core.Instance]uint64{}
	for x, s := range p.Sources {
		switch c := x.Of.Replica.Entry; {
		case len(s.Holders) == 0 || slices.Contains(s.Holders, node):
			w.t.Fatalf("version %d is to be had from %v", x.Version, s.Holders)
		case c != nil && s.Ref == c.Ref:
			got[x] = w.copies[c]
		default:
			got[x] = w.truth[x]
		}
	}
	for _, r := range p.Tasks {
		for _, u := range r.Uses {
			if u.Mode&graph.Out == 0 {
				continue
			}
			got[core.Instance{Of: u.Of, Version: u.Version + 1}] = w.compute(r, func(u core.Use) uint64 {
				x := core.Instance{Of: u.Of, Version: u.Version}
				v, there := got[x]
				if !there && (x.Version > 0 || x.Of.Set == 0) {
					w.t.Fatalf("a task is to read version %d, which is not there", x.Version)
				}
				return v
			}, u.Of)
		}
	}
	for _, e := range lost {
		x := core.Instance{Of: e, Version: e.Version}
		if got[x] != w.truth[x] {
			w.t.Fatalf("version %d is made again as %x, want %x", e.Version, got[x], w.truth[x])
		}
		e.Holders = append(e.Holders, 1+(node+w.rng.IntN(worldNodes-1))%worldNodes) // another one
	}
	return true
}

// TestSecondCopies: on random graphs what is lost is made again as the sequential program has
// made it, from second copies and records. With one node nothing is lost for good, whatever
// was freed; records are no more than tasks since the round. With two, that which is gone is
// said to be, and with all records nothing ever is.
func TestSecondCopies(t *testing.T) {
	gone := 0
	for seed := range uint64(300) {
		w := newWorld(t, seed)
		nodes := int(seed % 3) // 0: no copies
		since := 0
		for range 8 {
			for range w.rng.IntN(40) {
				w.task()
				since++
				if w.rng.IntN(10) > 0 {
					continue
				}
				if node := 1 + w.rng.IntN(worldNodes); !w.lose(node) {
					t.Fatalf("seed %d: something is gone after one loss", seed)
				}
				if nodes > 0 {
					w.round(nodes)
					since = 0
				}
			}
			if n := kept(w.data); nodes == 2 && n > since {
				t.Fatalf("seed %d: %d records", seed, n)
			}
			if nodes > 0 && w.rng.IntN(2) == 0 {
				w.round(nodes)
				since = 0
			}
		}
		for node := range worldNodes { // now all of them, one after the other
			if !w.lose(node + 1) {
				if nodes < 2 {
					t.Fatalf("seed %d: something is gone, and all records were kept", seed)
				}
				gone++
				break
			}
		}
	}
	if gone == 0 {
		t.Error("nothing was ever gone")
	}
}

// TestDue: rounds are not worth their while for little work or much data.
func TestDue(t *testing.T) {
	c := core.Copies{Records: 1000, Share: 0.02}
	bytes := func(n int64) func() int64 { return func() int64 { return n } }
	for _, x := range []struct {
		core.Effort
		want int
	}{
		{core.Effort{Tasks: 499, Exposed: core.MinExposed / 2, Agents: 2, Bytes: bytes(1)}, 0},
		{core.Effort{Tasks: 499, Exposed: 500 * time.Second, Agents: 2, Bytes: bytes(1)}, 1},
		{core.Effort{Tasks: 499, Exposed: 500 * time.Second, Agents: 2, Bytes: bytes(9e9)}, 1},
		{core.Effort{Tasks: 499, Exposed: 500 * time.Second, Agents: 2, Bytes: bytes(11e9)}, 0},
		{core.Effort{Tasks: 499, Exposed: 500 * time.Second, Agents: 2, Bytes: bytes(9e9), Overdue: true}, 0},
		{core.Effort{Tasks: 499, Exposed: 500 * time.Second, Agents: 2, Bytes: bytes(4e9), Overdue: true}, 2},
		{core.Effort{Tasks: 500, Agents: 2, Bytes: bytes(1e12)}, 2},
		{core.Effort{Tasks: 500, Agents: 1, Bytes: bytes(1)}, 0},
	} {
		if got := c.NodesDue(x.Effort); got != x.want {
			t.Errorf("%+v: copies on %d nodes, want %d", x.Effort, got, x.want)
		}
	}
	long := core.Effort{Tasks: 1e5, Exposed: 100 * time.Second, Agents: 2, Bytes: bytes(1)}
	if n := (&core.Copies{}).NodesDue(long); n != 0 {
		t.Errorf("copies on %d nodes that may have no room", n)
	}
	if long.Capped = true; (&core.Copies{}).NodesDue(long) != 2 {
		t.Error("no copies for many records, and there is room")
	}
	if long.Bytes = bytes(1e12); (&core.Copies{}).NodesDue(long) != 0 {
		t.Error("copies for records that are small beside the data")
	}
	if long.Bytes = bytes(1e9); (&core.Copies{}).NodesDue(long) != 1 {
		t.Error("no copies for much work, and there is room")
	}
	if (&core.Copies{Off: true}).NodesDue(core.Effort{Tasks: 1 << 30, Agents: 9}) != 0 {
		t.Error("copies are taken although they are off")
	}
}

// addOp adds what its other operands hold, and a number, to the first.
func addOp() *versions.Op {
	return &versions.Op{Name: "add", NewParams: func() any { return new(addend) }, Versions: []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
		p := c.Params.(*addend)
		time.Sleep(time.Duration(p.Sleep))
		x := c.Args[0].(*cell)
		x.n = 3*x.n + p.N
		for _, y := range c.Args[1:] {
			x.n += y.(*cell).n
		}
		return nil
	}}}}
}

type addend struct{ N, Sleep int64 }

// copyCluster starts agents and a driver.
func copyCluster(t *testing.T, agents int, c Copies, memory int64, log *slog.Logger) (d *Driver, kill []context.CancelFunc) {
	network := transport.NewNetwork()
	options := func(name string) Options {
		tr, err := network.Node(name)
		if err != nil {
			t.Fatal(err)
		}
		rt, err := exec.NewLocal(exec.Options{Workers: 2, Float: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { rt.Close() })
		return Options{Transport: tr, Runtime: rt, Ops: []*versions.Op{addOp()}, Values: []versions.Value{&cell{}}, Idle: true, Copies: c, Memory: memory, Log: log}
	}
	var served sync.WaitGroup
	for i := range agents {
		ctx, cancel := context.WithCancel(context.Background())
		kill = append(kill, cancel)
		o := options(string(rune('a' + i)))
		served.Go(func() { _ = Serve(ctx, o) })
	}
	d, err := NewDriver(options("driver"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.Close()
		for _, k := range kill {
			k()
		}
		served.Wait()
	})
	if err := d.Await(t.Context(), agents); err != nil {
		t.Fatal(err)
	}
	return d, kill
}

// TestRecords: of a long chain of updates in place few records are kept, and a node that is
// lost at its end takes nothing with it for good. Nodes keep no copies when all is over.
func TestRecords(t *testing.T) {
	tasks := 10_000
	if !testing.Short() {
		tasks = 50_000
	}
	const records, window = 1000, 200
	d, kill := copyCluster(t, 3, Copies{Records: records}, 0, slog.New(slog.NewTextHandler(io.Discard, nil)))
	d.opt.Window = window
	var values []versions.Shaped
	var data []graph.Datum
	for i := range 7 {
		v := &cell{}
		values = append(values, v)
		data = append(data, graph.Datum{Value: v, Bytes: 8, Key: graph.Key{Matrix: 1, I: int32(i)}})
	}
	k, err := d.Keep(values)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]int64, len(data))
	rng := rand.New(rand.NewPCG(1, 12))
	op, most := d.known.ops["add"], 0
	for range 2 { // jobs
		j := d.NewJob(context.Background())
		for i := range tasks / 2 {
			x, y, n := rng.IntN(len(data)), rng.IntN(len(data)), rng.Int64()
			s := graph.Spec{Op: op, Params: &addend{N: n}, Operands: []graph.Operand{{Datum: &data[x], Mode: graph.InOut}}}
			want[x] = 3*want[x] + n
			if y != x {
				s.Operands = append(s.Operands, graph.Operand{Datum: &data[y], Mode: graph.In})
				want[x] += want[y]
			}
			if _, err := j.Submit(&s); err != nil {
				t.Fatal(err)
			}
			if i%1000 == 999 {
				d.placing.Lock()
				all := map[*core.Entry]bool{}
				for _, e := range d.kept {
					all[e] = true
					if cap(e.Makers) > 4*records {
						t.Errorf("room for %d records of a datum", cap(e.Makers))
					}
				}
				most = max(most, kept(all))
				d.placing.Unlock()
			}
		}
		if err := j.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	if most > records+2*window || most == 0 {
		t.Errorf("%d records were kept, want at most %d", most, records+2*window)
	}
	t.Logf("%d of %d records were kept", most, tasks)
	kill[1]()
	for i, v := range values {
		var got cell
		if err := k.Fetch(context.Background(), v, &got); err != nil || got.n != want[i] {
			t.Errorf("datum %d is %d, want %d, error %v", i, got.n, want[i], err)
		}
	}
	k.Release()
	d.placing.Lock()
	defer d.placing.Unlock()
	if len(d.jobData) != 0 || len(d.kept) != 0 {
		t.Errorf("%d jobs and %d data are left", len(d.jobData), len(d.kept))
	}
}

// TestFetchCancelled: who fetches a value that nodes keep gets the cause when its context ends.
func TestFetchCancelled(t *testing.T) {
	d, _ := copyCluster(t, 1, Copies{}, 0, slog.New(slog.NewTextHandler(io.Discard, nil)))
	v := &cell{}
	k, err := d.Keep([]versions.Shaped{v})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Release()
	data := graph.Datum{Value: v, Bytes: 8, Key: graph.Key{Matrix: 1}}
	j := d.NewJob(context.Background())
	if _, err := j.Submit(&graph.Spec{Op: d.known.ops["add"], Params: &addend{N: 7}, Operands: []graph.Operand{{Datum: &data, Mode: graph.InOut}}}); err != nil {
		t.Fatal(err)
	}
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	mine := errors.New("mine")
	cancel(mine)
	var got cell
	if err := k.Fetch(ctx, v, &got); !errors.Is(err, mine) {
		t.Errorf("after the end of the context: %v", err)
	}
	if err := k.Fetch(context.Background(), v, &got); err != nil || got.n != 7 {
		t.Errorf("afterwards: %d, %v", got.n, err)
	}
}

// TestRecordsWork: rounds that work has begun, which free no records, do not put off those that do.
func TestRecordsWork(t *testing.T) { synctest.Test(t, recordsWork) } // in virtual time

func recordsWork(t *testing.T) {
	const records, window, tasks = 200, 20, 800
	d, _ := copyCluster(t, 2, Copies{Records: records, Share: 1}, 0, slog.New(slog.NewTextHandler(io.Discard, nil)))
	d.opt.Window = window
	v := &cell{}
	k, err := d.Keep([]versions.Shaped{v})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Release()
	data, most := graph.Datum{Value: v, Bytes: 8, Key: graph.Key{Matrix: 1}}, 0
	j := d.NewJob(context.Background())
	for range tasks {
		// As many as begin a round for their records take longer than what begins one for work.
		s := graph.Spec{Op: d.known.ops["add"], Params: &addend{Sleep: int64(2 * core.MinExposed / records * 3 / 2)}, Operands: []graph.Operand{{Datum: &data, Mode: graph.InOut}}}
		if _, err := j.Submit(&s); err != nil {
			t.Fatal(err)
		}
		d.placing.Lock()
		most = max(most, kept(map[*core.Entry]bool{d.kept[v]: true}))
		d.placing.Unlock()
	}
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	if most > records+2*window || most == 0 {
		t.Errorf("%d records of %d were kept, want at most %d", most, tasks, records+2*window)
	}
}

// TestCopiesLost: random programs with few records leave what they should when one agent is
// lost at any moment, with and without caps on memory; when two are, or the error says
// what is gone.
func TestCopiesLost(t *testing.T) {
	gone := 0
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 13))
		memory := int64(0)
		if seed%2 == 1 {
			memory = 8 * 24
		}
		d, kill := copyCluster(t, 4, Copies{Records: 10 + rng.IntN(60)}, memory, slog.New(slog.NewTextHandler(io.Discard, nil)))
		d.opt.Window = 60
		data, want := make([]graph.Datum, 12), make([]int64, 12)
		var values []versions.Shaped
		for i := range data {
			v := &cell{}
			if i%2 == 0 {
				values = append(values, v)
			} else {
				v.n = rng.Int64()
				want[i] = v.n
			}
			data[i] = graph.Datum{Value: v, Bytes: 8}
		}
		k, err := d.Keep(values)
		if err != nil {
			t.Fatal(err)
		}
		losses := 1 + int(seed/2%2)
		for i := range losses {
			defer time.AfterFunc(time.Duration(rng.IntN(25_000))*time.Microsecond, kill[i]).Stop()
		}
		j := d.NewJob(context.Background())
		for range 600 {
			x, y, n := rng.IntN(12), rng.IntN(12), rng.Int64()
			s := graph.Spec{Op: d.known.ops["add"], Params: &addend{N: n, Sleep: rng.Int64N(50_000)}, Operands: []graph.Operand{{Datum: &data[x], Mode: graph.InOut}}}
			want[x] = 3*want[x] + n
			if y != x {
				s.Operands = append(s.Operands, graph.Operand{Datum: &data[y], Mode: graph.In})
				want[x] += want[y]
			}
			if _, err = j.Submit(&s); err != nil {
				break
			}
		}
		err = j.Wait()
		for i := 0; i < len(data) && err == nil; i++ {
			got := data[i].Value.(*cell)
			if i%2 == 0 {
				got = &cell{}
				if err = k.Fetch(context.Background(), values[i/2], got); err != nil {
					break
				}
			}
			if got.n != want[i] {
				t.Errorf("seed %d: datum %d is %d, want %d", seed, i, got.n, want[i])
			}
		}
		var lost *NodeLostError
		switch {
		case err == nil:
		case errors.As(err, &lost) && lost.Data != "" && (losses > 1 || memory > 0):
			gone++
		default:
			t.Errorf("seed %d: %v", seed, err)
		}
		for _, u := range d.Usage() {
			for _, r := range u.Ran {
				if r.Op == "" {
					t.Errorf("seed %d: tasks without an op are counted: %+v", seed, r)
				}
			}
		}
		k.Release()
		d.Close()
		d.placing.Lock()
		for i, n := range d.nodes {
			left, stale := d.unavailable(n) != nil, 0
			if i < len(d.directory.Stale) {
				stale = len(d.directory.Stale[i])
			}
			if left && len(n.memory.Held)+stale > 0 {
				t.Errorf("seed %d: %d data and %d names to be dropped are left of node %d, which is lost", seed, len(n.memory.Held), stale, i)
			}
		}
		d.placing.Unlock()
	}
	t.Logf("in %d runs something was gone", gone)
}

// TestUnreachableHolder: a holder that a node cannot reach still has the version, unless the driver
// has lost that holder. A stand-in of a recovery can name a node that was lost while the recovery was
// planned. If it stayed a holder, the driver would send the task that reads the stand-in forever.
func TestUnreachableHolder(t *testing.T) {
	d, _ := copyCluster(t, 2, Copies{}, 0, slog.New(slog.NewTextHandler(io.Discard, nil)))
	j := d.NewJob(context.Background()).(*job)
	datum := graph.Datum{Value: &cell{}, Bytes: 8}
	s := graph.Spec{Op: d.known.ops["add"], Params: &addend{N: 1}, Operands: []graph.Operand{{Datum: &datum, Mode: graph.InOut}}}
	if _, err := j.Submit(&s); err != nil {
		t.Fatal(err)
	}
	for j.Completed() < 1 {
		time.Sleep(time.Millisecond)
	}
	j.mu.Lock()
	e := j.data.Of(&datum)
	e.Holders = []int{1}
	unreachable := missing{Ref: e.Ref, Unreachable: []string{d.nodes[1].name}}
	j.fetchFailed(e, 2, unreachable, errors.New("no route"))
	if e.Lost() {
		t.Error("a holder that one node cannot reach is not asked by others")
	}
	j.sched.RemoveNode(1)
	e.Holders = []int{1} // as in a plan that was made just before
	j.fetchFailed(e, 2, unreachable, errors.New("no route"))
	if !e.Lost() {
		t.Errorf("node 1 is lost and still a holder: %v", e.Holders)
	}
	e.Holders = []int{0}
	j.mu.Unlock()
}

// again is a log that counts the tasks that are executed again.
type again struct {
	mu    sync.Mutex
	tasks []int64
}

func (a *again) Enabled(context.Context, slog.Level) bool { return true }
func (a *again) WithAttrs([]slog.Attr) slog.Handler       { return a }
func (a *again) WithGroup(string) slog.Handler            { return a }
func (a *again) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(x slog.Attr) bool {
		if x.Key == "tasks" {
			a.mu.Lock()
			a.tasks = append(a.tasks, x.Value.Int64())
			a.mu.Unlock()
		}
		return true
	})
	return nil
}

// TestCopiesShorten: while tasks go on second copies are taken, also if all tasks were submitted
// before the first one began, and what is lost is made again from there. Nobody waits for a copy
// that nodes with enough to do do not take.
func TestCopiesShorten(t *testing.T) { synctest.Test(t, copiesShorten) } // in virtual time

func copiesShorten(t *testing.T) {
	var said again
	d, kill := copyCluster(t, 2, Copies{Share: 1}, 0, slog.New(&said))
	d.opt.Owner = true
	data, want := make([]graph.Datum, 8), make([]int64, 8)
	for i := range data {
		data[i] = graph.Datum{Value: &cell{}, Bytes: 8, Owner: int32(i % 2)}
	}
	j, rng := d.NewJob(context.Background()), rand.New(rand.NewPCG(1, 14))
	const tasks = 1200
	for i := range tasks {
		x := i % len(data)
		want[x] = 3*want[x] + int64(i)
		s := graph.Spec{Op: d.known.ops["add"], Params: &addend{N: int64(i), Sleep: int64(3*time.Millisecond) + rng.Int64N(2e6)}, Operands: []graph.Operand{{Datum: &data[x], Mode: graph.InOut}}}
		if _, err := j.Submit(&s); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	for j.Completed() < tasks*9/10 {
		time.Sleep(time.Millisecond)
	}
	if took, all := time.Since(began), tasks*9/10*4*time.Millisecond/4; took > all+all/10 { // on four workers
		t.Errorf("%v, want about %v: tasks have waited for copies", took, all)
	}
	kill[0]()
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	for i := range data {
		if got := data[i].Value.(*cell).n; got != want[i] {
			t.Errorf("datum %d is %d, want %d", i, got, want[i])
		}
	}
	said.mu.Lock()
	defer said.mu.Unlock()
	if len(said.tasks) == 0 || slices.Max(said.tasks) > tasks/2*2/3 { // it had half the data
		t.Errorf("%v tasks of %d were executed again", said.tasks, tasks)
	}
	t.Logf("%v tasks of %d were executed again", said.tasks, tasks)
}
