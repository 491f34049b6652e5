package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/transport/web"
	"github.com/tessera-la/tessera/transport/web/certs"
)

// NewClusterCommand returns the command labench cluster, with others as further subcommands.
func NewClusterCommand(a *cli.App, others ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Make certificates, and see which nodes are there",
		Example: `  labench cluster init certs --nodes node1,node2,laptop
  labench cluster status --cluster 10.0.0.1:7400 --certs certs/laptop`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Usage(&cli.UnknownError{What: "command", Word: args[0], Known: cli.CommandNames(cmd)})
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(newClusterInitCommand(a), newClusterStatusCommand(a))
	cmd.AddCommand(others...)
	return cmd
}

func newClusterInitCommand(a *cli.App) *cobra.Command {
	var nodes []string
	var valid time.Duration
	cmd := &cobra.Command{
		Use:   "init DIR",
		Short: "Make an authority in DIR, and certificates of nodes",
		Long: `Make an authority in DIR, and certificates of nodes in directories of their own.

Each node gets a copy of DIR/NODE, and uses it with --certs. DIR/ca.key stays
here: with it, anybody can be let in. Called again, init adds nodes for the same
authority.`,
		Example: `  labench cluster init certs --nodes node1,node2,laptop
  scp -r certs/node1 node1:certs
  labench agent --listen 10.0.0.1:7400 --certs certs          on node1`,
		Args: cli.OneArg("want one directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(nodes) == 0 {
				return cli.Usage(errors.New("--nodes names no node"))
			}
			for i, n := range nodes {
				if err := certs.CheckName(n); err != nil {
					return cli.Usage(fmt.Errorf("--nodes: %w", err))
				}
				if slices.ContainsFunc(nodes[:i], func(m string) bool { return strings.EqualFold(m, n) }) {
					return cli.Usage(fmt.Errorf("--nodes names %s twice", n))
				}
			}
			if valid <= 0 {
				return cli.Usage(fmt.Errorf("--valid is %v, want more than 0", valid))
			}
			if strings.ContainsFunc(args[0], unicode.IsControl) {
				return cli.Usage(fmt.Errorf("%q has control characters", args[0]))
			}
			return initCluster(a, args[0], nodes, valid)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().Var(cli.NewWordList(&nodes), "nodes", "names of nodes, those that drive included")
	cmd.Flags().DurationVar(&valid, "valid", 365*24*time.Hour, "how long their certificates are valid")
	return cmd
}

// initCluster makes certificates and prints what it made.
func initCluster(a *cli.App, dir string, nodes []string, valid time.Duration) error {
	made, err := certs.Init(dir, nodes, valid)
	if err != nil {
		return err
	}
	warnExposed(a, dir)
	if made {
		fmt.Fprintf(a.Out, "%s: an authority; its key stays here\n", dir)
	}
	for _, n := range nodes {
		fmt.Fprintf(a.Out, "%s: for node %s: copy it there, and use it with --certs\n", filepath.Join(dir, n), n)
	}
	return nil
}

func newClusterStatusCommand(a *cli.App) *cobra.Command {
	var f ClusterFlags
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "List the agents that are there, and those below them",
		Example: `  labench cluster status --cluster 127.0.0.1:7400 --agents 4`,
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.Check("status", cmd.Flags().Changed); err != nil {
				return cli.Usage(err)
			}
			if !f.Asked() {
				return cli.Usage(errors.New("--cluster names no node"))
			}
			return clusterStatus(cmd.Context(), a, &f)
		},
	}
	cmd.Flags().SortFlags = false
	f.RegisterNodes(cmd.Flags(), "addresses of agents, of which one is enough, or a TOML file that lists them, or local:N for a trial",
		"agents that are to be there (default as many as --cluster names)", "")
	return cmd
}

// clusterStatus lists agents. It returns an error if there are too few.
func clusterStatus(ctx context.Context, a *cli.App, f *ClusterFlags) error {
	f.Idle, f.aside = true, true
	d, end, err := f.Drive(ctx, a, 1, nil, dispatch.Priority, false)
	if err != nil {
		return err
	}
	select { // the nodes that other nodes know
	case <-time.After(f.greeting() * 3):
	case <-ctx.Done():
	}
	defer a.Asides().Hold()()
	agents := tree(slices.DeleteFunc(d.Usage()[1:], func(u cluster.Usage) bool { return u.Lost }), d.Below())
	width := 5
	for _, u := range agents {
		width = max(width, len(u.Node))
	}
	caps := []int64{0}
	for _, u := range agents {
		caps = append(caps, u.Memory)
	}
	bytes, at := report.BytesLike(caps...), web.Addresses(f.transport)
	fmt.Fprintf(a.Out, "%-*s  %-21s  workers    memory  jobs\n", width, "agent", "address")
	for _, u := range agents {
		memory := "no cap"
		if u.Memory > 0 {
			memory = bytes(u.Memory)
		}
		fmt.Fprintf(a.Out, "%-*s  %-21s  %7d  %8s  %4d\n", width, u.Node, at[strings.TrimSpace(u.Node)], u.Workers, memory, u.Jobs)
		if u.BelowNodes > 0 {
			what := fmt.Sprintf("below it %s with %s", report.Count(u.BelowNodes, "node"), report.Count(u.Below, "worker"))
			if u.BelowMemory > 0 {
				what += " and " + report.Bytes(float64(u.BelowMemory))
			}
			report.FprintWrapped(a.Out, "    ", what)
		}
		for i := range u.Kinds {
			what := kindText(&u.Kinds[i])
			if len(u.Kinds) > 1 {
				what = fmt.Sprintf("%d × %s", u.Kinds[i].Workers, what)
			}
			if i == 0 && u.Program != "" {
				what += "; " + u.Program
			}
			report.FprintWrapped(a.Out, "    ", what)
		}
	}
	return end()
}

// tree returns agents, each followed by the nodes below it, whose names are indented.
func tree(agents, below []cluster.Usage) (all []cluster.Usage) {
	for _, u := range agents {
		all = append(all, u)
		var next []cluster.Usage
		for _, b := range below {
			if b.Parent == u.Node {
				next = append(next, b)
			}
		}
		for _, b := range tree(next, below) {
			b.Node = "  " + b.Node
			all = append(all, b)
		}
	}
	return all
}

// kindText describes the workers of a node.
func kindText(k *cluster.Kind) string {
	t := &k.Target
	if k.Accelerator != "" {
		return fmt.Sprintf("%s, %s", cmp.Or(t.Processor, k.Accelerator), t.Kind)
	}
	what := t.Arch
	if t.Processor != "" {
		what = t.Processor + ", " + what
	}
	if isa := report.Vectors(&topo.Identity{Features: t.Features}); isa != "" {
		what += ", " + isa
	}
	if t.Ops != nil {
		what += ", for " + strings.Join(t.Ops, ", ")
	}
	return what
}
