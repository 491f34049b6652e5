package planner

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/internal/report"
)

// forecastTable is the table of labench plan. Rows are printed before the later ones are known, so units suit the
// first row and the largest problem.
type forecastTable struct {
	report.Table
	time, rate func(float64) string
	moved      func(int64) string
}

func newForecastTable(first *Prediction, all []wish) forecastTable {
	n := 0
	for _, w := range all {
		n = max(n, w.n)
	}
	more := math.Pow(float64(n)/float64(max(first.N, 1)), 3)
	return forecastTable{report.NewTable("n", 7, "nb", 4, "nodes", 5, "grid", 6, "workers", 7, "sched", -8, "time", 11, "GFLOP/s", 8, "busy", 5, "moved", 10),
		report.Durations(first.Seconds, 4*more*first.Seconds), report.Decimals(first.GFLOPS), report.BytesLike(8*int64(n)*int64(n), int64(n)*int64(n)/8)}
}

// row returns a line of the table.
func (t *forecastTable) row(x *Prediction) string {
	grid, moved := "-", "-"
	if x.Rows > 0 {
		grid, moved = fmt.Sprintf("%d×%d", x.Rows, x.Count/x.Rows), t.moved(x.Moved)
	}
	return t.Row(x.N, x.NB, x.Count, grid, x.Workers, x.Sched, t.time(x.Seconds), t.rate(x.GFLOPS),
		fmt.Sprintf("%.0f%%", 100*x.Sum().Busy/(x.Seconds*float64(max(x.Workers, 1)))), moved)
}

// fastest lists the fastest combination for each size.
func (t *forecastTable) fastest(p report.Paint, all []trial) string {
	var order []int
	best, count := map[int]*Prediction{}, map[int]int{}
	for i := range all {
		x := &all[i].x
		if count[x.N]++; count[x.N] == 1 {
			order = append(order, x.N)
		}
		if b := best[x.N]; b == nil || x.Seconds < b.Seconds {
			best[x.N] = x
		}
	}
	text := ""
	for _, n := range order {
		if count[n] > 1 {
			text += p.Good(t.row(best[n]))
		}
	}
	if text != "" {
		text = "\nfastest\n" + text
	}
	return text
}

// forecastText returns the report of one combination.
func forecastText(p report.Paint, m *sim.Machine, x *Prediction) string {
	var b report.Labelled
	in := func(n int64) string { return report.Bytes(float64(n)) }
	b.Line("machine", "%s", cmp.Or(m.Name, "without a name"))
	if m.Source != "" {
		b.Line("", "%s", m.Source)
	}
	values := ""
	if x.Values {
		values = "values only, "
	}
	b.Line("problem", "%s %s, %sn = %d, %.4g Gflop", x.Op, x.Type, values, x.N, x.Flops/1e9)
	nodes := ""
	if x.Rows > 0 {
		nodes = fmt.Sprintf("%s in a grid of %d×%d, ", report.Count(x.Count, "node"), x.Rows, x.Count/x.Rows)
	}
	b.Line("run", "%s%s, %s, nb = %d, %s", nodes, report.Count(x.Workers, "worker"), x.Sched, x.NB, report.Count(x.Tasks, "task"))
	fmt.Fprintf(&b, "%s%s %s GFLOP/s\n", report.Label("predicted"), strings.TrimSpace(report.Duration(x.Seconds)), p.Bold(report.Gflops(x.GFLOPS)))

	if l := x.Losses; l != nil && l.Nodes == 0 {
		b.Line("losses", "no node was lost before the end")
	} else if l != nil {
		b.Line("losses", "%s, %.3g %% more than %s without: %s that they had went to others, and %s made %s again, %s, that nobody had any more",
			report.Count(l.Nodes, "node"), 100*(x.Seconds/x.Whole-1), report.Brief(report.InSeconds(x.Whole)), report.Count(l.Tasks, "task"), report.Count(l.Again, "task"), report.Count(l.Data, "tile"), in(l.Bytes))
	}
	t := x.Sum()
	timeLines(&b, x, t)
	if x.Path > 0 {
		b.Line("path", "%s in %s that follow one another: no number of workers takes less", report.Brief(report.InSeconds(x.Path)), report.Count(x.Steps, "task"))
	}
	if t.DevicesIn > 0 {
		b.Line("devices", "%s there; %s copied to them and %s back", report.Count(t.OnDevices, "task"), in(t.DevicesIn), in(t.DevicesOut))
	}
	if x.Rows == 0 {
		b.Line("memory", "%s, and what tasks need beside their operands", in(x.Memory))
		return b.String()
	}
	b.Line("moved", "%s from node to node", in(x.Moved))
	b.Line("memory", "%s on the node that has the most", in(x.Memory))
	nodesTable(&b, p, m, x)
	return b.String()
}

// timeLines says what the workers do with their time.
func timeLines(b *report.Labelled, x *Prediction, t sim.Tally) {
	all := t.Busy + t.Starving + t.Throttled + t.Driver + t.Idle
	share := func(s float64) string { return fmt.Sprintf("%.1f %%", 100*s/max(all, 1e-300)) }
	b.Line("workers", "%s of their time in tasks", share(t.Busy))
	waits := "while their tasks waited for operands of other nodes"
	if t.DevicesIn > 0 {
		waits += ", or for copies to a device"
	}
	if x.Rows == 0 {
		waits = "while their tasks waited for copies to a device"
	}
	for _, c := range []struct {
		seconds float64
		why     string
	}{
		{t.Idle, "without a task that was ready: what there was to do waited for tasks that ran"},
		{t.Starving, waits},
		{t.Throttled, "while the window was full: as many tasks as may be had been submitted, and none was ready"},
		{t.Driver, "while the program, or the driver, was submitting and handing out tasks"},
	} {
		if c.seconds > 0.0005*all {
			b.Line("", "%s %s", share(c.seconds), c.why)
		}
	}
}

// nodesTable lists the nodes, the driver first.
func nodesTable(b *report.Labelled, p report.Paint, m *sim.Machine, x *Prediction) {
	caps := []int64{0}
	for i := range m.Kinds {
		caps = append(caps, m.Kinds[i].Memory)
	}
	var peak, moved []int64
	for _, n := range x.Nodes {
		peak, moved = append(peak, n.Peak), append(moved, n.In, n.Out)
	}
	kept, flows, limit := report.BytesLike(peak...), report.BytesLike(moved...), report.BytesLike(caps...)
	table := report.NewTable("", -8, "tasks", 6, "busy", 6, "waits", 6, "at most", 8, "gets", 8, "sends", 8, "", 8)
	if slices.Max(caps) > 0 {
		table[7].Name = "cap"
	}
	b.WriteString(p.Faint(report.Label("nodes") + table.Head()))
	const most = 16 // listed nodes
	for i, n := range x.Nodes {
		if i == most {
			b.Line("", "and %d more (--json lists them)", len(x.Nodes)-most)
			break
		}
		name, memory := nodeAt(m, i)
		name = cmp.Or(name, fmt.Sprint("node", i))
		if i == 0 {
			name = "driver"
		}
		most := ""
		if memory > 0 {
			most = limit(memory)
		}
		own := max(n.Busy+n.Starving+n.Throttled+n.Driver+n.Idle, 1e-300)
		b.WriteString(report.Label("") + table.Row(name, n.Tasks, fmt.Sprintf("%.0f%%", 100*n.Busy/own), fmt.Sprintf("%.0f%%", 100*n.Starving/own),
			kept(n.Peak), flows(n.In), flows(n.Out), most))
	}
}
