package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/transport/web"
)

// newAgentCommand returns the command labench agent.
func newAgentCommand(a *app) *cobra.Command {
	var f nodeFlags
	var workers int
	var resources string
	var memory size
	var attached bool
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Compute for programs on other nodes, until it is interrupted",
		Example: `  labench agent --listen 127.0.0.1:7400
  labench cholesky --cluster 127.0.0.1:7400         on both processes
  labench agent --listen 10.0.0.2:7400 --certs /etc/tessera --peers 10.0.0.1:7400`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			var declared []exec.Resource
			if resources != "" {
				if declared, err = readResources(resources); err != nil {
					return usage(err)
				}
			}
			ctx := cmd.Context()
			if attached {
				var stop context.CancelFunc
				ctx, stop = context.WithCancel(ctx)
				go func() {
					defer stop()
					_, _ = io.Copy(io.Discard, os.Stdin)
				}()
			}
			return a.serve(ctx, &f, workers, declared, int64(memory))
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringSliceVar(&f.peers, "peers", nil, "addresses of other nodes; who is told one of them learns of all")
	fl.IntVar(&workers, "workers", 0, "number of workers (default one per core)")
	fl.StringVar(&resources, "resources", "", "TOML file that declares workers of several kinds, instead of --workers")
	fl.Var(&memory, "memory", "at most so much of operands, as in 1.5GiB (default no cap)")
	fl.BoolVar(&attached, "attached", false, "end when standard input ends, too")
	f.register(fl, "127.0.0.1:7400")
	return cmd
}

// serve is an agent until ctx ends. That it is interrupted is how it ends.
func (a *app) serve(ctx context.Context, f *nodeFlags, workers int, resources []exec.Resource, memory int64) error {
	opt, err := f.join(a, workers, resources)
	if err != nil {
		return err
	}
	defer opt.Runtime.Close()
	if opt.Memory = memory; memory > 0 {
		// The collector keeps what it has yet to free within a quarter of that.
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(memory + memory/4 + 128<<20))
	}
	fmt.Fprintf(a.out, "agent %s listens on %s, %d workers\n", f.name, web.Address(opt.Transport), len(opt.Runtime.Workers()))
	if err := cluster.Serve(ctx, opt); !errors.Is(err, context.Cause(ctx)) {
		return err
	}
	return nil
}
