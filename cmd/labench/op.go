package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/explain"
	"github.com/tessera-la/tessera/cmd/labench/internal/record"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
)

// opFlags is the command line of an operation, on this machine or on a cluster.
type opFlags struct {
	setup.OpFlags
	record  record.Flags
	cluster clusterFlags
}

// newOpCommand returns the command that runs one operation.
func newOpCommand(a *cli.App, op bench.Operation) *cobra.Command {
	var f opFlags
	var tags bool
	cmd := f.Command(op, func(ctx context.Context) error {
		if tags {
			return setup.TagsInfo(a, f.JSON)
		}
		if f.cluster.job > 0 {
			ctx, a.Job = untilAgentEnds(ctx), true
		}
		return runOp(ctx, a, &f)
	})
	f.record.Register(cmd)
	f.cluster.register(cmd.Flags())
	cmd.Flags().IntVar(&f.cluster.job, "job", 0, "be this job of the agent --name: end when standard input ends, too, and tell how far it is")
	_ = cmd.Flags().MarkHidden("job") // it is the agent's
	cmd.Flags().BoolVar(&tags, "tags-info", false, "say which build tags this program has, and what each adds")
	return cmd
}

// check returns what is wrong with the flags that are the run's and not the operation's.
func (f *opFlags) check() cli.Problems {
	errs := f.record.Check(f.JSON)
	errs.Note(f.cluster.check(f.Spec.Op, f.Given))
	if f.record.Replay != "" && (f.cluster.asked() || f.Resources != "" || f.Devices != "none") {
		errs.Note(errors.New("--record is of workers on one machine that are alike: not with --cluster, --resources or --devices"))
	}
	return errs
}

// runOp runs one operation and prints the outcome.
func runOp(ctx context.Context, a *cli.App, f *opFlags) error {
	if asked, err := f.Help(a); asked {
		return err
	}
	check := func() error {
		_, err := f.Parse(f.check())
		return cli.Usage(err)
	}
	return f.cluster.onRanks(ctx, a, f.Local(), check, func() error { return measureOp(ctx, a, f) })
}

// usageOf returns what each node has done so far.
func usageOf(d *cluster.Driver) (all []bench.Node) {
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

// measureOp is runOp where this process drives.
func measureOp(ctx context.Context, a *cli.App, f *opFlags) error {
	s, profile, err := f.Open(a, f.check())
	if err != nil {
		return err
	}
	recorded, err := f.record.Begin(a, &s, f.cluster.watch())
	if err != nil {
		return err
	}
	defer recorded.End()
	f.cluster.trace = s.Trace
	d, leave, err := f.cluster.drive(ctx, a, s.Workers, s.Resources, s.Sched, s.ByPriority)
	if err != nil {
		return err
	}
	defer leave()
	if d != nil {
		s.Devices = "" // each node has its own
		s.Runtime, s.Distributed, s.Output = d, f.cluster.distributed, f.cluster.output
		s.Speeds = func() []float64 { return f.cluster.speeds(d) }
		s.Nodes, s.Idle = func() []bench.Node { return usageOf(d) }, f.cluster.idle
		s.NoPeak = s.NoPeak || f.cluster.local == 0 // of this machine
	}
	if f.cluster.job > 0 {
		s.Progress = teller(a.Out)
	}
	bar := f.Progress(a, &s, s.Op)
	if bar != nil && d != nil {
		bar.Nodes = &report.Census{There: func() []string { return f.cluster.computing(d) }}
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
	defer a.Asides().Hold()() // until all of the report is there
	if f.JSON {
		if f.cluster.job > 0 {
			err = reportForPeople(a, s.WithDefaults(), r)
		}
		err = errors.Join(err, a.Object(r))
	} else {
		err = printReport(a, s.WithDefaults(), r)
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
