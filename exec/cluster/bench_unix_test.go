//go:build unix

package cluster_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/web"
	"github.com/tessera-la/tessera/versions"
)

// overHTTP returns what makes nodes that are connected by HTTP on the loopback address.
func overHTTP() func(name string) (transport.Transport, error) {
	var first []string
	return func(name string) (transport.Transport, error) {
		t, err := web.New(web.Options{Name: name, Listen: "127.0.0.1:0", Plain: true, Peers: first, Greet: 50 * time.Millisecond, Timeout: 10 * time.Second,
			Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
		if err == nil && first == nil {
			first = []string{web.Address(t)}
		}
		return t, err
	}
}

// counting counts the messages of a node.
type counting struct {
	transport.Transport
	sent *atomic.Int64
}

func (c *counting) Send(ctx context.Context, to string, m []byte) error {
	c.sent.Add(1)
	return c.Transport.Send(ctx, to, m)
}

func (c *counting) Prompt(to string) bool { return c.Transport.(transport.Prompt).Prompt(to) }

// processor returns the processor time of this process.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkEmpty is what an empty task costs, all in, with the driver and its agents in this
// process: 256 chains of tasks. Where other programs run, cpu-ns/task is what counts.
func BenchmarkEmpty(b *testing.B) {
	for _, how := range []struct {
		name   string
		agents int
		node   func(string) (transport.Transport, error)
	}{{"process", 1, transport.NewNetwork().Node}, {"process", 4, transport.NewNetwork().Node}, {"http", 2, overHTTP()}} {
		b.Run(fmt.Sprintf("%s/agents=%d", how.name, how.agents), func(b *testing.B) {
			var sent atomic.Int64
			node := func(name string) (transport.Transport, error) {
				t, err := how.node(name)
				return &counting{t, &sent}, err
			}
			n := startOn(b, node, how.agents, func(o *cluster.Options) { o.Idle = true })
			data := make([]graph.Datum, 256)
			for i := range data {
				data[i].Value, data[i].Bytes = &number{}, 8
			}
			p := &mix{Reads: 1, Writes: 1}
			const each = 1 << 15
			tasks, before := 0, processor()
			for b.Loop() {
				j := n.NewJob(context.Background())
				for i := range each {
					s := graph.Spec{Op: n.op, Params: p, Operands: []graph.Operand{{Datum: &data[i%len(data)], Mode: graph.InOut}}}
					if _, err := j.Submit(&s); err != nil {
						b.Fatal(err)
					}
				}
				if err := j.Wait(); err != nil {
					b.Fatal(err)
				}
				tasks += each
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(tasks), "ns/task")
			b.ReportMetric(float64((processor()-before).Nanoseconds())/float64(tasks), "cpu-ns/task")
			b.ReportMetric(float64(tasks)/b.Elapsed().Seconds(), "tasks/s")
			var in int64
			for _, u := range n.Usage() {
				in += u.In
			}
			b.ReportMetric(float64(in)/8/float64(tasks), "fetches/task")
			b.ReportMetric(float64(sent.Load())/float64(tasks), "messages/task")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkHandOver is how long it takes, over HTTP on the loopback address, from the end of
// a task to the start of the one that waits for it on another node, the fetch of its operand
// included.
func BenchmarkHandOver(b *testing.B) {
	var ends, starts [2]time.Time // of the tasks of each node
	var ways []time.Duration
	op := &versions.Op{Name: "hand", NewParams: func() any { return new(mix) }, Versions: []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
		node := c.Params.(*mix).Seed
		starts[node] = time.Now()
		if !ends[1-node].IsZero() {
			ways = append(ways, starts[node].Sub(ends[1-node])) // one task at a time
		}
		ends[node] = time.Now()
		return nil
	}}}}
	n := startOn(b, overHTTP(), 2, func(o *cluster.Options) { o.Idle, o.Owner, o.Ops = true, true, []*versions.Op{op} })
	data := [2]graph.Datum{{Value: &number{}, Bytes: 8, Owner: 0}, {Value: &number{}, Bytes: 8, Owner: 1}}
	for b.Loop() {
		j := n.NewJob(context.Background())
		ends = [2]time.Time{}
		for i := range 512 {
			to := i % 2
			s := graph.Spec{Op: op, Params: &mix{Seed: uint64(to)}, Operands: []graph.Operand{{Datum: &data[1-to], Mode: graph.In}, {Datum: &data[to], Mode: graph.InOut}}}
			if _, err := j.Submit(&s); err != nil {
				b.Fatal(err)
			}
		}
		if err := j.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(ways)
	b.ReportMetric(float64(ways[len(ways)/2].Nanoseconds())/1e3, "µs/median")
	b.ReportMetric(float64(ways[len(ways)*9/10].Nanoseconds())/1e3, "µs/90%")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkLevels is a million empty tasks on four agents in this process: all of them the
// driver's, or children of a thousand that are, on the agents' own workers, or on these and on
// nodes below them.
func BenchmarkLevels(b *testing.B) {
	for _, how := range []struct {
		name            string
		parents         []string
		tasks, children int
	}{
		{"flat", []string{"", "", "", ""}, 1_000_000, 0},
		{"nested", []string{"", "", "", ""}, 1000, 1000},
		{"domains", []string{"", "", "agent0", "agent1"}, 1000, 1000},
	} {
		b.Run(how.name, func(b *testing.B) {
			x := startTreeOn(b, transport.NewNetwork().Node, func(o *cluster.Options) { o.Idle, o.Ops = true, []*versions.Op{fanOp(nil)} }, how.parents...)
			before, tasks, own := processor(), 0, 0
			for b.Loop() {
				own += crowd(b, x.nodes, how.tasks, how.children)
				tasks += how.tasks * max(how.children, 1)
			}
			b.ReportMetric(float64((processor()-before).Nanoseconds())/float64(tasks), "cpu-ns/task")
			b.ReportMetric(float64(tasks)/b.Elapsed().Seconds(), "tasks/s")
			b.ReportMetric(float64(own)/float64(b.N), "tasks-of-driver")
			b.ReportMetric(0, "ns/op")
		})
	}
}
