package bench

import (
	"context"
	"errors"
	"strings"

	"github.com/tessera-la/tessera/cmd/labench/internal/plan"
)

// cluster stores what nodes did in the timed runs, and what the layout of distributed matrices required.
func (r *Result) cluster(ctx context.Context, s Spec, p problem, nodes []Node) error {
	if nodes == nil {
		return nil
	}
	r.Nodes, r.Cluster = nodes, &Cluster{}
	r.Versions = map[string]int{}
	for _, n := range nodes {
		r.Cluster.Moved += n.In
		for _, x := range n.Ran {
			op, _, _ := strings.Cut(x.Op, "/")
			r.Versions[op+"/"+x.Version] += x.Tasks
		}
	}
	mean := means(nodes)
	cost := func(op string) float64 { return mean[op] }
	c, known, err := p.count(ctx, plan.Options{Runtime: s.Runtime, Apart: s.Idle, Cost: cost, Most: 1 << 21})
	if many := (*plan.TooManyError)(nil); errors.As(err, &many) {
		r.Cluster.Uncounted = many.Error()
		return nil
	}
	if err != nil || !known {
		return err
	}
	r.Cluster.Path, r.Cluster.PathTasks = c.Path, c.Steps
	if s.Distributed && !s.Owner {
		r.Cluster.Uncounted = "a policy gave the tasks to nodes, and not the owners of tiles"
		return nil
	}
	if r.Cluster.Uncounted = changed(nodes); r.Cluster.Uncounted != "" { // the layout changed during the runs
		return nil
	}
	r.Cluster.Least = c.Moved * int64(s.Repeat)
	all := 0.0
	for _, n := range c.Nodes {
		all += n.Cost
	}
	owners := nodes
	if s.Idle {
		owners = nodes[1:]
	}
	if len(owners) == len(c.Nodes) && all > 0 { // no node joined or left
		for i := range owners {
			owners[i].Share = c.Nodes[i].Cost / all
		}
	}
	return nil
}
