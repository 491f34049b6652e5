//go:build unix

package cluster_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/cluster/clustertest"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport/web"
	"github.com/tessera-la/tessera/versions"
)

// environment has what an agent in a process of its own is: its name, the name of the one above
// it, and the address of another one, with a bar between them.
const environment = "TEST_CLUSTER_AGENT"

// TestMain makes this process an agent if it is to be one.
func TestMain(m *testing.M) {
	if words := strings.Split(os.Getenv(environment), "|"); len(words) == 3 {
		if err := beAgent(words[0], words[1], words[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// overLoopback returns options of a node over HTTP, with the ops of trees. Who is killed is seen by
// the connections that its machine refuses, and not by Timeout: that is long, as who only stands
// still on a busy machine must not be lost.
func overLoopback(name, peer string) (o cluster.Options, err error) {
	w := web.Options{Name: name, Listen: "127.0.0.1:0", Plain: true, Greet: 50 * time.Millisecond, Timeout: time.Minute, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	if peer != "" {
		w.Peers = []string{peer}
	}
	if o.Transport, err = web.New(w); err != nil {
		return o, err
	}
	o.Runtime, err = exec.NewLocal(exec.Options{Workers: 2, Float: true})
	o.Ops = []*versions.Op{splitOp(new([4]atomic.Int64), func() {}), fanOp(nil), whoOp()}
	o.Values, o.Errors, o.Log, o.Idle = []versions.Value{&numbers{}}, []error{&fatal{}}, w.Log, name == "driver"
	return o, err
}

// beAgent is an agent until standard input ends.
func beAgent(name, parent, peer string) error {
	o, err := overLoopback(name, peer)
	if err != nil {
		return err
	}
	defer o.Runtime.Close()
	o.Parent = parent
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	fmt.Println(web.Address(o.Transport))
	if err := cluster.Serve(ctx, o); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// who is the parameter of op "who".
type who struct {
	Children int
	Dir      string // where each process that has a child makes a file
	End      int64  // when children give up, by the system's clock: the end of the job's context is not told
}

// together is in how many processes children of op "who" run before any of them ends.
const together = 3

// whoOp returns op "who": a task with so many children, each of which says in its number in which
// process it runs. It ends when there are children in enough of them.
func whoOp() *versions.Op {
	op := &versions.Op{Name: "who", NewParams: func() any { return new(who) }}
	op.Versions = []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
		v, p := c.Args[0].(*numbers), c.Params.(*who)
		if p.Children == 0 {
			v.n[0] = uint64(os.Getpid())
			if err := os.WriteFile(filepath.Join(p.Dir, strconv.Itoa(os.Getpid())), nil, 0o666); err != nil {
				return err
			}
			for {
				all, err := os.ReadDir(p.Dir)
				switch {
				case err != nil || len(all) >= together:
					return err
				case time.Now().UnixNano() > p.End:
					return fmt.Errorf("children run in %d processes, want %d", len(all), together)
				}
				select {
				case <-c.Ctx.Done():
					return context.Cause(c.Ctx)
				case <-time.After(2 * time.Millisecond):
				}
			}
		}
		job, err := exec.Nested(c)
		if err != nil {
			return err
		}
		for i := range p.Children {
			d := &graph.Datum{Value: &numbers{v.n[i : i+1]}, Bytes: 8}
			if _, err := job.Submit(&graph.Spec{Op: op, Params: &who{0, p.Dir, p.End}, Operands: []graph.Operand{{Datum: d, Mode: graph.Out}}}); err != nil {
				return err
			}
		}
		return nil
	}}}
	return op
}

// processes are a driver, which is this process, and agents that are others.
type processes struct {
	*cluster.Driver
	ops    []*versions.Op
	agents map[string]*osexec.Cmd
	in     map[string]io.Closer
}

// startProcesses starts agents, each "name" or "name<parent", and a driver that knows of the
// first one only.
func startProcesses(t testing.TB, agents ...string) *processes {
	t.Helper()
	x := &processes{agents: map[string]*osexec.Cmd{}, in: map[string]io.Closer{}}
	first, direct := "", 0
	for _, a := range agents {
		name, parent, below := strings.Cut(a, "<")
		if !below {
			direct++
		}
		c := osexec.Command(os.Args[0])
		c.Env = append(os.Environ(), environment+"="+strings.Join([]string{name, parent, first}, "|"))
		c.Stderr = os.Stderr
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = in.Close()
			_ = c.Wait()
		})
		x.agents[name], x.in[name] = c, in
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = strings.TrimSpace(line)
		}
	}
	o, err := overLoopback("driver", first)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Runtime.Close() })
	if x.Driver, err = cluster.NewDriver(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	x.ops = o.Ops
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := x.Await(ctx, direct); err != nil {
		t.Fatal(err)
	}
	x.below(t, len(agents)-direct)
	return x
}

// below waits until so many nodes are below the driver's agents.
func (x *processes) below(t testing.TB, want int) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		nodes, workers := 0, 0
		for _, u := range x.Usage() {
			if !u.Lost {
				nodes, workers = nodes+u.BelowNodes, workers+u.Below
			}
		}
		if nodes == want && workers == 2*want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d nodes with %d workers are below the agents, want %d", nodes, workers, want)
		}
	}
}

// who has tasks with 16 children each run, which end when some have begun on nodes below, too.
func (x *processes) who(t *testing.T) {
	t.Helper()
	data, dir, end := make([]graph.Datum, 12), t.TempDir(), time.Now().Add(5*time.Minute)
	job := x.NewJob(t.Context())
	for i := range data {
		data[i].Value, data[i].Bytes = &numbers{make([]uint64, 16)}, 128
		if _, err := job.Submit(&graph.Spec{Op: x.ops[2], Params: &who{16, dir, end.UnixNano()}, Operands: []graph.Operand{{Datum: &data[i], Mode: graph.InOut}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	for i := range data {
		if n := data[i].Value.(*numbers).n; slices.Contains(n, 0) || slices.Contains(n, uint64(os.Getpid())) {
			t.Fatal("a child did not run on an agent")
		}
	}
}

// program has a random program of tasks in tasks run, and something happen meanwhile.
func (x *processes) program(t *testing.T, seed uint64, sleep int64, meanwhile func()) {
	t.Helper()
	p := newNested(x.ops[0], rand.New(rand.NewPCG(seed, 3)), 8, 40, 3, sleep)
	job := x.NewJob(context.Background())
	for _, s := range p.specs {
		if _, err := job.Submit(s); err != nil {
			t.Fatal(err)
		}
	}
	meanwhile()
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	p.check(t)
}

// TestProcesses: a tree of agents that are processes, connected by HTTP. Children run on all of
// them. A cancelled job ends on all of them; then the next one runs. A leaf is killed in the
// middle of a program, and then an agent that drives others: what comes out is the same.
func TestProcesses(t *testing.T) {
	x := startProcesses(t, "head0", "head1", "leaf0<head0", "leaf1<head1", "twig<leaf1")
	x.who(t)
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Millisecond) {
		var names []string
		below := 0
		for _, u := range x.Usage() {
			names, below = append(names, u.Node), below+u.BelowNodes
		}
		if slices.Sort(names); slices.Equal(names, []string{"driver", "head0", "head1"}) && below == 3 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the usage is that of %v, and of %d nodes below", names, below)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	job := x.NewJob(ctx)
	p := newNested(x.ops[0], rand.New(rand.NewPCG(1, 3)), 8, 60, 3, 20_000)
	for i, s := range p.specs {
		if i == len(p.specs)-1 { // without the last one the job does not end
			time.Sleep(50 * time.Millisecond)
			cancel()
		}
		if _, err := job.Submit(s); err != nil {
			break // which Wait says again
		}
	}
	if err := job.Wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled job ends with %v", err)
	}
	x.program(t, 2, 0, func() {})

	kill := func(name string) func() {
		return func() {
			time.Sleep(20 * time.Millisecond)
			_ = x.agents[name].Process.Kill()
		}
	}
	x.program(t, 3, 1000, kill("leaf0"))
	x.below(t, 2)
	x.program(t, 4, 1000, kill("head1"))
	x.below(t, 1) // leaf1 is the driver's, and twig is below it
	x.program(t, 5, 0, func() {})
}

// TestRootMemory: what a driver allocates depends on its tasks, not on how many children these
// have on other nodes.
func TestRootMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("twenty thousand tasks over HTTP")
	}
	x := startProcesses(t, "head0", "head1", "leaf0<head0", "leaf1<head1")
	few, _ := x.heap(t, 40, 10)
	many, _ := x.heap(t, 40, 500)
	t.Logf("40 tasks: with 10 children each the driver allocates %d bytes, with 500 %d", few, many)
	if many > 2*few+1<<20 {
		t.Errorf("with 10 children each the driver allocates %d bytes, with 500 %d", few, many)
	}
}

// heap runs so many tasks with so many children each, and returns how many bytes the driver has
// allocated meanwhile, and had at most.
func (x *processes) heap(t testing.TB, tasks, children int) (allocated, most uint64) {
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	over, looked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(looked)
		for {
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
			select {
			case <-over:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	crowd(t, &nodes{&clustertest.Cluster{Driver: x.Driver}, x.ops[1]}, tasks, children)
	close(over)
	<-looked
	return now.TotalAlloc - before.TotalAlloc, most
}

// BenchmarkLevelsHTTP is [BenchmarkLevels] with agents that are processes, connected by HTTP. It
// has the memory of the driver, too, and its processor time: with cores enough for all, that is
// what bounds the tasks a second.
func BenchmarkLevelsHTTP(b *testing.B) {
	heads, tree := []string{"a0", "a1", "a2", "a3"}, []string{"a0", "a1", "a2<a0", "a3<a1"}
	for _, how := range []struct {
		name            string
		agents          []string
		tasks, children int
	}{{"flat", heads, 1_000_000, 0}, {"nested/10", heads, 1000, 10}, {"nested/1000", heads, 1000, 1000}, {"domains/10", tree, 1000, 10}, {"domains/1000", tree, 1000, 1000}} {
		b.Run(how.name, func(b *testing.B) {
			x := startProcesses(b, how.agents...)
			allocated, most, tasks, before := uint64(0), uint64(0), 0, processor()
			for b.Loop() {
				a, m := x.heap(b, how.tasks, how.children)
				allocated, most, tasks = a, max(most, m), tasks+how.tasks*max(how.children, 1)
			}
			b.ReportMetric(float64(tasks)/b.Elapsed().Seconds(), "tasks/s")
			b.ReportMetric(float64((processor()-before).Nanoseconds())/float64(tasks), "driver-cpu-ns/task")
			b.ReportMetric(float64(allocated)/1e6, "MB-allocated")
			b.ReportMetric(float64(most)/1e6, "MB-heap")
			b.ReportMetric(0, "ns/op")
		})
	}
}
