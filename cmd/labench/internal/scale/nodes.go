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

// placement says who chooses the nodes of tasks: a policy, or, with distributed matrices, the owners of tiles.
type placement struct {
	byOwner bool          // each task goes to the node that has its tile
	policy  dispatch.Kind // if not byOwner
}

// byPolicies returns the placements by policies.
func byPolicies(policies ...dispatch.Kind) []placement {
	all := make([]placement, len(policies))
	for i, p := range policies {
		all[i].policy = p
	}
	return all
}

// String returns the word for p in --sched.
func (p placement) String() string {
	if p.byOwner {
		return setup.Owner
	}
	return p.policy.String()
}

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
	if err := c.splitLocal(); err != nil {
		return nil, err
	}
	if err := c.check(op, oversubscribed, given); err != nil || !c.Asked() {
		return nil, err
	}
	if numbers, err = c.count(); err != nil {
		return nil, err
	}
	return numbers, c.open()
}

// splitLocal makes local:4 --nodes 1:4 of local:1:4.
func (c *onNodes) splitLocal() error {
	if len(c.Words) != 1 {
		return nil
	}
	span, local := strings.CutPrefix(c.Words[0], "local:")
	if !local || !strings.Contains(span, ":") {
		return nil
	}
	if c.numbers != "" {
		return fmt.Errorf("--cluster %s and --nodes exclude each other: give one", c.Words[0])
	}
	numbers, err := parseRanges("cluster", span)
	if err == nil {
		c.numbers, c.Words = span, []string{fmt.Sprint("local:", slices.Max(numbers))}
	}
	return err
}

// check returns what is wrong with the flags.
func (c *onNodes) check(op string, oversubscribed bool, given func(flag string) bool) error {
	if err := c.Check(op, given); err != nil {
		return err
	}
	switch {
	case !c.Asked() && (c.numbers != "" || c.machine != ""):
		return errors.New("--nodes and --machine are for --cluster")
	case !c.Asked():
	case oversubscribed || given("devices"):
		return errors.New("--cluster excludes --oversubscribe and --devices")
	case c.Local == 0 && given("workers"):
		return errors.New("--cluster and --workers exclude each other: each agent has its own")
	case c.machine != "" && !(c.Distributed && slices.Contains(planner.Distributable(), op)):
		return errors.New("--machine is for --distributed: the plan is of distributed matrices, of " + strings.Join(planner.Distributable(), ", "))
	}
	return nil
}

// count returns the numbers of nodes: those of --nodes, or 1, 2, 4 … and all.
func (c *onNodes) count() ([]int, error) {
	if c.numbers == "" {
		return doublings(max(c.Known(), 1)), nil
	}
	numbers, err := parseRanges("nodes", c.numbers)
	if err != nil {
		return nil, err
	}
	if most := slices.Max(numbers); c.OverMPI && most > c.Known() {
		return nil, fmt.Errorf("--nodes has %d, and there are %d ranks beside rank 0, which drives: start %d", most, c.Known(), most+1)
	}
	return numbers, nil
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
	f := c.First(n)
	f.Idle, f.Policied, f.Each.Versions = true, !byOwner, strings.Join(only, ",")
	s.Trace = new(trace.Recorder)
	f.Trace, s.Only, s.Workers = s.Trace, nil, 0
	d, leave, err := f.Drive(ctx, a, c.each*n, nil, s.Sched, s.ByPriority)
	if err == nil {
		ops.Attach(s, f, d)
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
