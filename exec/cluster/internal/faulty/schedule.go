package faulty

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/tessera-la/tessera/internal/words"
)

// Kind is a kind of trouble.
type Kind int

// The kinds of trouble.
const (
	Partition Kind = iota // A and B are cut off from each other, for a time
	OneWay                // from A nothing comes to B, for a time
	Stalled               // the nodes of A stall, for a time
	Crashed               // the nodes of A crash
)

var kinds = words.Of[Kind]{Partition: "partition", OneWay: "one way", Stalled: "stall", Crashed: "crash"}

// String returns the name of a kind.
func (k Kind) String() string { return kinds.Name(k) }

// Step is some trouble of a schedule.
type Step struct {
	At   time.Duration // since the beginning
	Kind Kind
	A, B []string
	For  time.Duration
}

// String says what a step is, on one line.
func (s Step) String() string {
	return fmt.Sprintf("%v %v %s|%s for %v", s.At, s.Kind, strings.Join(s.A, ","), strings.Join(s.B, ","), s.For)
}

// Plan says what a schedule is drawn from.
type Plan struct {
	Seed  uint64
	Nodes []string
	// Steps is how many there are. Between two passes at most Every, and each lasts at
	// most Outage, both uniformly distributed.
	Steps         int
	Every, Outage time.Duration
	// Mortal are the nodes that may crash, each once.
	Mortal []string
}

// Draw returns the schedule of a plan: the same one for the same plan.
func Draw(p Plan) (steps []Step) {
	r := rand.New(rand.NewPCG(p.Seed, uint64(len(p.Nodes))))
	share := func(d time.Duration) time.Duration { return time.Duration(r.Float64() * float64(d)) }
	mortal := slices.Clone(p.Mortal)
	var at time.Duration
	for range p.Steps {
		at += share(p.Every)
		s := Step{At: at, Kind: Kind(r.IntN(int(Crashed) + 1)), For: share(p.Outage)}
		if s.Kind == Crashed && len(mortal) == 0 {
			s.Kind = Stalled
		}
		all := slices.Clone(p.Nodes)
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		switch s.Kind {
		case Crashed:
			i := r.IntN(len(mortal))
			s.A, s.For = []string{mortal[i]}, 0
			mortal = slices.Delete(mortal, i, i+1)
		case Stalled:
			s.A = all[:min(1, len(all))]
		default:
			k := 1 + r.IntN(max(1, len(all)-1))
			s.A, s.B = all[:min(k, len(all))], all[min(k, len(all)):]
		}
		steps = append(steps, s)
	}
	return steps
}

// Play performs a schedule, and returns when its last step is over and all cuts are healed,
// or with the end of ctx. A cut heals with the end of its step, even if another step has
// made the same one. The error is a *NodeError for a node that cannot crash, or that of ctx.
func (n *Network) Play(ctx context.Context, steps []Step) error {
	defer n.Heal()
	p := &player{Network: n, ctx: ctx, began: time.Now()}
	for _, s := range steps {
		if err := p.begin(s); err != nil {
			return err
		}
	}
	return p.healUntil(math.MaxInt64)
}

// player performs a schedule.
type player struct {
	*Network
	ctx   context.Context
	began time.Time
	begun []openStep // steps that have begun, by their ends
}

// openStep is a step that has begun.
type openStep struct {
	end time.Duration
	Step
}

// begin begins a step at its time.
func (p *player) begin(s Step) error {
	if err := p.healUntil(s.At); err != nil {
		return err
	}
	if err := p.wait(s.At); err != nil {
		return err
	}
	switch s.Kind {
	case Partition:
		p.Cut(s.A, s.B)
	case OneWay:
		p.CutOneWay(s.A, s.B)
	case Stalled:
		for _, a := range s.A {
			p.Stall(a, s.For)
		}
	case Crashed:
		for _, a := range s.A {
			if err := p.Crash(a); err != nil {
				return err
			}
		}
	}
	p.begun = append(p.begun, openStep{s.At + s.For, s})
	slices.SortStableFunc(p.begun, func(a, b openStep) int { return cmp.Compare(a.end, b.end) })
	return nil
}

// healUntil waits for the ends of open steps up to a time, and heals their cuts.
func (p *player) healUntil(at time.Duration) error {
	for len(p.begun) > 0 && p.begun[0].end <= at {
		s := p.begun[0]
		if err := p.wait(s.end); err != nil {
			return err
		}
		p.change(func() {
			for _, a := range s.A {
				for _, b := range s.B {
					delete(p.cut, pair{a, b})
					delete(p.cut, pair{b, a})
				}
			}
		})
		p.begun = p.begun[1:]
	}
	return nil
}

// wait waits for a time since the beginning. The error is the cause of the end of ctx.
func (p *player) wait(until time.Duration) error {
	timer := time.NewTimer(until - time.Since(p.began))
	defer timer.Stop()
	select {
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	case <-timer.C:
		return nil
	}
}
