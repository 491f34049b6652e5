package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/jobs"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/transport/web"
)

// NewAgentCommand returns the command labench agent. check returns what is wrong with a submitted job.
func NewAgentCommand(a *cli.App, check func(*jobs.Spec) error) *cobra.Command {
	var f Flags
	var local setup.LocalFlags
	var memory cli.Size
	var attached bool
	var parent string
	var taking takingFlags
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Compute for programs on other nodes, until it is interrupted",
		Example: `  labench agent --listen 127.0.0.1:7400
  labench cholesky --cluster 127.0.0.1:7400         on both processes
  labench agent --listen 10.0.0.2:7400 --certs certs/n2 --peers 10.0.0.1:7400
  labench agent --listen 127.0.0.1:7401 --peers 127.0.0.1:7400 --parent node1
  labench agent --name node3 --peers nodes.toml     as the file says
  labench agent --resources knl.toml --versions knl --profile knl.json
  srun --ntasks-per-node=1 labench agent --peers slurm --certs certs`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			a.Agent, a.Attached = !attached, attached
			if attached {
				// Ctrl-C on a terminal reaches all of its processes. The process that started this one ends it.
				signal.Ignore(os.Interrupt)
				ctx = untilInputEnds(ctx)
			}
			if memory == 0 {
				memory = cli.Size(agentMemory(1))
			}
			if err := errors.Join(f.inJob(cmd.Flags().Changed), f.inFile(&parent, cmd.Flags().Changed)); err != nil {
				return cli.Usage(err)
			}
			return serve(ctx, a, &f, &local, &taking, check, parent, int64(memory))
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.Var(cli.NewWordList(&f.Peers), "peers", "addresses of other nodes, of which one is enough. Or a TOML file that lists them, or slurm: the nodes of this job (srun)")
	fl.StringVar(&parent, "parent", "", "name of the agent below which this one is: it executes children of that one's tasks, and nothing else")
	local.Register(fl)
	fl.Var(&memory, "memory", "at most so much of operands, as in 1.5GiB (default three quarters of the machine's memory)")
	fl.BoolVar(&attached, "attached", false, "end when standard input ends, too")
	f.register(fl, "127.0.0.1:7400")
	taking.register(fl)
	return cmd
}

// serve runs an agent until ctx ends. An interrupt is the regular end and no error.
func serve(ctx context.Context, a *cli.App, f *Flags, local *setup.LocalFlags, taking *takingFlags, check func(*jobs.Spec) error, parent string, memory int64) (err error) {
	if err := taking.check(f.certs); err != nil { // before any output says that there is an agent
		return err
	}
	local.Node = f.lasting()
	rt, end, err := local.Open(a)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	leaveRoom(len(rt.Workers()))
	f.memory = memory
	opt, err := f.join(a, rt)
	if err != nil {
		return err
	}
	below := ""
	if opt.Parent = parent; parent != "" {
		below = ", below " + parent
	}
	if opt.Memory = memory; memory > 0 {
		// The garbage collector keeps garbage within a quarter of that.
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(memory + memory/4 + 128<<20))
	}
	cores, devices := 0, ""
	for _, w := range rt.Workers() {
		if w.Accelerator == "" {
			cores++
		} else {
			devices += ", " + w.Accelerator
		}
	}
	most := ""
	if memory > 0 {
		most = ", at most " + report.Bytes(float64(memory)) + " of operands"
	}
	fmt.Fprintf(a.Out, "agent %s listens on %s, %s%s%s%s\n", f.Name, web.Address(opt.Transport), report.Workers(cores), devices, most, below)
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	taken, err := taking.take(ctx, a, f, web.Address(opt.Transport), check, opt.Log, fail)
	if err != nil {
		return errors.Join(err, opt.Transport.Close())
	}
	defer func() { err = errors.Join(err, taken()) }() // it reports whether taking jobs has failed
	if err := cluster.Serve(ctx, opt); !errors.Is(err, context.Cause(ctx)) {
		return err
	}
	return nil
}
