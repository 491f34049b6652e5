package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/internal/report"
)

// NodesAccount accounts for the time of the nodes' workers in the timed runs. With T the time of these runs, wᵢ
// the number of workers of node i and bᵢ their time in tasks,
//
//	Σ wᵢ·T − Σ bᵢ = Σ losses
//
// Lost nodes do not count, nor does an idle driver, which executes only what no other node can.
type NodesAccount struct {
	ledger
	result  bench.Result
	nodes   []bench.Node  // without lost nodes and an idle driver
	workers int           // of all nodes
	took    time.Duration // of all timed runs together
	busy    time.Duration // of all workers, in tasks
	busiest *bench.Node   // the node with the most time in tasks per worker
}

// NewNodesAccount returns the account of result r, which nodes computed as s says.
func NewNodesAccount(s bench.Spec, r bench.Result) *NodesAccount {
	x := &NodesAccount{result: r}
	for _, t := range r.Times {
		x.took += t
	}
	for i, n := range r.Nodes {
		if n.Lost || i == 0 && s.Idle && len(r.Nodes) > 1 {
			continue
		}
		x.nodes = append(x.nodes, n)
		x.workers += n.Workers
	}
	perWorker := func(n *bench.Node) float64 { return n.Busy / float64(max(n.Workers, 1)) }
	for i := range x.nodes {
		if n := &x.nodes[i]; x.busiest == nil || perWorker(n) > perWorker(x.busiest) {
			x.busiest = n
		}
	}
	x.time = time.Duration(x.workers) * x.took
	var lost [3]time.Duration // of lossOperands, lossUneven and lossIdle
	for i := range x.nodes {
		n := &x.nodes[i]
		busy, waited := report.InSeconds(n.Busy), report.InSeconds(n.Starving)
		idle := max(time.Duration(n.Workers)*x.took-busy-waited, 0)
		// uneven is what the workers lack to be as busy as those of the busiest node.
		uneven := report.InSeconds(perWorker(x.busiest)*float64(n.Workers)) - busy - waited
		uneven = min(max(uneven, 0), idle)
		x.busy += busy
		lost[0], lost[1], lost[2] = lost[0]+waited, lost[1]+uneven, lost[2]+idle-uneven
	}
	for i, t := range lost {
		x.losses = append(x.losses, loss{lossOperands + lossKind(i), t})
	}
	x.sort()
	return x
}

// Explain stores the account in c.
func (x *NodesAccount) Explain(c *bench.Cluster) {
	c.Why = x.verdict()
	for _, l := range x.losses {
		c.Losses = append(c.Losses, bench.Loss{Kind: l.kind.String(), Share: x.share(l.time), Seconds: l.time.Seconds()})
	}
}

// verdict explains in words where the time went. The first element is general; the others are the losses worth
// saying, the largest first.
func (x *NodesAccount) verdict() []string {
	head := fmt.Sprintf("%s on %s were in tasks for %.0f %% of the time, which is the work of %.1f that never wait.",
		report.Workers(x.workers), report.Count(len(x.nodes), "node"), 100*x.share(x.busy),
		float64(x.workers)*x.share(x.busy))
	for _, n := range x.result.Nodes {
		if n.Lost {
			head += " " + n.Name + ", which is lost, does not count."
		}
	}
	reasons := x.reasons(x.reason)
	if len(reasons) == 0 {
		head += " Nothing worth mention is lost."
	}
	return append([]string{head}, reasons...)
}

// long reports whether the critical path takes most of a run.
func (x *NodesAccount) long() bool {
	c := x.result.Cluster
	return c.Path > longPath*x.took.Seconds()/float64(len(x.result.Times))
}

// wants returns 1 if larger tiles lessen a loss, -1 if smaller tiles do, and 0 if tile sizes do not matter to it.
func (x *NodesAccount) wants(k lossKind) int {
	switch {
	case k == lossOperands:
		return 1
	case k == lossUneven, k == lossIdle && x.long():
		return -1
	}
	return 0
}

// reason states the cause of a loss and what helps. It advises larger or smaller tiles, never both.
func (x *NodesAccount) reason(k lossKind) string {
	runs := float64(len(x.result.Times))
	// tileAdvice returns advice if the losses together want the tiles that this loss wants.
	tileAdvice := func(advice, otherwise string) string {
		if bench.HasTiles(x.result.Op) && x.tiles(x.wants) == x.wants(k) {
			return advice
		}
		return otherwise
	}
	switch k {
	case lossOperands:
		text := "tasks waited for operands of other nodes"
		if to, f := x.mostAwaited(); f.Waiting > 0 {
			text += fmt.Sprintf(", most on %s for %s of %s (%s)",
				to, matrixName(f.Matrix), f.From, report.Duration(f.Waiting))
		}
		return text + tileAdvice(". Fewer and larger tiles move less (--nb); a faster network moves them sooner.",
			". A faster network moves them sooner.")
	case lossUneven:
		text := fmt.Sprintf("nodes do not end together: %s was in tasks the longest, %s of each worker's %s a run",
			x.busiest.Name,
			report.Brief(report.InSeconds(x.busiest.Busy/float64(max(x.busiest.Workers, 1))/runs)),
			report.Brief(report.InSeconds(x.took.Seconds()/runs)))
		if n := x.busiest; n.Share > 0 {
			text += fmt.Sprintf(", with %.0f %% of the work and %.0f %% of the workers",
				100*n.Share, 100*float64(n.Workers)/float64(x.workers))
		}
		return text + tileAdvice(". More and smaller tiles divide better (--nb); a nodes file may give speeds.",
			". A nodes file may give speeds.")
	}
	if c := x.result.Cluster; c.Path > 0 {
		run := x.took.Seconds() / runs
		if x.long() {
			return fmt.Sprintf("no task could begin. The critical path alone takes %s of a run's %s: %sa larger problem.",
				report.Brief(report.InSeconds(c.Path)), report.Brief(report.InSeconds(run)),
				tileAdvice("smaller tiles (--nb), or ", ""))
		}
		return fmt.Sprintf("no task could begin. It is not the critical path, which takes %s of a run's %s, but the order, the beginning and the end, "+
			"where few tasks are left, and what passes between tasks: larger problems; --trace shows when.",
			report.Brief(report.InSeconds(c.Path)), report.Brief(report.InSeconds(run)))
	}
	return "no task could begin: few were ready at the beginning and at the end, or matrices came from this process and went back; --distributed makes them on the nodes."
}

// mostAwaited returns the flow for which workers waited longest, and the name of the node that waited.
func (x *NodesAccount) mostAwaited() (to string, most bench.Flow) {
	for _, n := range x.nodes {
		for _, f := range n.Flows {
			if f.Waiting > most.Waiting {
				to, most = n.Name, f
			}
		}
	}
	return to, most
}

// matrixName returns the name of a matrix, or "something" if it has none.
func matrixName(matrix string) string { return cmp.Or(matrix, "something") }

// Text writes the report of the account, in lines of at most 80 columns.
func (x *NodesAccount) Text(b *strings.Builder, p report.Paint) {
	x.table(b, p)
	x.versions(b, p)
	x.waits(b)
	x.moved(b)
	if c := x.result.Cluster; c.Path > 0 {
		b.WriteString(report.Wrapped(report.Label("path"), fmt.Sprintf(
			"%s of a run's %s: the critical path, %s that each take the mean time of their op",
			report.Brief(report.InSeconds(c.Path)),
			report.Brief(report.InSeconds(x.took.Seconds()/float64(len(x.result.Times)))), report.Count(c.PathTasks, "task"))))
	}
	x.ledger.table(b)
	b.WriteString(report.Wrapped(report.Label("why"), strings.Join(x.verdict(), " ")))
}

// table writes the table of the nodes, one line each: workers, tasks, times, bytes in and out, and peak memory.
func (x *NodesAccount) table(b *strings.Builder, p report.Paint) {
	var kept, flows []int64
	for _, n := range x.result.Nodes {
		kept, flows = append(kept, n.Peak), append(flows, n.In, n.Out)
	}
	most, moved := report.BytesLike(kept...), report.BytesLike(flows...)
	table := report.NewTable("and workers", -15, "tasks", 8, "in tasks", 8, "waiting", 8, "in", 8, "out", 8, "at most", 8)
	b.WriteString(p.Faint(report.Label("nodes") + table.Head()))
	for _, n := range x.result.Nodes {
		sum := 0
		for _, k := range n.Tasks {
			sum += k
		}
		name := fmt.Sprintf("%s %d", report.Clip(n.Name, 14-len(fmt.Sprint(n.Workers))), n.Workers)
		if n.Lost {
			name = "lost: " + n.Name
		}
		b.WriteString(report.Label("") + table.Row(name, sum,
			fmt.Sprintf("%.2f s", n.Busy), fmt.Sprintf("%.2f s", n.Starving), moved(n.In), moved(n.Out), most(n.Peak)))
	}
}

// versions writes which versions of each op ran, how often, for how long in total and on which nodes.
func (x *NodesAccount) versions(b *strings.Builder, p report.Paint) {
	type row struct {
		bench.Ran
		on []string
	}
	var rows []row
	for _, n := range x.result.Nodes {
		for _, r := range n.Ran {
			i := slices.IndexFunc(rows, func(y row) bool { return y.Op == r.Op && y.Version == r.Version })
			if i < 0 {
				rows, i = append(rows, row{Ran: bench.Ran{Op: r.Op, Version: r.Version}}), len(rows)
			}
			rows[i].Tasks += r.Tasks
			rows[i].Seconds += r.Seconds
			rows[i].on = append(rows[i].on, fmt.Sprintf("%s %d", report.Clip(n.Name, 20), r.Tasks))
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.Seconds, a.Seconds) })
	table := report.NewTable("op", -12, "version", -12, "tasks", 7, "time", 12, "  on", -4)
	b.WriteString(p.Faint(report.Label("versions") + table.Head()))
	times := report.Durations()
	if len(rows) > 0 {
		times = report.Durations(rows[0].Seconds)
	}
	for _, r := range rows {
		row := report.Label("") + strings.TrimSuffix(table[:4].Row(r.Op, cmp.Or(r.Version, "not known"), r.Tasks, times(r.Seconds)), "\n")
		b.WriteString(report.Wrapped(row+"   ", strings.Join(r.on, ", ")))
	}
}

// waits writes what each node waited for and from which nodes it came, the longest waits first.
func (x *NodesAccount) waits(b *strings.Builder) {
	const most = 4        // flows of each node
	const shortest = 1e-4 // seconds; a shorter wait is not worth a line
	name := "waited"
	for _, n := range x.result.Nodes {
		var all []string
		flows := slices.SortedStableFunc(slices.Values(n.Flows),
			func(a, b bench.Flow) int { return cmp.Compare(b.Waiting, a.Waiting) })
		for _, f := range flows[:min(len(flows), most)] {
			if f.Waiting >= shortest {
				all = append(all, fmt.Sprintf("%s for %s of %s",
					report.Brief(report.InSeconds(f.Waiting)), matrixName(f.Matrix), f.From))
			}
		}
		if all != nil {
			b.WriteString(report.Wrapped(report.Label(name), n.Name+": "+strings.Join(all, ", ")))
			name = ""
		}
	}
}

// moved writes how many bytes went between nodes, and compares that number with the least that the layout allows.
func (x *NodesAccount) moved(b *strings.Builder) {
	c, amount := x.result.Cluster, func(n int64) string { return report.Bytes(float64(n)) }
	text := fmt.Sprintf("%s from node to node in %s", amount(c.Moved), report.Count(len(x.result.Times), "run"))
	switch {
	case c.Least > 0:
		text += fmt.Sprintf(", %.2f times the %s that this layout needs at least",
			float64(c.Moved)/float64(c.Least), amount(c.Least))
	case c.Uncounted != "":
		text += "; what the layout needs at least is not known: " + c.Uncounted
	}
	if d := x.result.Nodes[0]; d.Out > 0 {
		text += fmt.Sprintf("; %s from here to the agents, %s back", amount(d.Out), amount(d.In))
	}
	b.WriteString(report.Wrapped(report.Label("moved"), text))
}
