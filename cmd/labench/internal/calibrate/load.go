package calibrate

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/builtin"
	"gonum.org/v1/gonum/blas"
)

// Load is what cores of nodes that compute spend on messages: with all workers busy, that takes the
// time of tasks.
type Load struct {
	Byte    float64 // seconds, on each of the two nodes, for a byte of a value
	Product float64 // that a product of tiles of [smallTile] takes in all, told and reported
	Latency float64 // seconds of a message between nodes that compute, one way
}

// smallTile is the size of tiles whose products take about as long as their messages.
const smallTile = 256

// Loads measures what messages cost nodes that compute. Links are those that [Links] has measured.
func Loads(ctx context.Context, d *cluster.Driver, nodes []string, links []Link, each time.Duration) (x Load, err error) {
	slowest := math.Inf(1)
	for _, l := range links {
		slowest = min(slowest, l.Bandwidth.Median)
	}
	if x.Product, _, err = multiplies(ctx, d, nodes, smallTile, slowest, each); err != nil {
		return x, err
	}
	if _, x.Byte, err = multiplies(ctx, d, nodes, largeTile, slowest, each); err != nil {
		return x, err
	}
	x.Latency, err = interrupts(ctx, d, nodes, each)
	return x, err
}

// numbers is how many numbers each node fetches while it multiplies.
const numbers = 8

// interrupts has each node fetch numbers from the node before while all multiply tiles of their
// own, and returns the median, over turns, of half of what a number takes in the mean.
func interrupts(ctx context.Context, d *cluster.Driver, nodes []string, each time.Duration) (latency float64, err error) {
	var all []*blocked.Matrix[float64]
	defer func() {
		for _, x := range all {
			err = errors.Join(err, x.Close())
		}
	}()
	matrix := func(owner, m, n, nb int) *blocked.Matrix[float64] {
		x, failed := on(d, (owner+len(nodes))%len(nodes), len(nodes), m, n, nb)
		if failed != nil {
			err = errors.Join(err, failed)
			return nil
		}
		all = append(all, x)
		return x
	}
	type part struct {
		from, to       [numbers]*blocked.Matrix[float64]
		tiles, by, sum *blocked.Matrix[float64]
	}
	var parts []part
	for k := range nodes {
		m := 4 * largeTile * workersOf(d, nodes[k]) // some products of each worker for each number
		x := part{tiles: matrix(k, m, largeTile, largeTile), by: matrix(k, largeTile, largeTile, largeTile), sum: matrix(k, m, largeTile, largeTile)}
		for i := range numbers {
			x.from[i], x.to[i] = matrix(k-1, 1, 1, 1), matrix(k, 1, 1, 1)
		}
		parts = append(parts, x)
	}
	if err != nil {
		return 0, err
	}
	flows := func() (sum cluster.Flow) {
		for k := range nodes {
			f := fetched(d, nodes[(k+len(nodes)-1)%len(nodes)], nodes[k])
			sum.Values, sum.Took = sum.Values+f.Values, sum.Took+f.Took
		}
		return sum
	}
	ops := kernels.For[float64](builtin.NewTable())
	run := func(f func(p *blocked.Program[float64], x part) error) (err error) {
		job := d.NewJob(ctx)
		p := blocked.NewProgram(job, ops)
		for _, x := range parts {
			err = errors.Join(err, f(p, x))
		}
		return errors.Join(err, job.Wait())
	}
	var took []float64
	began := time.Now()
	for i := 0; i < warmUps+fewest || time.Since(began) < each; i++ {
		if err := run(func(p *blocked.Program[float64], x part) (err error) {
			for _, y := range x.from {
				err = errors.Join(err, p.Plrnt(y, uint64(i), 0))
			}
			return errors.Join(err, p.Plrnt(x.tiles, uint64(i), 0), p.Plrnt(x.by, uint64(i), 0))
		}); err != nil {
			return 0, err
		}
		before := flows()
		if err := run(func(p *blocked.Program[float64], x part) (err error) {
			for k := range numbers {
				err = errors.Join(err, p.Gemm(blas.NoTrans, blas.NoTrans, 1, x.tiles, x.by, 0, x.sum), p.CopyLeading(x.from[k], x.to[k]))
			}
			return err
		}); err != nil {
			return 0, err
		}
		if after := flows(); i >= warmUps && after.Values > before.Values {
			took = append(took, (after.Took-before.Took).Seconds()/float64(after.Values-before.Values)/2)
		}
	}
	if took == nil {
		return 0, &NoFetchError{nodes[0], nodes[1]}
	}
	slices.Sort(took)
	return middle(took), nil
}

// workersOf returns how many workers a node has, at least 1.
func workersOf(d *cluster.Driver, node string) int {
	for _, u := range d.Usage() {
		if u.Node == node && !u.Lost {
			return max(u.Workers, 1)
		}
	}
	return 1
}

// multiplies has each node multiply tiles of nb×nb: once they come from the node before, and once
// they are there, in turn. It returns the medians of the seconds of a product whose tiles are there,
// and of what a byte takes more, at either node.
func multiplies(ctx context.Context, d *cluster.Driver, nodes []string, nb int, slowest float64, each time.Duration) (product, byte float64, err error) {
	most := 1
	for _, name := range nodes {
		most = max(most, workersOf(d, name))
	}
	// Each worker multiplies so many tiles that the first of them, for which it waits, hardly counts.
	// A tile is used as often as it takes for the network to be no limit, if cores make 50 GFLOP/s.
	bytes, flops := float64(8*nb*nb), 2*float64(nb)*float64(nb)*float64(nb)
	tiles, uses := max(32/most, 8), 1+int(4*float64(most)*bytes/slowest/(flops/50e9))
	var all []*blocked.Matrix[float64]
	defer func() {
		for _, x := range all {
			err = errors.Join(err, x.Close())
		}
	}()
	matrix := func(owner, m int) (*blocked.Matrix[float64], error) {
		x, err := on(d, owner, len(nodes), nb, m*nb, nb)
		if err == nil {
			all = append(all, x)
		}
		return x, err
	}
	type part struct{ here, there, by, sum *blocked.Matrix[float64] }
	var parts []part
	for k := range nodes {
		var x part
		m := tiles * workersOf(d, nodes[k])
		for _, y := range []struct {
			at       **blocked.Matrix[float64]
			owner, m int
		}{{&x.here, k, m}, {&x.there, (k + len(nodes) - 1) % len(nodes), m}, {&x.by, k, 1}, {&x.sum, k, m}} {
			if *y.at, err = matrix(y.owner, y.m); err != nil {
				return 0, 0, err
			}
		}
		parts = append(parts, x)
	}
	ops := kernels.For[float64](builtin.NewTable())
	run := func(f func(p *blocked.Program[float64], x part) error) (seconds float64, err error) {
		began := time.Now()
		job := d.NewJob(ctx)
		p := blocked.NewProgram(job, ops)
		for _, x := range parts {
			err = errors.Join(err, f(p, x))
		}
		err = errors.Join(err, job.Wait())
		return time.Since(began).Seconds(), err
	}
	multiply := func(tiles func(x part) *blocked.Matrix[float64]) (seconds float64, err error) {
		return run(func(p *blocked.Program[float64], x part) (err error) {
			for range uses {
				err = errors.Join(err, p.Gemm(blas.NoTrans, blas.NoTrans, 1, x.by, tiles(x), 0, x.sum))
			}
			return err
		})
	}
	var local, more []float64
	began := time.Now()
	for i := 0; i < warmUps+fewest || time.Since(began) < each; i++ {
		// Tiles are new: nodes that have fetched them do not have them any more.
		if _, err := run(func(p *blocked.Program[float64], x part) error {
			return errors.Join(p.Plrnt(x.here, uint64(i), 0), p.Plrnt(x.there, uint64(i), 0), p.Plrnt(x.by, uint64(i), 0))
		}); err != nil {
			return 0, 0, err
		}
		// In the second turn tiles are packed; those that come have to be.
		var near float64
		for range 2 {
			if near, err = multiply(func(x part) *blocked.Matrix[float64] { return x.here }); err != nil {
				return 0, 0, err
			}
		}
		far, err := multiply(func(x part) *blocked.Matrix[float64] { return x.there })
		if err != nil {
			return 0, 0, err
		}
		if i >= warmUps {
			local, more = append(local, near), append(more, far-near)
		}
	}
	slices.Sort(local)
	slices.Sort(more)
	// Each worker has so many tiles come, and as many go.
	return middle(local) / float64(tiles*uses), max(middle(more), 0) / (2 * float64(tiles) * bytes), nil
}
