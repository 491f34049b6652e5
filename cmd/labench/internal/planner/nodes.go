package planner

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/node"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
)

// clusterFlags describe the nodes of --cluster as a machine, by their speeds and links only.
type clusterFlags struct {
	node.ClusterFlags
	gflops float64
	rate   cli.Size
}

// register defines the flags on fl.
func (f *clusterFlags) register(fl *pflag.FlagSet) {
	f.RegisterNodes(fl, "instead of --machine, the nodes that a run with --distributed would have: a TOML file that lists them, local:N, or addresses of agents",
		"agents to wait for, with addresses (default as many as --cluster names)", "with --cluster: compute on agents only, as is the default with local:N")
	fl.Float64Var(&f.gflops, "gflops", 0, "with --cluster: GFLOP/s of a worker (default the file's, or else what this machine can do)")
	fl.Var(&f.rate, "link", "with --cluster: bytes a second that a node can get from others, as in 1.2GiB (default the file's, or else no limit)")
}

// check returns what is wrong with the flags.
func (f *clusterFlags) check(given func(flag string) bool) cli.Problems {
	var errs cli.Problems
	if errs.Note(f.Find(given)); errs == nil && !f.Asked() {
		errs.Note(errors.New("--cluster names no node"))
	}
	if f.Agents < 0 {
		errs.Note(fmt.Errorf("--agents is %d, want at least 0", f.Agents))
	}
	if !(f.gflops >= 0 && f.gflops <= 1e9) {
		errs.Note(fmt.Errorf("--gflops is %v, want more than 0", f.gflops))
	}
	return errs
}

// machine returns the nodes, that of the driver first. It starts nothing. If --cluster has addresses, it asks
// these agents. Unknown properties of a node are those of this machine.
func (f *clusterFlags) machine(ctx context.Context, a *cli.App, typ string) (*sim.Machine, error) {
	here := topo.Detect().Workers()
	all, apart, err := f.Members(ctx, a, here)
	if err != nil {
		return nil, err
	}
	const unlimited = 1e15
	m := &sim.Machine{Name: "the nodes of --cluster", Apart: apart, Network: sim.Network{Bandwidth: cmp.Or(float64(f.rate), float64(f.Link()), unlimited)}}
	m.Source = "every operation as fast as --gflops or the file says"
	each, why, err := f.perWorker(ctx, a, typ, here)
	if err != nil {
		return nil, err
	}
	m.Source += why
	if m.Source += "; messages take no time"; m.Network.Bandwidth == unlimited {
		m.Source += ", nor do values"
	}
	add := func(name string, workers int, gflops float64, memory cli.Size) {
		m.Kinds = append(m.Kinds, sim.Kind{Name: name, Cores: workers, Rate: gflops * 1e9, Memory: int64(memory)})
		m.Nodes = append(m.Nodes, sim.Nodes{Kind: name, Count: 1, Name: name})
	}
	if apart {
		add("driver", 1, max(each, 1), 0) // it computes only what no other node can
	}
	speed, workers := 0.0, 0
	for _, n := range all {
		speed, workers = speed+n.Speed, workers+n.Workers
	}
	for _, n := range all {
		gflops := n.GFLOPS / float64(n.Workers)
		if gflops == 0 && n.Speed > 0 {
			gflops = each * n.Speed / float64(n.Workers) * float64(workers) / speed
		}
		if gflops = cmp.Or(gflops, each); gflops == 0 {
			return nil, cli.Usage(fmt.Errorf("how fast is %s? --gflops says what a worker does, or the nodes file what a node does", n.Name))
		}
		add(n.Name, n.Workers, gflops, n.Memory)
	}
	return m, nil
}

// perWorker returns the GFLOP/s of a worker of this machine, 0 if they are not known, and why if they were measured.
func (f *clusterFlags) perWorker(ctx context.Context, a *cli.App, typ string, workers int) (gflops float64, why string, err error) {
	if f.gflops != 0 || a.NoPeak {
		return f.gflops, "", nil
	}
	peak, err := bench.Peak(ctx, typ, workers)
	if err != nil {
		return 0, "", err
	}
	gflops = peak.All / float64(workers)
	return gflops, ", or as the peak of a core here, " + report.Gflops(gflops) + " GFLOP/s", nil
}

// nodeAt returns the name of a node and its memory limit; "" and 0 if it has none.
func nodeAt(m *sim.Machine, i int) (name string, memory int64) {
	for _, g := range m.Nodes {
		if i < g.Count {
			for k := range m.Kinds {
				if m.Kinds[k].Name == g.Kind {
					memory = m.Kinds[k].Memory
				}
			}
			return g.Name, memory
		}
		i -= g.Count
	}
	return "", 0
}
