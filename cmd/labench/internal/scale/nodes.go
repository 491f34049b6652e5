package scale

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/node"
	"github.com/tessera-la/tessera/cmd/labench/internal/ops"
	"github.com/tessera-la/tessera/cmd/labench/internal/planner"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/exec/sim/machinefile"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/topo"
)

// owner, among policies, stands for none: each task goes to the node that has its tile.
const owner dispatch.Kind = 1<<8 - 1

// onNodes is the nodes of a sweep. Numbers of workers are then numbers of nodes. The driver does not compute.
type onNodes struct {
	node.ClusterFlags
	numbers, machine string
	each             int          // workers of each node; 0: the agents' own
	planned          *sim.Machine // nil: there is no plan
}

// register defines the flags on fl.
func (c *onNodes) register(fl *pflag.FlagSet) {
	c.RegisterNodes(fl, "sweep over numbers of nodes: local:1:4 starts 1 to 4 agents here, each with --workers; or a TOML file that lists nodes, slurm, addresses of agents, or mpi, for the ranks that mpirun has started",
		"agents to wait for at most (default as many as --cluster names)", "")
	fl.StringVar(&c.numbers, "nodes", "", "with --cluster: numbers of nodes (default 1, 2, 4 … and all)")
	fl.BoolVar(&c.Distributed, "distributed", false, "with --cluster: matrices that are on the nodes only; --sched then may have owner, which is the default")
	fl.StringVar(&c.machine, "machine", "", "with --distributed: a file of labench machine --cluster; then the plan of each point is beside it")
}

// parse interprets the flags and returns the numbers of nodes. They are nil if the flags ask for no cluster.
func (c *onNodes) parse(op string, oversubscribed bool, given func(flag string) bool) (numbers []int, err error) {
	list := c.numbers
	if len(c.Words) == 1 {
		// local:1:4 is local:4 --nodes 1:4.
		if span, local := strings.CutPrefix(c.Words[0], "local:"); local && strings.Contains(span, ":") {
			if list != "" {
				return nil, fmt.Errorf("--cluster %s and --nodes exclude each other: give one", c.Words[0])
			}
			list = span
			if numbers, err = parseRanges("cluster", list); err != nil {
				return nil, err
			}
			c.Words = []string{fmt.Sprint("local:", slices.Max(numbers))}
		}
	}
	if err := c.Check(op, given); err != nil {
		return nil, err
	}
	switch {
	case !c.Asked():
		if list != "" || c.machine != "" {
			return nil, errors.New("--nodes and --machine are for --cluster")
		}
		return nil, nil
	case oversubscribed || given("devices"):
		return nil, errors.New("--cluster excludes --oversubscribe and --devices")
	case c.Local == 0 && given("workers"):
		return nil, errors.New("--cluster and --workers exclude each other: each agent has its own")
	case c.machine != "" && !(c.Distributed && slices.Contains(planner.Distributable(), op)):
		return nil, errors.New("--machine is for --distributed: the plan is of distributed matrices, of " + strings.Join(planner.Distributable(), ", "))
	}
	if numbers == nil {
		if list == "" {
			return doublings(max(c.Known(), 1)), c.open()
		}
		if numbers, err = parseRanges("nodes", list); err != nil {
			return nil, err
		}
	}
	if most := slices.Max(numbers); c.OverMPI && most > c.Known() {
		return nil, fmt.Errorf("--nodes has %d, and there are %d ranks beside rank 0, which drives: start %d", most, c.Known(), most+1)
	}
	return numbers, c.open()
}

// open reads the machine file, if there is one.
func (c *onNodes) open() (err error) {
	if c.machine != "" {
		c.planned, err = machinefile.Open(c.machine)
	}
	return err
}

// share sets the number of workers of each agent of local:N.
func (c *onNodes) share(workers []int, most int) error {
	switch {
	case len(workers) > 1:
		return errors.New("--workers is the number of each node: give one")
	case c.Local == 0:
	case len(workers) == 1:
		c.each = workers[0]
	default:
		c.each = max(topo.Detect().Workers()/most, 1)
	}
	return nil
}

// join makes s run on n nodes with these versions, all for none, until leave is called.
func (c *onNodes) join(ctx context.Context, a *cli.App, n int, byOwner bool, only []string, s *bench.Spec) (leave func() error, err error) {
	if c.Local > 0 {
		c.Local = n
	}
	c.Agents, c.Idle, c.Policied = n, true, !byOwner
	c.Admit = c.First(n)
	c.Each.Versions = strings.Join(only, ",")
	s.Trace = new(trace.Recorder)
	c.Trace, s.Only, s.Workers = s.Trace, nil, 0
	d, leave, err := c.Drive(ctx, a, c.each*n, nil, s.Sched, s.ByPriority)
	if err == nil {
		ops.Attach(s, &c.ClusterFlags, d)
	}
	return leave, err
}

// plan returns the planned GFLOP/s of s on n nodes, with the tile size that it had.
func (c *onNodes) plan(ctx context.Context, s bench.Spec, n int, sched string, nb int) (float64, error) {
	p := s.Problem
	p.NB = nb
	x, err := planner.Planned(ctx, p, c.planned, n, c.each, sched)
	return x.GFLOPS, err
}

// profiles has each agent of local:N keep a profile.
func (c *onNodes) profiles(path string) { c.Each = setup.LocalFlags{Profile: path} }
