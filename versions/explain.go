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

// VersionExplanation is the part of an Explanation about one version.
type VersionExplanation struct {
	Name     string
	Reason   string  // why it may not run; empty if it may
	Count    uint64  // runs that are in Mean and SD
	Mean     float64 // seconds per unit of work
	SD       float64 // sample standard deviation of the same
	Expected float64 // seconds that the call should take; 0 if unknown
	Untried  bool    // it may run but never has: Expected is a guess
}

// Explain returns the version that [Selector.Select] would choose for the same call, and why. It
// changes nothing, and may be called at any time. A nil call is one unit of work.
func (s *Selector) Explain(op *Op, call *Call, on *Target) Explanation {
	work := 1.0
	if call != nil {
		work = workOf(op, call)
	}
	// A new table, not the one that Select keeps: on need not be a worker's.
	t, key := s.newTable(op, on), keyOf(on)
	_, reasons := s.eligible(op, on)
	e := Explanation{
		Op: op.OpName(), Target: key.String(), Work: work, Class: classOf(op, call, work),
		Versions: make([]VersionExplanation, len(op.Versions)),
		Explore:  int(s.explore),
	}
	for i := range op.Versions {
		e.Versions[i] = VersionExplanation{Name: op.Versions[i].Name, Reason: reasons[i]}
	}
	if t.err != nil {
		return e
	}
	c := s.newCell(op, t, e.Class)
	c.book.mu.Lock()
	defer c.book.mu.Unlock()
	_, best, _ := c.best(e.Class)
	for i, st := range c.stats {
		v := &e.Versions[t.order[i]]
		m := st.total
		if m.count == 0 {
			m = st.cold
		}
		v.Count, v.Mean, v.SD, v.Expected = m.count, m.mean, m.sd(), m.mean*work
		if v.Untried = m.count == 0; v.Untried && best > 0 && !t.done {
			v.Expected = c.ratio(i, best) * best * work
		}
	}
	if t.done {
		e.Chosen, e.Why = t.sole.Version.Name, t.sole.Why
		return e
	}
	v := c.pick(s.explore, s.spare(call, work))
	e.Chosen, e.Why = op.Versions[t.order[v.candidate]].Name, v.why
	if st := c.stats[v.candidate]; v.why == Exploring {
		e.Run = int(st.total.runs) + st.inflight + 1
	}
	return e
}

// String returns the explanation as a few lines of at most 80 columns, the
// chosen version marked with an arrow.
func (e Explanation) String() string {
	var b strings.Builder
	wrap(&b, "", fmt.Sprintf("%s on %s", e.Op, e.Target))
	low, thin := math.Pow(1<<classBits, float64(e.Class%sizes)), ""
	if e.Class >= sizes {
		thin = "thin, "
	}
	fmt.Fprintf(&b, "work %.3g, size class %d (%sfrom %.3g to below %.3g)\n", e.Work, e.Class, thin, low,
		low*(1<<classBits))
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
		case v.Untried && v.Expected > 0:
			fmt.Fprintf(&b, "%s%6d  %-29s  %s?\n", head, 0, "not tried yet", secondsText(v.Expected))
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

// wrap writes head and then text, broken between words before column width; further lines begin
// under the text's beginning.
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
