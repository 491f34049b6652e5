package calibrate

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/exec/sim/machinefile"
	"github.com/tessera-la/tessera/internal/clustertest"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/builtin"
	"github.com/tessera-la/tessera/transport"
	"go.uber.org/goleak"
)

// TestLinks: nodes fetch tiles from one another, all of them in turn, and what they took is said.
func TestLinks(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	ctx := t.Context()
	d := clustertest.Start(t, transport.NewNetwork().Node, 2, func(o *cluster.Options) {
		o.Ops, o.Values, o.Errors = builtin.NewTable().All(), kernels.Values(), kernels.Errors()
		if o.Transport.Self() == "driver" {
			o.Owner, o.Stay, o.Copies = true, true, cluster.Copies{Off: true}
		}
	}).Driver
	names := d.Nodes()
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
	product, byte, err := multiplies(ctx, d, names, 16, math.Inf(1), time.Microsecond)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fetched(d, names[0], names[1]).Values-came, int64(32*(warmUps+fewest)); got != want || product <= 0 || byte < 0 {
		t.Errorf("%s has fetched %d tiles from %s, want %d; a product takes %g s, and a byte %g s", names[1], got, names[0], want, product, byte)
	}
}

// TestCluster: the machine of a cluster has all nodes, their cores, and one link, and can be
// written and read.
func TestCluster(t *testing.T) {
	links := []Link{{Latency: Spread{1, 3}, Bandwidth: Spread{9, 4}}, {Latency: Spread{1, 2}, Bandwidth: Spread{9, 5}}, {Latency: Spread{1, 4}, Bandwidth: Spread{9, 6}}}
	for _, c := range []struct {
		x     Agents
		nodes []sim.Nodes
		net   sim.Network
	}{
		{Agents{Workers: []int{1, 1}, Own: 1, Apart: true, Together: true, Links: links, Load: Load{Byte: 0.2 + 2.0/(8*512*512), Product: 9}},
			[]sim.Nodes{{Kind: "here", Count: 1, Host: "here"}, {Kind: "1 worker", Count: 2, Host: "here"}}, sim.Network{Latency: 3, Bandwidth: 5, Core: 0.2, Message: 2}},
		{Agents{Workers: []int{2, 2, 8, 2}, Own: 2, Links: links, Load: Load{Product: 9}},
			[]sim.Nodes{{Kind: "here", Count: 1}, {Kind: "here", Count: 2}, {Kind: "8 workers", Count: 1}, {Kind: "here", Count: 1}}, sim.Network{Latency: 3, Bandwidth: 5, Message: 4}},
	} {
		m := &sim.Machine{Name: "x", Kinds: []sim.Kind{{Name: "here", Sockets: 1, Cores: 2, Rate: 1e9, Speeds: []sim.Speed{
			{Op: "gemm/f64", Version: "go", Points: []sim.Point{{Size: 256, Work: 2 << 24, Alone: 2, All: 3}, {Size: 256, Work: 1, Alone: 1, All: 1}}},
			{Op: "gemm/f64", Version: "avx2", Points: []sim.Point{{Size: 256, Work: 2 << 24, Alone: 1, All: 1}, {Size: 512, Work: 2 << 27, Alone: 8, All: 8}}},
		}}}, Nodes: []sim.Nodes{{Kind: "here", Count: 1}}}
		Cluster(m, c.x)
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
