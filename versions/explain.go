package versions

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// Explanation tells which version a selector would choose for a call, and why.
type Explanation struct {
	Op       string // with its type
	Target   string // the worker, in words
	Work     float64
	Class    int
	Versions []VersionExplanation // in the order of Op.Versions
	Chosen   string               // name of the version; empty if there is none
	Why      Why
	Run      int // for Exploring: which run of the version it would be …
	Explore  int // … and of how many
}

// VersionExplanation is what an Explanation says of one version.
type VersionExplanation struct {
	Name     string
	Reason   string  // why it may not run; empty if it may
	Count    uint64  // runs that are in Mean and SD
	Mean     float64 // seconds per unit of work
	SD       float64 // sample standard deviation of the same
	Expected float64 // seconds that the call should take; 0 if unknown
}

// Explain tells what [Selector.Select] would choose for the same call, and
// why. It changes nothing, and may be called at any time. A nil call is one
// unit of work.
func (s *Selector) Explain(op *Op, call *Call, on *Target) Explanation {
	work := 1.0
	if call != nil {
		work = workOf(op, call)
	}
	// A new table, not the one that Select keeps: on need not be a worker's.
	t, key := s.newTable(op, on), keyOf(on)
	_, reasons := s.eligible(op, on)
	e := Explanation{
		Op: op.OpName(), Target: key.String(), Work: work, Class: ClassOf(work),
		Versions: make([]VersionExplanation, len(op.Versions)),
		Explore:  int(s.explore),
	}
	names := make([]string, len(op.Versions))
	for i := range op.Versions {
		names[i] = op.Versions[i].Name
		e.Versions[i] = VersionExplanation{Name: names[i], Reason: reasons[i]}
	}
	c := s.profile.cell(groupKey{key, clean(op.OpName()), e.Class}, names)
	c.group.mu.Lock()
	defer c.group.mu.Unlock()
	for i, st := range c.stats {
		v := &e.Versions[i]
		switch m := st.total; {
		case m.count > 0:
			v.Count, v.Mean, v.SD = m.count, m.mean, m.sd()
		case st.known():
			v.Count, v.Mean, v.SD = st.cold.count, st.cold.mean, st.cold.sd()
		}
		v.Expected = v.Mean * work
	}

	switch {
	case t.err != nil:
	case t.done:
		e.Chosen, e.Why = t.sole.Version.Name, t.sole.Why
	default:
		seen := &cell{group: c.group, stats: make([]*stat, len(t.order))}
		for i, index := range t.order {
			seen.stats[i] = c.stats[index]
		}
		i, why := seen.pick(s.explore)
		e.Chosen, e.Why = names[t.order[i]], why
		if why == Exploring {
			e.Run = int(seen.stats[i].total.runs) + seen.stats[i].inflight + 1
		}
	}
	return e
}

// String returns the explanation as a few lines of at most 80 columns, the
// chosen version marked with an arrow.
func (e Explanation) String() string {
	var b strings.Builder
	wrap(&b, "", fmt.Sprintf("%s on %s", e.Op, e.Target))
	low := math.Pow(1<<classBits, float64(e.Class))
	fmt.Fprintf(&b, "work %.3g, size class %d (from %.3g to below %.3g)\n", e.Work, e.Class, low, low*(1<<classBits))
	fmt.Fprintf(&b, "  %-16s %6s  %-29s  %s\n", "version", "runs", "seconds per unit, mean ± sd", "expected")
	for _, v := range e.Versions {
		mark := " "
		if v.Name == e.Chosen {
			mark = ">"
		}
		head := fmt.Sprintf("%s %-16s ", mark, shorten(v.Name, 16))
		switch {
		case v.Reason != "":
			wrap(&b, head, v.Reason)
		case v.Count == 0:
			fmt.Fprintf(&b, "%s%6d  not measured\n", head, 0)
		default:
			mean := fmt.Sprintf("%.4g ± %.2g", v.Mean, v.SD)
			fmt.Fprintf(&b, "%s%6s  %-29s  %s\n", head, countText(v.Count), mean, secondsText(v.Expected))
		}
	}
	switch {
	case e.Chosen == "":
		b.WriteString("chosen: none, no version can run here\n")
	case e.Why == Exploring:
		wrap(&b, "chosen: ", fmt.Sprintf("%s, exploring run %d of %d", e.Chosen, e.Run, e.Explore))
	default:
		wrap(&b, "chosen: ", fmt.Sprintf("%s, %v", e.Chosen, e.Why))
	}
	return b.String()
}

const width = 80

// wrap writes head and then text, broken between words where a line would
// pass width columns; what follows stands under the text's beginning.
func wrap(b *strings.Builder, head, text string) {
	indent := utf8.RuneCountInString(head)
	b.WriteString(head)
	col := indent
	for i, word := range strings.Fields(text) {
		word = shorten(word, width-indent)
		n := utf8.RuneCountInString(word)
		if i > 0 {
			if col+1+n > width {
				b.WriteString("\n" + strings.Repeat(" ", indent))
				col = indent
			} else {
				b.WriteByte(' ')
				col++
			}
		}
		b.WriteString(word)
		col += n
	}
	b.WriteByte('\n')
}

// shorten cuts s to n columns and marks the cut.
func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

func countText(n uint64) string {
	if n < 1e6 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%.1g", float64(n))
}

// secondsText prints a time with a unit that leaves few digits before the
// point.
func secondsText(s float64) string {
	switch {
	case s < 1e-6:
		return fmt.Sprintf("%.3g ns", s*1e9)
	case s < 1e-3:
		return fmt.Sprintf("%.4g µs", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.4g ms", s*1e3)
	}
	return fmt.Sprintf("%.4g s", s)
}
