package loop

import (
	"fmt"
	"strings"

	"github.com/tessera-la/tessera/internal/problems"
)

// Plan determines how the items of a loop are handed out. The zero value is Auto.
type Plan struct {
	Scheme Scheme
	Layout Layout
	// Shares gives each queue a contiguous share of the items, as large as its part of
	// the workers, and the scheme runs inside: pre-partitioning. Otherwise the scheme runs
	// over all items, and its chunks are dealt to the queues in turn. With a central queue
	// there is no difference.
	Shares bool
	Victim Victim
	// Grain is the least number of items of a chunk, except the last one of a queue; 0 means 1.
	Grain int
	// NewPartitioner makes the program's own scheme, instead of Scheme: one Partitioner for each
	// queue, or one for all if chunks are dealt.
	NewPartitioner func(Shape) Partitioner
}

// Partitioner is the program's own scheme for one queue.
type Partitioner interface {
	// Next returns the number of items of the next chunk while some remain. The result is raised to
	// the grain and to 1, and bounded by the remaining items. One worker at a time calls it. A
	// panic fails the loop.
	Next(remaining int) int
}

// String returns the plan in a few words, as in "gss core+shares rnd grain 8".
func (p Plan) String() string {
	words := []string{p.Scheme.String()}
	if p.NewPartitioner != nil {
		words[0] = "own"
	}
	switch {
	case p.automatic():
	case p.Layout == Central:
		words = append(words, p.Layout.String())
	case p.Shares:
		words = append(words, p.Layout.String()+"+shares", p.Victim.String())
	default:
		words = append(words, p.Layout.String(), p.Victim.String())
	}
	if p.Grain > 1 {
		words = append(words, fmt.Sprintf("grain %d", p.Grain))
	}
	return strings.Join(words, " ")
}

// inParts is String for items whose parts are the queues.
func (p Plan) inParts() string {
	return strings.Replace(p.String(), " "+Central.String(), " parts", 1)
}

// problems returns every problem of the plan.
func (p *Plan) problems() (bad problems.List) {
	bad.Check(int(p.Scheme) < len(schemes), "Scheme is %v, want auto or one of %v", p.Scheme, Schemes())
	bad.Check(int(p.Layout) < len(layouts), "Layout is %v, want one of %v", p.Layout, Layouts())
	bad.Check(int(p.Victim) < len(victims), "Victim is %v, want one of %v", p.Victim, Victims())
	bad.Check(p.Grain >= 0, "Grain is %d, want at least 0", p.Grain)
	bad.Check(p.NewPartitioner == nil || p.Scheme == Auto, "NewPartitioner is set and Scheme is %v", p.Scheme)
	bad.Check(!p.automatic() || p.Layout == Central && !p.Shares && p.Victim == SeqPri,
		"Layout, Shares or Victim is set, which Auto chooses: set Scheme, too")
	return bad
}

// automatic reports whether Auto is to find the plan.
func (p *Plan) automatic() bool { return p.Scheme == Auto && p.NewPartitioner == nil }
