package ops

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/explain"
	"github.com/tessera-la/tessera/cmd/labench/internal/node"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
)

// NewCommand returns the command that runs one operation.
func NewCommand(a *cli.App, op bench.Operation) *cobra.Command {
	var f flags
	var tags bool
	cmd := f.Command(op, func(ctx context.Context) error {
		if tags {
			return setup.TagsInfo(a, f.JSON)
		}
		if f.cluster.Job > 0 {
			ctx, a.Job = node.UntilAgentEnds(ctx), true
		}
		return runOp(ctx, a, &f)
	})
	f.record.Register(cmd)
	f.cluster.Register(cmd.Flags())
	cmd.Flags().IntVar(&f.cluster.Job, "job", 0, "be this job of the agent --name: end when standard input ends, too, and tell how far it is")
	_ = cmd.Flags().MarkHidden("job") // for the agent only
	cmd.Flags().BoolVar(&tags, "tags-info", false, "say which build tags this program has, and what each adds")
	return cmd
}

// runOp runs one operation and prints the outcome.
func runOp(ctx context.Context, a *cli.App, f *flags) error {
	if asked, err := f.Help(a); asked {
		return err
	}
	f.passOn()
	check := func() error {
		_, err := f.Parse(f.check())
		return cli.Usage(err)
	}
	return f.cluster.OnRanks(ctx, a, f.Local(), check, func() error { return measureOp(ctx, a, f) })
}

// Usage returns what each node has done so far.
func Usage(d *cluster.Driver) (all []bench.Node) {
	for _, u := range d.Usage() {
		n := bench.Node{Name: u.Node, Workers: u.Workers, Lost: u.Lost, Tasks: u.Tasks, In: u.In, Out: u.Out, Busy: u.Busy.Seconds(), Starving: u.Starving.Seconds(), Memory: u.Memory, Peak: u.Peak}
		for _, x := range u.Ran {
			n.Ran = append(n.Ran, bench.Ran{Op: x.Op, Version: x.Version, Tasks: x.Tasks, Seconds: x.Took.Seconds()})
		}
		for _, x := range u.Flows {
			n.Flows = append(n.Flows, bench.Flow{From: x.From, Matrix: x.Data, Values: x.Values, Bytes: x.Bytes, Seconds: x.Took.Seconds(), Waiting: x.Waited.Seconds()})
		}
		all = append(all, n)
	}
	return all
}

// Attach makes s run on the nodes of d.
func Attach(s *bench.Spec, c *node.ClusterFlags, d *cluster.Driver) {
	s.Devices = "" // each node has its own devices
	s.Runtime, s.Distributed, s.Owner, s.Output = d, c.Distributed, c.ByOwner(), c.Output
	s.Speeds = func() []float64 { return c.Speeds(d) }
	s.Nodes, s.Idle = func() []bench.Node { return Usage(d) }, c.Idle
	s.NoPeak = s.NoPeak || c.Local == 0 // the peak is that of this machine only
}

// measureOp is runOp on the process that drives.
func measureOp(ctx context.Context, a *cli.App, f *flags) error {
	s, profile, err := f.Open(a, f.check())
	if err != nil {
		return err
	}
	recorded, err := f.record.Begin(a, &s, f.cluster.Watch())
	if err != nil {
		return err
	}
	defer recorded.End()
	f.cluster.Trace = s.Trace
	d, leave, err := f.cluster.Drive(ctx, a, s.Workers, s.Resources, s.Sched, s.ByPriority)
	if err != nil {
		return err
	}
	defer leave()
	if d != nil {
		Attach(&s, &f.cluster, d)
	}
	if f.cluster.Job > 0 {
		s.Progress = teller(a.Out)
	}
	bar := f.Progress(a, &s, s.Op)
	if bar != nil && d != nil {
		bar.Nodes = &report.Census{There: func() []string { return f.cluster.Computing(d) }}
	}
	r, err := bench.Run(ctx, s)
	bar.End()
	if r.Cluster != nil {
		explain.NewNodesAccount(s, r).Explain(r.Cluster)
	}
	if ctx.Err() == nil {
		profile.Keep(a)
	}
	if err != nil {
		return err
	}
	defer a.Asides().Hold()() // until the report is complete
	if f.JSON {
		if f.cluster.Job > 0 {
			err = reportForPeople(a, s.WithDefaults(), r)
		}
		err = errors.Join(err, a.Object(r))
	} else {
		err = Print(a, s.WithDefaults(), r)
	}
	if err == nil {
		err = recorded.Show(a, f.JSON)
	}
	if err == nil {
		err = recorded.Keep(a, f.JSON, s.WithDefaults(), &r)
	}
	if err == nil {
		err = r.Wrong()
	}
	return err
}
