package faulty

import (
	"context"
	"fmt"
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
	type end struct {
		at time.Duration
		Step
	}
	var ends []end
	begin := time.Now()
	wait := func(until time.Duration) error {
		timer := time.NewTimer(until - time.Since(begin))
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			return nil
		}
	}
	// settle waits for the ends of steps that come before a time.
	settle := func(until time.Duration) error {
		for len(ends) > 0 && ends[0].at <= until {
			if err := wait(ends[0].at); err != nil {
				return err
			}
			n.change(func() {
				for _, a := range ends[0].A {
					for _, b := range ends[0].B {
						delete(n.cut, pair{a, b})
						delete(n.cut, pair{b, a})
					}
				}
			})
			ends = ends[1:]
		}
		return nil
	}
	for _, s := range steps {
		if err := settle(s.At); err != nil {
			return err
		}
		if err := wait(s.At); err != nil {
			return err
		}
		switch s.Kind {
		case Partition:
			n.Cut(s.A, s.B)
		case OneWay:
			n.CutOneWay(s.A, s.B)
		case Stalled:
			for _, a := range s.A {
				n.Stall(a, s.For)
			}
		case Crashed:
			for _, a := range s.A {
				if err := n.Crash(a); err != nil {
					return err
				}
			}
		}
		ends = append(ends, end{s.At + s.For, s})
		slices.SortStableFunc(ends, func(a, b end) int { return int(a.at - b.at) })
	}
	return settle(1 << 62)
}
