package calibrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
)

// Spread is the best and the median of several measurements.
type Spread struct{ Best, Median float64 }

// Link describes how one node fetches values from another.
type Link struct {
	From, To string
	// Latency is the time of a message in seconds, one way: half the time of fetching one number.
	Latency Spread
	// Bandwidth is in bytes per second. It is measured with a large tile, less the time of one number.
	Bandwidth Spread
}

// NoFetchError says that a node did not fetch a value that it should have fetched.
type NoFetchError struct{ From, To string }

func (e *NoFetchError) Error() string {
	return fmt.Sprintf("calibrate: node %s has fetched nothing from %s", e.To, e.From)
}

// DriverPart is the time of one part of the driver's work for a task, in seconds. cluster.Driver takes 3 µs for
// a task over HTTP (docs/internals/measurements.md), here in equal parts. It is not measured again.
const DriverPart = 1e-6

const (
	largeTile = 512 // 2 MiB: what la takes for large matrices
	warmUps   = 2   // fetches that set up connections and touch memory
	fewest    = 8   // minimum number of fetches that count
)

// Links measures the link from each node to the next one, and from the last to the first. One value is on its
// way at a time. nodes are the owners of d, in their order; d must have Options.Owner and Stay. Each size is
// fetched for the time each, and a minimum number of times.
func Links(ctx context.Context, d *cluster.Driver, nodes []string, each time.Duration) (all []Link, err error) {
	for k := range nodes {
		to := (k + 1) % len(nodes)
		l := Link{From: nodes[k], To: nodes[to]}
		small, err := fetches(ctx, d, nodes, k, to, 1, each)
		if err != nil {
			return nil, err
		}
		large, err := fetches(ctx, d, nodes, k, to, largeTile, each)
		if err != nil {
			return nil, err
		}
		l.Latency = Spread{small[0] / 2, middle(small) / 2}
		// On a busy machine one number may take as long as a tile does at best. The time of the number is then
		// not subtracted.
		rate := func(tile, number float64) float64 {
			if tile > 2*number {
				tile -= number
			}
			return 8 * largeTile * largeTile / tile
		}
		l.Bandwidth = Spread{rate(large[0], small[0]), rate(middle(large), middle(small))}
		all = append(all, l)
	}
	return all, nil
}

// fetches makes a node fetch a tile of nb×nb from another node repeatedly. It returns the seconds of each
// fetch, in ascending order.
//
//	from: Plrnt(x) ─► to: y = x ─► from: Plrnt(x) ─► …
func fetches(ctx context.Context, d *cluster.Driver, nodes []string, from, to, nb int, each time.Duration) (took []float64, err error) {
	x, err := on(d, from, len(nodes), nb, nb, nb)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	y, err := on(d, to, len(nodes), nb, nb, nb)
	if err != nil {
		return nil, err
	}
	defer y.Close()
	ops := kernels.For[float64](op.NewTable())
	run := func(f func(p *blocked.Program[float64]) error) error {
		job := d.NewJob(ctx)
		return errors.Join(f(blocked.NewProgram(job, ops)), job.Wait())
	}
	began := time.Now()
	for i := 0; i < warmUps+fewest || time.Since(began) < each; i++ {
		// x is written anew, so y's node has no valid copy. x is complete before y's node asks for it.
		if err := run(func(p *blocked.Program[float64]) error { return p.Plrnt(x, uint64(i), 0) }); err != nil {
			return nil, err
		}
		before := fetched(d, nodes[from], nodes[to])
		if err := run(func(p *blocked.Program[float64]) error { return p.CopyLeading(x, y) }); err != nil {
			return nil, err
		}
		after := fetched(d, nodes[from], nodes[to])
		if i >= warmUps && after.Values == before.Values+1 && after.Took > before.Took {
			took = append(took, (after.Took - before.Took).Seconds())
		}
	}
	if took == nil {
		return nil, &NoFetchError{nodes[from], nodes[to]}
	}
	slices.Sort(took)
	return took, nil
}

// on returns an m×n matrix that one of the nodes owns.
func on(d exec.Runtime, owner, nodes, m, n, nb int) (*blocked.Matrix[float64], error) {
	a, err := blocked.Distributed[float64](d, blocked.Full, m, n, nb)
	if err != nil {
		return nil, err
	}
	if err := a.SetLayout(blocked.LayoutFunc(func(int, int) int { return owner }), nodes); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// fetched returns what one node has fetched from another so far.
func fetched(d *cluster.Driver, from, to string) (sum cluster.Flow) {
	for _, u := range d.Usage() {
		if u.Node != to || u.Lost {
			continue
		}
		for _, f := range u.Flows {
			if f.From == from {
				sum.Values, sum.Took = sum.Values+f.Values, sum.Took+f.Took
			}
		}
	}
	return sum
}
