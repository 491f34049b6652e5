package main

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
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/transport/web"
	"github.com/tessera-la/tessera/transport/web/certs"
)

// newClusterCommand returns the command labench cluster.
func newClusterCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Make certificates, see which nodes are there, plan a run",
		Example: `  labench cluster init certs --nodes node1,node2,laptop
  labench cluster status --cluster 10.0.0.1:7400 --certs certs/laptop
  labench cluster plan lu -n 100000 --cluster nodes.toml`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(&unknownError{"command", args[0], names(cmd)})
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(newClusterInitCommand(a), newClusterStatusCommand(a), newClusterPlanCommand(a))
	return cmd
}

func newClusterInitCommand(a *app) *cobra.Command {
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
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(errors.New("want one directory"))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(nodes) == 0 {
				return usage(errors.New("--nodes names no node"))
			}
			for i, n := range nodes {
				if err := certs.CheckName(n); err != nil {
					return usage(fmt.Errorf("--nodes: %w", err))
				}
				if slices.ContainsFunc(nodes[:i], func(m string) bool { return strings.EqualFold(m, n) }) {
					return usage(fmt.Errorf("--nodes names %s twice", n))
				}
			}
			if valid <= 0 {
				return usage(fmt.Errorf("--valid is %v, want more than 0", valid))
			}
			if strings.ContainsFunc(args[0], unicode.IsControl) {
				return usage(fmt.Errorf("%q has control characters", args[0]))
			}
			return a.initCluster(args[0], nodes, valid)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().Var(newWordList(&nodes), "nodes", "names of nodes, those that drive included")
	cmd.Flags().DurationVar(&valid, "valid", 365*24*time.Hour, "how long their certificates are valid")
	return cmd
}

// initCluster makes certificates, and says what it made.
func (a *app) initCluster(dir string, nodes []string, valid time.Duration) error {
	made, err := certs.Init(dir, nodes, valid)
	if err != nil {
		return err
	}
	a.warnExposed(dir)
	if made {
		fmt.Fprintf(a.out, "%s: an authority; its key stays here\n", dir)
	}
	for _, n := range nodes {
		fmt.Fprintf(a.out, "%s: for node %s: copy it there, and use it with --certs\n", filepath.Join(dir, n), n)
	}
	return nil
}

// warnExposed warns of keys in a directory of certificates that others can read.
func (a *app) warnExposed(dir string) {
	if dir == "" {
		return
	}
	for _, path := range certs.Exposed(dir) {
		a.warn(fmt.Sprintf("others can read the key %s, and be this node: chmod 600 %s", path, path))
	}
}

func newClusterStatusCommand(a *app) *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "List the agents that are there",
		Example: `  labench cluster status --cluster 127.0.0.1:7400 --agents 4`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check("status", cmd.Flags().Changed); err != nil {
				return usage(err)
			}
			if !f.asked() {
				return usage(errors.New("--cluster names no node"))
			}
			return a.clusterStatus(cmd.Context(), &f)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.Var(newWordList(&f.words), "cluster", "addresses of agents, of which one is enough, or a TOML file that lists them, or local:N for a trial")
	fl.IntVar(&f.agents, "agents", 0, "agents that are to be there (default as many as --cluster names)")
	f.nodeFlags.register(fl, "")
	return cmd
}

// clusterStatus lists agents. The error is that of too few.
func (a *app) clusterStatus(ctx context.Context, f *clusterFlags) error {
	f.idle, f.aside = true, true
	d, end, err := f.drive(ctx, a, 1, nil, dispatch.Priority, false)
	if err != nil {
		return err
	}
	select { // those that others know
	case <-time.After(f.greeting() * 3):
	case <-ctx.Done():
	}
	defer a.asides().hold()()
	agents := d.Usage()[1:]
	width := 5
	for _, u := range agents {
		width = max(width, len(u.Node))
	}
	caps := []int64{0}
	for _, u := range agents {
		caps = append(caps, u.Memory)
	}
	bytes, at := bench.BytesLike(caps...), web.Addresses(f.transport)
	fmt.Fprintf(a.out, "%-*s  %-21s  workers    memory  jobs\n", width, "agent", "address")
	for _, u := range agents {
		if u.Lost {
			continue
		}
		memory := "no cap"
		if u.Memory > 0 {
			memory = bytes(u.Memory)
		}
		fmt.Fprintf(a.out, "%-*s  %-21s  %7d  %8s  %4d\n", width, u.Node, at[u.Node], u.Workers, memory, u.Jobs)
		if u.BelowNodes > 0 {
			what := fmt.Sprintf("below it %s with %s", count(u.BelowNodes, "node"), count(u.Below, "worker"))
			if u.BelowMemory > 0 {
				what += " and " + bench.Bytes(float64(u.BelowMemory))
			}
			fprintWrapped(a.out, "    ", what)
		}
		for i := range u.Kinds {
			what := kindText(&u.Kinds[i])
			if len(u.Kinds) > 1 {
				what = fmt.Sprintf("%d × %s", u.Kinds[i].Workers, what)
			}
			if i == 0 && u.Program != "" {
				what += "; " + u.Program
			}
			fprintWrapped(a.out, "    ", what)
		}
	}
	return end()
}

// kindText describes workers of a node.
func kindText(k *cluster.Kind) string {
	t := &k.Target
	if k.Accelerator != "" {
		return fmt.Sprintf("%s, %s", cmp.Or(t.Processor, k.Accelerator), t.Kind)
	}
	what := t.Arch
	if t.Processor != "" {
		what = t.Processor + ", " + what
	}
	if isa := vectors(&topo.Identity{Features: t.Features}); isa != "" {
		what += ", " + isa
	}
	if t.Ops != nil {
		what += ", for " + strings.Join(t.Ops, ", ")
	}
	return what
}
