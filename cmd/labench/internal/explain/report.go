package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/internal/quiet"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
)

// short returns the name of a loss, or of a gain, in the table.
func (l loss) short() string {
	if l.time < 0 && l.kind == lossMemory {
		return "won: tasks are faster together"
	}
	what := [...]string{
		"tasks slower together: caches, memory",
		"tasks slower together: the cores themselves",
		"other tasks than with one worker",
		"idle, although a task was ready",
		"idle, the window of tasks was full",
		"idle, tasks waited for the data of others",
		"idle, no task was left to start",
		"before the first task and after the last",
		"idle, tasks waited for operands of other nodes",
		"idle, other nodes had more to do",
		"idle, no task could begin",
	}[l.kind]
	if l.time < 0 {
		return "won: " + what
	}
	return what
}

// text returns the report of an account, in lines of at most 80 columns.
func (x *account) text(s bench.Spec, p report.Paint) string {
	var b strings.Builder
	b.WriteString(report.Wrapped(report.Label("machine"), report.MachineLine(topo.Detect())))
	b.WriteString(x.measured(s, p))
	table := report.NewTable("op", -16, "tasks", 7, report.Workers(1), 11, report.Workers(x.all.workers), 11, "  time each", -40)
	b.WriteString(p.Faint(report.Label("tasks") + table.Head()))
	var each []float64
	for _, o := range x.ops {
		each = append(each, o.each(0).Seconds(), o.each(1).Seconds())
	}
	times := report.Durations(each...)
	for _, o := range x.ops {
		calls, change := fmt.Sprint(o.calls[1]), fmt.Sprintf("%+.1f %%", 100*o.slower())
		switch {
		case o.calls[0] == 0 || o.calls[1] == 0:
			calls, change = fmt.Sprintf("%d→%d", o.calls[0], o.calls[1]), "-"
		case o.calls[0] != o.calls[1]:
			calls = fmt.Sprintf("%d→%d", o.calls[0], o.calls[1])
		case o.version[0] != o.version[1]:
			change += ", " + report.Clip(o.version[0]+"→"+o.version[1], 20)
		}
		b.WriteString(report.Label("") + table.Row(o.op, calls, o.eachIn(0, times), o.eachIn(1, times), "  "+change))
	}
	Stages(&b, p, x.one.result, x.all.result)
	x.table(&b)
	b.WriteByte('\n')
	for i, sentence := range x.verdict() {
		if i == 0 {
			b.WriteString(report.Wrapped("", p.Bold(sentence)))
			continue
		}
		b.WriteString(report.Wrapped(fmt.Sprintf("%d. ", i), sentence))
	}
	return b.String()
}

// table writes the losses of at least 0.05 % of the time, one per line.
func (x *ledger) table(b *strings.Builder) {
	name := "lost"
	var spent []float64
	for _, l := range x.losses {
		spent = append(spent, l.time.Seconds())
	}
	times := report.Durations(spent...)
	for _, l := range x.losses {
		if part := 100 * x.share(l.time); part >= 0.05 || part <= -0.05 {
			fmt.Fprintf(b, "%s%6.1f %% %11s   %s\n", report.Label(name), part, times(l.time.Seconds()), l.short())
			name = ""
		}
	}
}

// reasons returns the reasons of the losses worth saying, the largest first.
func (x *ledger) reasons(reason func(lossKind) string) (all []string) {
	for _, l := range x.losses {
		if x.share(l.time) >= worthSaying {
			all = append(all, fmt.Sprintf("%.1f %%: %s", 100*x.share(l.time), reason(l.kind)))
		}
	}
	return all
}

// measured reports the measurement: the problem, the rates and the bound.
func (x *account) measured(s bench.Spec, p report.Paint) string {
	var b strings.Builder
	b.WriteString(report.Wrapped(report.Label("problem"), x.all.result.Problem(s)))
	b.WriteString(report.Wrapped(report.Label("run"), fmt.Sprintf("%s, 1 and %s, sched %s, fastest of %s",
		report.Tiles(x.all.result.NB), report.Workers(x.all.workers), x.all.result.Sched, report.Count(s.Repeat, "run"))))
	name := "speed"
	times, rates := report.Durations(x.one.took.Seconds(), x.all.took.Seconds()), report.Decimals(x.one.result.GFLOPSBest, x.all.result.GFLOPSBest)
	for _, r := range []side{x.one, x.all} {
		fmt.Fprintf(&b, "%s%-11s %12s %s GFLOP/s", report.Label(name), report.Workers(r.workers), times(r.took.Seconds()), p.Bold(fmt.Sprintf("%9s", rates(r.result.GFLOPSBest))))
		if r.result.PeakGFLOPS > 0 {
			fmt.Fprintf(&b, "   %.1f %% of peak %s", 100*r.result.PeakFraction, report.Gflops(r.result.PeakGFLOPS))
		}
		b.WriteByte('\n')
		name = ""
	}
	for _, r := range []side{x.one, x.all} {
		if note := bench.AbovePeak(r.result); note != "" {
			b.WriteString(report.Wrapped(report.Label("care"), note))
			break // it is the same on both sides
		}
	}
	lost := "nothing is lost"
	if x.lost() > 0 {
		lost = fmt.Sprintf("%.1f %% of the workers' time is lost, %s of %s", 100*x.share(x.lost()), report.Brief(x.lost()), report.Brief(x.time))
	}
	b.WriteString(report.Wrapped(report.Label("speed-up"), fmt.Sprintf("%.2f of %d: %s", x.speedup(), x.all.workers, lost)))
	b.WriteString(report.Wrapped(report.Label("bound"), fmt.Sprintf("%.1f for any number of workers: the critical path is %s of %s in tasks, in the least disturbed run",
		x.path.Bound(), report.Brief(x.path.Length), report.Brief(x.path.Work))))
	return b.String()
}

// eachIn formats the mean time of a task on a side.
func (o *opTimes) eachIn(side int, words func(float64) string) string {
	if o.calls[side] == 0 {
		return "-"
	}
	return words(o.each(side).Seconds())
}

// verdict explains in words why p workers are not p times as fast as one: first one general sentence, then the
// losses worth saying, the largest first, with advice for each.
func (x *account) verdict() []string {
	reasons := x.reasons(x.reason)
	head := fmt.Sprintf("%s are %.2f times as fast as one.", report.Workers(x.all.workers), x.speedup())
	if care := x.unsteady(); care != "" {
		head += " " + care
	}
	switch {
	case len(reasons) == 0:
		head += " Nothing worth mention is lost."
	case len(reasons) == 1:
		head += " The reason:"
	default:
		head += " The reasons, the largest first:"
	}
	if r := x.one.result; r.PeakGFLOPS > 0 && r.PeakFraction < 0.5 && x.unsteady() == "" {
		faster := "Larger problems are faster; labench tune looks for the best tiles"
		if x.tiles(x.wants) > 0 {
			faster = "Larger problems and larger tiles (labench tune) are faster"
		}
		reasons = append(reasons, fmt.Sprintf("Not lost by scaling, but lost: one worker reaches %.0f %% of what its core can do. "+
			"%s; labench list says whether better versions of the kernels are left out.", 100*r.PeakFraction, faster))
	}
	return append([]string{head}, reasons...)
}

// unsteady warns if runs took longer than the fastest one, on which the account is based.
func (x *account) unsteady() string {
	var ranges []string
	var load quiet.Load // the largest of each
	for _, s := range []side{x.one, x.all} {
		if l := s.result.Load; l != nil && l.Disturbs(s.workers) {
			load.CPUs, load.Others, load.Steal = l.CPUs, max(load.Others, l.Others), max(load.Steal, l.Steal)
		}
		if longest := slices.Max(append(s.result.Times, s.took)); longest > s.took+s.took/5 {
			ranges = append(ranges, fmt.Sprintf("from %s to %s with %s", report.Brief(s.took), report.Brief(longest), report.Workers(s.workers)))
		}
	}
	var all []string
	if load.CPUs > 0 {
		all = append(all, load.String()+" at most.")
	}
	if ranges != nil {
		all = append(all, "the runs took "+strings.Join(ranges, ", and ")+".")
	}
	if all == nil {
		return ""
	}
	for i := range all[1:] {
		all[i+1] = report.Capital(all[i+1])
	}
	return "But take care: " + strings.Join(all, " ") + " Try again on a quiet machine, or with --repeat 9."
}

// shortTask is the length of a task below which the cost of scheduling it matters.
const shortTask = 50 * time.Microsecond

// wants returns 1 if larger tiles lessen a loss, -1 if smaller tiles do, and 0 if tile sizes do not matter to it.
func (x *account) wants(k lossKind) int {
	switch k {
	case lossMemory:
		return 1
	case lossReady:
		if mean, _ := x.tasks(); mean < shortTask {
			return 1
		}
	case lossWaiting, lossNoTask:
		return -1
	}
	return 0
}

// reason states the cause of a loss and what helps. It advises larger or smaller tiles, never both.
func (x *account) reason(k lossKind) string {
	mean, n := x.tasks()
	// tileAdvice returns advice if the losses together want the tiles that this loss wants.
	tileAdvice := func(advice, otherwise string) string {
		if bench.HasTiles(x.all.result.Op) && x.tiles(x.wants) == x.wants(k) {
			return advice
		}
		return otherwise
	}
	switch k {
	case lossMemory:
		what := "Tasks take longer while others run"
		if o := x.worst(); o != nil {
			what += fmt.Sprintf(", %s by %.1f %%", o.op, 100*o.slower())
		}
		if x.one.result.PeakGFLOPS <= 0 || x.all.result.PeakGFLOPS <= 0 {
			return what + ": they share caches and memory, or the cores are slower together (labench peak)." +
				tileAdvice(" Larger tiles (--nb) read less.", "")
		}
		if x.unsteady() != "" {
			return what + ": they share caches and memory, or lost their cores to other programs meanwhile." +
				tileAdvice(" Larger tiles (--nb) read less for the same work.", "")
		}
		return what + ": they share caches and memory. " +
			tileAdvice("Larger tiles (--nb) read less for the same work; labench", "labench") + " peak says how much memory gives one core and all."
	case lossCores:
		return fmt.Sprintf("The cores are slower together. A loop that needs no memory runs at %s GFLOP/s on one and at %s on %d, %.2f times as much where %d would be ideal: "+
			"other programs, clock rates or siblings of one core. labench doctor looks for them; no tile size helps.",
			report.Gflops(x.one.result.PeakGFLOPS), report.Gflops(x.all.result.PeakGFLOPS), x.all.workers, x.all.result.PeakGFLOPS/x.one.result.PeakGFLOPS, x.all.workers)
	case lossWork:
		return fmt.Sprintf("Other tasks ran, %d in all, than with one worker: the algorithm goes by the number of workers. The choices of the operation "+
			"(--tree of qr) and --nb decide on it.", n)
	case lossReady:
		what := fmt.Sprintf("Workers were idle although a task was ready: the runtime was handing it over, or another program had the core. Tasks take %s on average: ", report.Brief(mean))
		if mean < shortTask {
			return what + "that is short" +
				tileAdvice(", so take larger tiles (--nb).", ", and tiles cannot be larger without more of what stands above.")
		}
		return what + "that is long enough for the runtime, so look for other programs (top), and try again."
	case lossThrottled:
		return "The window of tasks in flight was full, and none of them was ready: la.Options.Window."
	case lossWaiting:
		if part := float64(x.path.Length) / float64(max(x.span, 1)); part > longPath {
			return fmt.Sprintf("Tasks waited for the data of others. The critical path alone takes %s of %s: there is not enough to do beside it. "+
				"%s.", report.Brief(x.path.Length), report.Brief(x.span),
				tileAdvice("Smaller tiles (--nb), or a larger problem", "A larger problem has more"))
		}
		return fmt.Sprintf("Tasks waited for the data of others. It is not the critical path, which takes %s of %s, but the order, or the beginning and the end, "+
			"where few tasks are left: %sanother --sched; --report and --trace show when.",
			report.Brief(x.path.Length), report.Brief(x.span), tileAdvice("smaller tiles (--nb), ", "a larger problem, "))
	case lossNoTask:
		if !bench.HasTiles(x.all.result.Op) {
			return "No task was left to start: there is one for the whole matrix. Workers take parts of it if it is large enough."
		}
		return fmt.Sprintf("No task was left to start. Workers do not end together, and parts of a computation follow one another: "+
			"%d tasks of %s on average %s.", n, report.Brief(mean),
			tileAdvice("could be divided better as more and smaller ones (--nb)", "leave that; in a larger problem it counts less"))
	}
	return fmt.Sprintf("Before the first task and after the last one: %s of %s, and %s of %s with one worker. That is memory and not arithmetic, "+
		"matrices into tiles and back; it counts less in larger problems.", report.Brief(x.outside[1]), report.Brief(x.all.took), report.Brief(x.outside[0]), report.Brief(x.one.took))
}
