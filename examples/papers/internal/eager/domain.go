package eager

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/tessera-la/tessera/examples/internal/study"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// domain is the parameter of the ops: the number of a domain, and that of a subdomain.
type domain struct {
	Task
	Number, Index int64
}

// solving is the mean number of units for solving the equation on a subdomain. One unit is the time for making
// it.
const solving = 8

var (
	// decompose: OUT subdomain, for each of them.
	decompose = study.Op("decompose", func(c *versions.Call, p *domain, args [][]float64) error {
		state, began := start(p.Number), time.Now()
		for i, sub := range args {
			cut(state, sub)
			p.until(began, i+1)
			p.finished(c, i)
		}
		return nil
	})
	// solve: IN subdomain, OUT result.
	solve = study.Op("solve", func(_ *versions.Call, p *domain, args [][]float64) error {
		args[1][0] = poisson(args[0])
		p.wait(solving * (0.5 + mix(uint64(p.Number*1000+p.Index))))
		return nil
	})
)

// start returns the initial state of the decomposition of a domain.
func start(number int64) []float64 {
	state := make([]float64, 64)
	for i := range state {
		state[i] = mix(uint64(number)<<20 + uint64(i))
	}
	return state
}

// cut makes the next subdomain, a square of sources, and advances the state, which the next one depends on.
func cut(state, sub []float64) {
	for range 10 {
		for i, x := range state {
			state[i] = 0.5*x + 0.25*(state[(i+1)%len(state)]+state[(i+len(state)-1)%len(state)]) + 1e-3*math.Sin(float64(i))
		}
	}
	for i := range sub {
		sub[i] = state[i%len(state)] - 0.5
	}
}

// poisson solves −∆u = f on a square, with u = 0 on its boundary, by Gauss-Seidel sweeps. It returns ‖u‖.
func poisson(f []float64) float64 {
	n := int(math.Sqrt(float64(len(f))))
	u := make([]float64, (n+2)*(n+2))
	for range 2 * n {
		for i := 1; i <= n; i++ {
			for j := 1; j <= n; j++ {
				at := i*(n+2) + j
				u[at] = 0.25 * (u[at-1] + u[at+1] + u[at-n-2] + u[at+n+2] + f[(i-1)*n+j-1])
			}
		}
	}
	sum := 0.0
	for _, x := range u {
		sum += x * x
	}
	return math.Sqrt(sum)
}

// sizes returns the numbers of points of a domain's subdomains.
func (o *options) sizes(number int64) []int {
	all := make([]int, o.subdomains)
	for i := range all {
		n := o.side + int(mix(uint64(number)<<32+uint64(i))*float64(o.side))
		all[i] = n * n
	}
	return all
}

// domains compares lazy and eager release in strong and in weak scaling.
func (o *options) domains(ctx context.Context) error {
	for _, c := range []struct {
		name               string
		agents, generators int
	}{{"strong", 1, o.generators}, {"strong", 2, o.generators}, {"weak", 1, 1}, {"weak", 2, 2}} {
		if c.name == "weak" && c.agents == 2 && o.generators == 2 {
			continue // the strong run has this case
		}
		fmt.Printf("domain decomposition, %s: %d agents, %d generators of %d subdomains\n", c.name, c.agents, c.generators, o.subdomains)
		want, got := make([]float64, c.generators*o.subdomains), []float64(nil)
		for g := range c.generators {
			state := start(int64(g))
			for i, n := range o.sizes(int64(g)) {
				sub := make([]float64, n)
				cut(state, sub)
				want[g*o.subdomains+i] = poisson(sub)
			}
		}
		ways := both(func(eager bool) study.Way {
			return study.Way{Nodes: o.nodes(c.agents, decompose, solve), Submit: func(job exec.Job) error {
				got = make([]float64, len(want))
				return o.decomposed(job, eager, c.generators, got)
			}, Check: study.Same("other solutions", &got, want)}
		})
		if _, err := study.Compare(ctx, o.turns, ways...); err != nil {
			return err
		}
	}
	return nil
}

// decomposed submits all tasks.
func (o *options) decomposed(job exec.Job, eager bool, generators int, results []float64) error {
	var later []*graph.Spec
	for g := range generators {
		p := domain{Task: o.task(eager), Number: int64(g)}
		s := spec(decompose, &p)
		s.Priority = 1
		for i, n := range o.sizes(int64(g)) {
			sub, at, p := study.Datum(make([]float64, n)), g*o.subdomains+i, p
			p.Index = int64(i)
			s.Operands = append(s.Operands, study.Out(sub))
			later = append(later, spec(solve, &p, study.In(sub), study.Out(study.Datum(results[at:at+1]))))
		}
		if _, err := job.Submit(s); err != nil {
			return err
		}
	}
	return study.Submit(job, later...)
}
