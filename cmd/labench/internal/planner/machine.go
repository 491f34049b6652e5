package planner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/calibrate"
	"github.com/tessera-la/tessera/cmd/labench/internal/node"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/exec/sim/machinefile"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/quiet"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/kernels/op"
)

// machineFlags are the flags of labench machine.
type machineFlags struct {
	types   []string
	sizes   string
	devices string
	workers int
	each    time.Duration
	cluster node.ClusterFlags
}

// NewMachineCommand returns the command labench machine.
func NewMachineCommand(a *cli.App) *cobra.Command {
	f := &machineFlags{}
	cmd := &cobra.Command{
		Use:   "machine FILE",
		Short: "Measure this machine, for labench plan",
		Long: `Measure this machine, and write what was measured to FILE for labench plan: how
long the tile operations take on one core alone and on all at once, out of the
cache and from memory, and what a task costs beside.

With --devices accelerators, too: their versions of the operations, and copies
to them and back. FILE then plans for runs with the same --devices.

With --cluster the links between the nodes, too: nodes fetch tiles from one
another. FILE then describes all nodes, their cores as fast as those here.`,
		Example: `  labench machine here.toml
  labench machine gpu.toml --devices auto
  labench machine two.toml --cluster local:2
  labench machine nodes.toml --cluster 10.0.0.1:7400 --certs certs/laptop`,
		Args: cli.OneArg("want one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runMachine(cmd.Context(), a, f, args[0], cmd.Flags().Changed)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	f.types = []string{"f64"}
	fl.Var(cli.NewWordList(&f.types), "type", "element types: "+strings.Join(bench.Types(), ", "))
	fl.StringVar(&f.sizes, "nb", "", "tile sizes, as in 64,128,256 (default 32 to 512)")
	fl.IntVar(&f.workers, "workers", 0, "workers (default one per core)")
	fl.StringVar(&f.devices, "devices", "none", "accelerators to measure: "+setup.DeviceWords)
	fl.DurationVar(&f.each, "each", 150*time.Millisecond, "time for each program and tile size")
	f.cluster.RegisterNodes(fl, "measure links between nodes: local:N starts N agents here; slurm, a TOML file that lists agents, or addresses of some",
		"agents to wait for (default as many as --cluster names)", "with --cluster: compute on agents only, as is the default with local:N")
	return cmd
}

// options returns what is to be measured, or everything that is wrong with the command line.
func (f *machineFlags) options(file string, given func(flag string) bool) (calibrate.Options, error) {
	var errs cli.Problems
	var err error
	o := calibrate.Options{Types: f.types, Workers: f.workers, Each: f.each}
	for _, t := range f.types {
		if !slices.Contains(bench.Types(), t) {
			errs.Note(&cli.ListError{Flag: "type", Element: t, Allowed: strings.Join(bench.Types(), ", ")})
		}
	}
	if f.sizes != "" {
		o.Sizes, err = cli.ParseInts("nb", f.sizes, nil)
		errs.Note(err)
	}
	if f.workers < 0 {
		errs.Note(fmt.Errorf("--workers is %d, want at least 1, or 0 for one per core", f.workers))
	}
	if f.each <= 0 {
		errs.Note(fmt.Errorf("--each is %v, want some time, as in 150ms", f.each))
	}
	errs.Note(setup.RequestDevices(f.devices))
	errs.Target("", file)
	errs.Note(f.cluster.Check("", given))
	if f.cluster.Asked() && given("devices") {
		errs.Note(errors.New("--cluster and --devices exclude each other: each node sees to its own"))
	}
	if f.cluster.OverMPI {
		errs.Note(errors.New("--cluster mpi: links between ranks are not measured"))
	}
	return o, cli.Usage(cli.JoinLine(errs))
}

// runMachine measures the links to other nodes, if the flags ask for it, and then this machine. It writes the
// description to file.
func runMachine(ctx context.Context, a *cli.App, f *machineFlags, file string, given func(flag string) bool) (err error) {
	o, err := f.options(file, given)
	if err != nil {
		return err
	}
	setup.WarnNoDevice(a, f.devices)
	devices, err := op.OpenAccelerators(f.devices) // first, before the measurements take their time
	if err != nil {
		return err
	}
	defer func() {
		for _, x := range devices {
			err = errors.Join(err, x.Close())
		}
	}()
	line := report.NewStatus(a.Err)
	defer line.Clear()
	watch := quiet.Start()
	var agents *calibrate.Agents
	if f.cluster.Asked() {
		if agents, err = measureLinks(ctx, a, f, line); err != nil {
			return err
		}
	}
	o.Progress = func(done, total int) { line.Set("operations on tiles: %d of %d", done, total) }
	line.Set("operations on tiles")
	m, err := calibrate.Here(ctx, o)
	if err != nil {
		return err
	}
	if len(devices) > 0 {
		line.Set("devices")
	}
	if m.Kinds[0].Devices, err = measureDevices(ctx, a, o, devices, line); err != nil {
		return err
	}
	if l, ok := watch.Stop(); ok && l.Disturbs(m.Kinds[0].Cores) {
		a.Warn(report.Capital(l.String()) + " meanwhile, and what they took is in the times. Stop what else runs and measure again.")
		m.Source += ", " + l.String() + " meanwhile"
	}
	if agents != nil {
		if err := addAgents(ctx, a, m, *agents, line); err != nil {
			return err
		}
	}
	return cli.WriteWhole([]string{file}, func(to []io.Writer) error { return machinefile.Write(to[0], m) })
}

// addAgents turns m into a cluster with agents and prints what messages cost there.
func addAgents(ctx context.Context, a *cli.App, m *sim.Machine, agents calibrate.Agents, line *report.Status) error {
	line.Set("what messages cost, by plans in virtual time")
	if err := calibrate.Cluster(ctx, m, agents); err != nil {
		return err
	}
	line.Clear()
	w := &m.Network
	fmt.Fprint(a.Out, report.Wrapped("", fmt.Sprintf("while nodes compute, a message takes %.1f µs and a byte %.3f ns of a core on each side, and a message waits for it %.1f µs at most",
		1e6*w.Message, 1e9*w.Core, 1e6*w.Busy)))
	return nil
}

// measureDevices measures accelerators and prints their links.
func measureDevices(ctx context.Context, a *cli.App, o calibrate.Options, all []*cuda.Accelerator, line *report.Status) ([]sim.Device, error) {
	found, err := calibrate.Devices(ctx, o, all)
	line.Clear()
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(all, func(x *cuda.Accelerator) bool { _, here := x.Device().(*cuda.Simulated); return here }) {
		a.Warn("A simulated device computes on the cores that workers use. Plans take it for one beside them: they give it tasks that runs do not, and are too fast.")
	}
	for i := range found {
		d := &found[i]
		fmt.Fprint(a.Out, report.Wrapped(fmt.Sprintf("device %s: ", d.Name), fmt.Sprintf("%s for tiles; to it %.1f µs for a copy and %.2f GB/s, back %.1f µs and %.2f GB/s; %.1f µs for a launch",
			report.Bytes(float64(d.Memory)), 1e6*d.Latency, d.Bandwidth/1e9, 1e6*d.BackLatency, d.BackBandwidth/1e9, 1e6*d.Launch)))
	}
	return found, nil
}

// measureLinks measures the links between the nodes of a cluster and prints them.
func measureLinks(ctx context.Context, a *cli.App, f *machineFlags, line *report.Status) (x *calibrate.Agents, err error) {
	c := &f.cluster
	c.Distributed, c.Stay, c.Copies.Copies = true, true, cluster.Copies{Off: true}
	d, end, err := c.Drive(ctx, a, f.workers, nil, dispatch.Priority, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	names := c.Computing(d)
	if len(names) < 2 {
		return nil, fmt.Errorf("--cluster has %d node that computes, and a link is between two of them; more agents help, or --idle=false", len(names))
	}
	x = describeAgents(a, c, d)
	line.Set("links between %d nodes", len(names))
	if x.Links, err = calibrate.Links(ctx, d, names, f.each); err != nil {
		return nil, err
	}
	line.Clear()
	unlike, unsteady := printLinks(a, x.Links)
	if x.Load, err = calibrate.Loads(ctx, d, names, x.Links, f.each, func(done, total int) {
		line.Set("nodes that compute, and what messages take of them: %d of %d", done, total)
	}); err != nil {
		return nil, err
	}
	line.Clear()
	if unsteady {
		a.Warn("The median of fetches took more than 3 times as long as the best. Stop what else runs and measure again.")
	}
	if unlike {
		a.Warn("Links are unlike. The file has one for all nodes, the median.")
	}
	return x, nil
}

// describeAgents returns the agents of d, and warns of processors that are unlike this one.
func describeAgents(a *cli.App, c *node.ClusterFlags, d *cluster.Driver) *calibrate.Agents {
	x := &calibrate.Agents{Apart: c.Idle, Together: c.Local > 0 || allLoopback(c.Peers)}
	here, usage := topo.Detect().Brand, d.Usage()
	x.Own = usage[0].Workers
	for _, u := range usage[1:] {
		if u.Lost {
			continue
		}
		x.Workers = append(x.Workers, u.Workers)
		for _, k := range u.Kinds {
			if p := k.Target.Processor; k.Accelerator == "" && p != here {
				a.Warn(fmt.Sprintf("Node %s has another processor, %s. In the file its cores are as fast as those here.", u.Node, p))
			}
		}
	}
	return x
}

// printLinks prints links. It reports whether some are twice as fast as others, and whether some have been much slower
// than at their best.
func printLinks(a *cli.App, links []calibrate.Link) (unlike, unsteady bool) {
	slowest, fastest := math.Inf(1), 0.0
	for _, l := range links {
		fmt.Fprintf(a.Out, "%s to %s: latency %.1f µs (best %.1f), %.2f GB/s (best %.2f)\n", l.From, l.To,
			1e6*l.Latency.Median, 1e6*l.Latency.Best, l.Bandwidth.Median/1e9, l.Bandwidth.Best/1e9)
		slowest, fastest = min(slowest, l.Bandwidth.Median), max(fastest, l.Bandwidth.Median)
		unsteady = unsteady || l.Latency.Median > 3*l.Latency.Best || l.Bandwidth.Best > 3*l.Bandwidth.Median
	}
	return fastest > 2*slowest, unsteady
}

// allLoopback reports whether all addresses are loopback addresses.
func allLoopback(addresses []string) bool {
	for _, at := range addresses {
		host, _, err := net.SplitHostPort(at)
		if err != nil || !net.ParseIP(host).IsLoopback() {
			return false
		}
	}
	return len(addresses) > 0
}
