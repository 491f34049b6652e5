package calibrate

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/cluster/clustertest"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/exec/sim/machinefile"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/transport"
	"go.uber.org/goleak"
)

// TestLinks: nodes fetch tiles from one another, all of them in turn, and what they took is said.
func TestLinks(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	ctx := t.Context()
	d := clustertest.Start(t, transport.NewNetwork().Node, 2, func(o *cluster.Options) {
		o.Ops, o.Values, o.Errors = op.NewTable().All(), kernels.Values(), kernels.Errors()
		if o.Transport.Self() == "driver" {
			o.Owner, o.Stay, o.Copies = true, true, cluster.Copies{Off: true}
		}
	}).Driver
	names, began := d.Nodes(), time.Now()
	links, err := Links(ctx, d, names, time.Microsecond)
	if err != nil {
		t.Fatal(err)
	}
	for k, l := range links {
		if l.From != names[k] || l.To != names[(k+1)%3] {
			t.Errorf("link %d of %v: %s to %s", k, names, l.From, l.To)
		}
		if l.Latency.Best <= 0 || l.Latency.Median < l.Latency.Best || l.Bandwidth.Median <= 0 || l.Bandwidth.Best <= 0 {
			t.Errorf("%+v", l)
		}
		// Each of the two sizes was fetched some times, and as a whole.
		if got, want := fetched(d, l.From, l.To).Values, int64(2*(warmUps+fewest)); got != want {
			t.Errorf("%s has fetched %d values from %s, want %d", l.To, got, l.From, want)
		}
	}
	if len(links) != 3 {
		t.Errorf("%d links of three nodes", len(links))
	}
	// Each of 32 tiles comes once a turn, and then the one tile by which they are multiplied is there.
	came := fetched(d, names[0], names[1]).Values
	var x products
	asked := 0
	b := bed{Runtime: d, workers: []int{1, 1, 1}, own: 1, now: func() float64 { return time.Since(began).Seconds() }, rounds: rounds}
	b.cpu = func() (float64, bool) { asked++; return float64(asked), true }
	if err := x.measure(ctx, b, 16, math.Inf(1)); err != nil {
		t.Fatal(err)
	}
	if got, want := fetched(d, names[0], names[1]).Values-came, int64(32*rounds); got != want || asked != 2*repeats*(rounds-warmUps) || len(x.more) != rounds-warmUps {
		t.Errorf("%s has fetched %d tiles from %s, want %d; the driver's time was read %d times; products take %v", names[1], got, names[0], want, asked, x)
	}
	if want := 1. / (2 * 2 * 32); len(x.message) != 1 || x.message[0] != want { // tasks on two nodes, and their ends
		t.Errorf("a message takes %v, want %g", x.message, want)
	}
}

// TestCluster: the machine of a cluster has all nodes, their cores, and one link, and can be
// written and read.
func TestCluster(t *testing.T) {
	links := []Link{{Latency: Spread{1, 3}, Bandwidth: Spread{9e9, 4e9}}, {Latency: Spread{1, 2}, Bandwidth: Spread{9e9, 5e9}}, {Latency: Spread{1, 4}, Bandwidth: Spread{9e9, 6e9}}}
	for _, c := range []struct {
		x     Agents
		nodes []sim.Nodes
		net   sim.Network
	}{
		{Agents{Workers: []int{1, 1}, Own: 1, Apart: true, Together: true, Links: links},
			[]sim.Nodes{{Kind: "here", Count: 1, Host: "here"}, {Kind: "1 worker", Count: 2, Host: "here"}}, sim.Network{Latency: 3, Bandwidth: 5e9}},
		{Agents{Workers: []int{2, 2, 8, 2}, Own: 2, Links: links},
			[]sim.Nodes{{Kind: "here", Count: 1}, {Kind: "here", Count: 2}, {Kind: "8 workers", Count: 1}, {Kind: "here", Count: 1}}, sim.Network{Latency: 3, Bandwidth: 5e9}},
	} {
		m := &sim.Machine{Name: "x", Kinds: []sim.Kind{{Name: "here", Sockets: 1, Cores: 2, Rate: 1e9, Speeds: []sim.Speed{
			{Op: "gemm/f64", Version: "go", Points: []sim.Point{{Size: 256, Work: 2 << 24, Alone: 2, All: 3}, {Size: 256, Work: 1, Alone: 1, All: 1}}},
			{Op: "gemm/f64", Version: "avx2", Points: []sim.Point{{Size: 256, Work: 2 << 24, Alone: 1, All: 1}, {Size: 512, Work: 2 << 27, Alone: 8, All: 8}}},
		}}}, Nodes: []sim.Nodes{{Kind: "here", Count: 1}}}
		if err := Cluster(t.Context(), m, c.x); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(m.Nodes, c.nodes) || m.Network != c.net || m.Apart != c.x.Apart {
			t.Errorf("%+v: %+v", c.x, m)
		}
		var b bytes.Buffer
		if err := machinefile.Write(&b, m); err != nil {
			t.Fatal(err)
		}
		got, err := machinefile.Parse("x", b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if got.Count() != 1+len(c.x.Workers) || got.Network != c.net || got.Kinds[0].Tasks() != c.x.Own {
			t.Errorf("%+v", got)
		}
	}
}

// TestFit: what is measured on a machine in virtual time gives what messages cost there.
func TestFit(t *testing.T) {
	m := &sim.Machine{Apart: true,
		Kinds:   []sim.Kind{{Name: "two", Cores: 2, Rate: 100e9}, {Name: "one", Cores: 1, Rate: 100e9}},
		Nodes:   []sim.Nodes{{Kind: "two", Count: 1, Host: "h"}, {Kind: "one", Count: 2, Host: "h"}},
		Network: sim.Network{Latency: 4e-5, Bandwidth: 5e9}}
	for _, want := range []sim.Network{{Message: 5e-5, Core: 0.3e-9, Busy: 1e-3}, {Message: 1e-4, Core: 0.2e-9, Busy: 4e-4}, {}} {
		want.Latency, want.Bandwidth = m.Network.Latency, m.Network.Bandwidth
		var x Load
		workers := []int{1, 1}
		m.Network = want
		var p products
		if err := virtually(m, workers, func(b bed) error { return p.measure(t.Context(), b, largeTile, want.Bandwidth) }); err != nil {
			t.Fatal(err)
		}
		x.Message, x.Byte = want.Message, middle(p.more)
		number := func() (seconds float64) {
			if err := virtually(m, workers, func(b bed) error {
				took, err := interrupts(t.Context(), b)
				seconds = middle(took)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return seconds
		}
		x.Number = number()
		m.Network = sim.Network{Latency: want.Latency, Bandwidth: want.Bandwidth}
		if err := x.fit(t.Context(), m, workers); err != nil {
			t.Fatal(err)
		}
		// Not each wait has a time of its own: some messages come while others are handled.
		got, took := m.Network, number()
		if got.Message != want.Message || math.Abs(got.Core-want.Core) > 1e-11 || math.Abs(took-x.Number) > 0.1*x.Number {
			t.Errorf("%+v gives %+v, with which a number takes %g s, want %+v", x, got, took, want)
		}
	}
}
