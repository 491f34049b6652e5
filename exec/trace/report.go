package trace

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// The report for a terminal formats the results of Summary, Idle, CriticalPath and Parallelism.

// WriteReport writes where the time went, for a terminal of the given width: the time of each
// version of each op, how busy each worker was and why it was idle, the critical path with its
// bound on the speed-up if edges were recorded, and the number of busy workers over time.
//
// The parts, and the base of their columns:
//
//	by version     share: of the time of all versions; each: the mean of a call
//	by worker      of the time from the first start to the last end
//	copies         busy: of the same time; overlaps count once
//	critical path  length of all work, and the bound that follows
//	chart          mean number of workers in tasks, a column for each equal part
func (r *Recording) WriteReport(w io.Writer, width int) error {
	out := bufio.NewWriter(w)
	s := r.Summary()
	if len(s.Usage) == 0 {
		fmt.Fprintln(out, "no task ran")
		return out.Flush()
	}
	s.reportVersions(out)
	r.reportWorkers(out, &s)
	s.reportCopies(out)
	if p := r.CriticalPath(); len(r.Edges) > 0 {
		fmt.Fprintf(out, "\ncritical path: %d tasks, %s of %s of work in %s;\nno number of workers is more than %.1f times as fast as one\n",
			len(p.Tasks), short(p.Length), short(p.Work), short(s.Span), p.Bound())
	}
	fmt.Fprintf(out, "\nworkers busy, over %s\n", short(s.Span))
	r.chart(out, r.workers(), width)
	return out.Flush()
}

func (s *Summary) reportVersions(out io.Writer) {
	var all time.Duration
	for i := range s.Usage {
		all += s.Usage[i].Busy
	}
	tab := table(out)
	fmt.Fprintln(tab, "op\tversion\tcalls\ttime\tshare\teach\t\t")
	for _, u := range s.Usage {
		failed := ""
		if u.Failed > 0 {
			failed = fmt.Sprintf("%d failed", u.Failed)
		}
		fmt.Fprintf(tab, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t\n", u.Op, u.Version, u.Calls, short(u.Busy),
			percent(u.Busy, all), short(u.Busy/time.Duration(max(u.Calls, 1))), failed)
	}
	tab.Flush()
}

func (r *Recording) reportWorkers(out io.Writer, s *Summary) {
	fmt.Fprintln(out)
	tab := table(out)
	fmt.Fprint(tab, "worker\tbusy\tidle:\t")
	columns := reasons
	if s.Waited == nil {
		columns = Copying // which comes last
	}
	for why := range columns {
		fmt.Fprintf(tab, "%s\t", [...]string{"task ready", "window full", "data awaited", "no task", "copy awaited"}[why])
	}
	fmt.Fprintln(tab)
	for worker, idle := range r.Idle() {
		fmt.Fprintf(tab, "%s\t%s\t\t", r.label(worker), percent(s.Span-idle.Total(), s.Span))
		for why := range columns {
			fmt.Fprintf(tab, "%s\t", percent(idle[why], s.Span))
		}
		fmt.Fprintln(tab)
	}
	tab.Flush()
}

func (s *Summary) reportCopies(out io.Writer) {
	if len(s.Transfers) == 0 {
		return
	}
	fmt.Fprintln(out)
	tab := table(out)
	fmt.Fprintln(tab, "copies\tnumber\tbytes\ttime\tbusy\t")
	for _, t := range s.Transfers {
		fmt.Fprintf(tab, "%s\t%d\t%s\t%s\t%s\t\n", t.Name, t.Copies, size(t.Bytes), short(t.Busy), percent(t.Busy, s.Span))
	}
	tab.Flush()
}

func table(out io.Writer) *tabwriter.Writer {
	return tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
}

func percent(part, of time.Duration) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(of))
}

// chart draws the parallelism over time: a line for each worker up to eight workers, else eight
// lines.
func (r *Recording) chart(out io.Writer, workers, width int) {
	const label = 5
	lines := max(1, min(workers, 8))
	mean := r.Parallelism(max(min(width, 120)-label-1, 10))
	blocks := []rune(" ▁▂▃▄▅▆▇█")
	// Line l shows the part of the mean between bottom and top, in eighths.
	for l := lines; l > 0; l-- {
		top := float64(workers) * float64(l) / float64(lines)
		bottom := float64(workers) * float64(l-1) / float64(lines)
		var b strings.Builder
		for _, m := range mean {
			part := min(max((m-bottom)/(top-bottom), 0), 1)
			b.WriteRune(blocks[int(part*8+0.5)])
		}
		fmt.Fprintf(out, "%*.3g ┤%s\n", label-2, top, strings.TrimRight(b.String(), " "))
	}
	fmt.Fprintf(out, "%*d └%s\n", label-2, 0, strings.Repeat("─", len(mean)))
}

// short formats a duration with three digits. Below a microsecond it is exact.
func short(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if d >= u.unit {
			return fmt.Sprintf("%.3g %s", float64(d)/float64(u.unit), u.name)
		}
	}
	return fmt.Sprintf("%d ns", d)
}
