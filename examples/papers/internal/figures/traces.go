package figures

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/exec/trace"
)

// COBI's two kinds of nodes, as series of these figures.
const (
	onXeons = "Xeons"
	onPhis  = "Xeon Phis"
)

// traced runs a program on COBI, with half of the nodes of each kind, and records it.
func traced(ctx context.Context, nodes int, r rates, change func(m *sim.Machine), plan func(p *program) ([]grid, func())) (outcome, *sim.Machine, error) {
	m := cobi(nodes, r)
	change(m)
	opt := options(m, dispatch.Locality, looking(m))
	opt.Record = true
	x, err := run(ctx, opt, 4*k, plan)
	return x, m, err
}

// kindOf returns the series of a worker's node: the first half of the nodes is of one kind.
func kindOf(m *sim.Machine, worker int) string {
	if worker < m.Nodes[0].Count*m.Kinds[0].Tasks() {
		return onXeons
	}
	return onPhis
}

// unlikeTrace is the content of figure 17 as numbers.
func unlikeTrace(ctx context.Context, r *Result) error {
	r.Chart.XLabel, r.Chart.YLabel = "seconds, in tenths of the run", "products that run, on average"
	x, m, err := traced(ctx, 2, nil, func(*sim.Machine) {}, product(32))
	if err != nil {
		return err
	}
	const parts = 10
	var busy [2][parts]float64
	free, width, first := 0.0, x.Seconds/parts, math.Inf(1)
	for _, e := range x.record.Events {
		first = min(first, e.Start.Seconds())
	}
	for _, e := range x.record.Events {
		free += (e.Start - e.Ready).Seconds()
		which := 0
		if kindOf(m, e.Worker) == onPhis {
			which = 1
		}
		begin, end := e.Start.Seconds()-first, e.End.Seconds()-first
		for i := range parts {
			busy[which][i] += max(0, min(end, float64(i+1)*width)-max(begin, float64(i)*width))
		}
	}
	for i, name := range []string{onXeons, onPhis} {
		for p, b := range busy[i] {
			r.add(name, math.Round((float64(p)+0.5)*width), b/width)
		}
	}
	r.published("tasks", "tasks", 32768, float64(x.tasks))
	r.published("tasks that are ready and wait, on average", "tasks", 1024, free/x.Seconds)
	r.claim("the Xeon executes eight products at a time, and the Xeon Phi four", busy[0][parts/2]/width > 7.5 && busy[1][parts/2]/width > 3.8, "%.1f and %.1f in the middle of the run", busy[0][parts/2]/width, busy[1][parts/2]/width)
	r.note("The paper shows a trace. There are 1024 chains of products, one for each block of the result; as long as none is at its end, one task of each is ready or runs. Here chains come to their ends one after the other, so that half of them are left on average.")
	return nil
}

// choleskyTrace is the content of figure 20 as numbers.
func choleskyTrace(ctx context.Context, r *Result) error {
	r.Chart.YLabel = "% of the time of all tasks that run at a time"
	ops := []string{"potrf", "trsm", "gemm"}
	x, m, err := traced(ctx, 8, cobiPotrf, gemmOnPhis, factored(32))
	if err != nil {
		return err
	}
	r.Chart.Categories = ops
	busy, count := map[string]float64{}, map[string]int{}
	for _, e := range x.record.Events {
		key := kindOf(m, e.Worker) + " " + strings.TrimSuffix(e.Op, "/f64")
		busy[key] += (e.End - e.Start).Seconds()
		count[key]++
	}
	for i, name := range []string{onXeons, onPhis} {
		all := x.Seconds * float64(m.Nodes[i].Count*m.Kinds[i].Tasks())
		for at, op := range ops {
			r.add(name, float64(at), 100*busy[name+" "+op]/all)
		}
	}
	others := count[onPhis+" potrf"] + count[onPhis+" trsm"]
	r.claim("Xeon Phis execute only gemm", others == 0 && count[onPhis+" gemm"] > 0, "%d of gemm and %d others; Xeons %d and %d", count[onPhis+" gemm"], others, count[onXeons+" gemm"], count[onXeons+" potrf"]+count[onXeons+" trsm"])
	r.published("tasks", "tasks", 32+32*31/2+32*31*33/6, float64(x.tasks))
	r.note("The paper shows a trace. It gives no number of tasks; the one beside ours is that of its program.")
	return nil
}

// choleskyGraph is the content of figure 21 as numbers: how many tasks of the graph are on each level.
func choleskyGraph(ctx context.Context, r *Result) error {
	r.Chart.XLabel, r.Chart.YLabel = "tasks before it on the longest path", "tasks"
	const blocks = 16
	opt := sim.Options{Record: true, Window: 1 << 30, Machine: &sim.Machine{
		Kinds: []sim.Kind{{Name: "x", Cores: 1, Rate: 1}}, Nodes: []sim.Nodes{{Kind: "x", Count: 1}}}}
	x, err := run(ctx, opt, 1, factored(blocks))
	if err != nil {
		return err
	}
	level := levels(x.record.Edges, x.tasks)
	last := 0
	var wide []int
	for _, l := range level {
		for len(wide) <= l {
			wide = append(wide, 0)
		}
		wide[l]++
		last = max(last, l)
	}
	most := 0
	for l, n := range wide {
		r.add("tasks on a level", float64(l), float64(n))
		most = max(most, n)
	}
	r.published("tasks", "tasks", 816, float64(x.tasks))
	r.claim("potrf, trsm and gemm of each step follow one another", last+1 == 3*blocks-2, "%d levels", last+1)
	slices.Sort(wide)
	r.note("The paper draws the graph. No level has more than %d tasks, and half of them have fewer than %d, where 8 nodes execute 32 at a time: that is why figure 19 has an end.", most, wide[len(wide)/2]+1)
	return nil
}

// levels returns the length of the longest path to each task of a job. The index is the number of the task
// minus one.
func levels(edges []trace.Edge, tasks int) []int {
	level := make([]int, tasks)
	before := make([][]int, tasks)
	for _, e := range edges {
		if int(e.To) <= tasks && int(e.From) <= tasks {
			before[e.To-1] = append(before[e.To-1], int(e.From-1))
		}
	}
	for t := range level { // a task has a larger number than its predecessors
		for _, b := range before[t] {
			level[t] = max(level[t], level[b]+1)
		}
	}
	return level
}
