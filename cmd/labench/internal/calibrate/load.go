package calibrate

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/internal/quiet"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Load is the cost of messages for nodes that compute.
type Load struct {
	Message float64 // seconds of the driver's cores for a message; 0 if unknown
	Byte    float64 // seconds of a core, on both nodes, for a byte of a value
	Number  float64 // seconds until a number arrives
}

const (
	turns   = 6 // rounds of all measurements under load, one after the other
	rounds  = warmUps + 2
	repeats = 2 // of a product in a round
)

// bed is a set of computing nodes, in real or in virtual time.
type bed struct {
	exec.Runtime                        // if it keeps values, they are on the nodes
	workers      []int                  // of each node
	own          int                    // the first own nodes are the driver
	now          func() float64         // seconds
	cpu          func() (float64, bool) // CPU seconds of the driver so far; nil if not measured
	flows        func() cluster.Flow    // of all nodes so far
	rounds       int
	each         time.Duration // minimum time to repeat rounds
	end          time.Time     // after it only the required rounds are run; zero means no limit
}

// late reports whether the time for measurements is over.
func (b bed) late() bool { return !b.end.IsZero() && time.Now().After(b.end) }

// Loads measures the cost of messages for nodes that compute. links are the results of [Links]. If slow links
// or other programs make it slow, it ends after 200 times the time each. progress is called with the numbers of finished
// and of all measurements.
func Loads(ctx context.Context, d *cluster.Driver, nodes []string, links []Link, each time.Duration, progress func(done, total int)) (x Load, err error) {
	slowest := math.Inf(1)
	for _, l := range links {
		slowest = min(slowest, l.Bandwidth.Median)
	}
	began := time.Now()
	b := bed{Runtime: d, now: func() float64 { return time.Since(began).Seconds() }, cpu: quiet.OwnTime, rounds: rounds, each: each / turns, end: began.Add(200 * each)}
	for _, name := range nodes {
		b.workers = append(b.workers, workersOf(d, name))
		if name == d.Usage()[0].Node {
			b.own++
		}
	}
	b.flows = func() (sum cluster.Flow) {
		for k := range nodes {
			f := fetched(d, nodes[(k+len(nodes)-1)%len(nodes)], nodes[k])
			sum.Values, sum.Took = sum.Values+f.Values, sum.Took+f.Took
		}
		return sum
	}
	var p products
	var numbers []float64
	const steps = 2 // per turn
	for turn := 0; turn < turns && (turn == 0 || !b.late()); turn++ {
		progress(turn*steps, turns*steps)
		if err := p.measure(ctx, b, largeTile, slowest); err != nil {
			return x, err
		}
		progress(turn*steps+1, turns*steps)
		took, err := interrupts(ctx, b)
		if err != nil {
			return x, err
		}
		if took == nil {
			return x, &NoFetchError{nodes[0], nodes[1]}
		}
		numbers = append(numbers, took...)
	}
	return Load{middle(p.message), max(middle(p.more), 0), middle(numbers)}, nil
}

// virtually calls f with the nodes of m in virtual time. workers are the worker counts of the nodes.
func virtually(m *sim.Machine, workers []int, f func(b bed) error) error {
	s, err := sim.NewCluster(sim.Options{Machine: m, Nodes: cluster.Options{Owner: true, Stay: true}, Record: true})
	if err != nil {
		return err
	}
	defer s.Close()
	return f(bed{Runtime: s, workers: workers, now: s.Now, rounds: 1, flows: func() (sum cluster.Flow) {
		for _, c := range s.Recording().Copies {
			sum.Values, sum.Took = sum.Values+1, sum.Took+c.End-c.Start
		}
		return sum
	}})
}

// fit sets the cost of messages in m so that numbers take as long in virtual time as measured. workers are the
// worker counts of the nodes.
func (x Load) fit(ctx context.Context, m *sim.Machine, workers []int) (err error) {
	w := &m.Network
	w.Message = x.Message
	w.Core = max(x.Byte-w.Message/(8*largeTile*largeTile), 0) // a tile comes with a message
	w.Busy = 0
	for step := x.Number / 2; step > x.Number/5000; step /= 2 {
		w.Busy += step
		err := virtually(m, workers, func(b bed) error {
			took, err := interrupts(ctx, b)
			if middle(took) > x.Number {
				w.Busy -= step
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// numbers is how many numbers each node fetches while it multiplies.
const numbers = 8

// matrices makes matrices on nodes, and closes them.
type matrices struct {
	bed
	all []*blocked.Matrix[float64]
	err error // why the first one failed that could not be made
}

// on returns a new m×n matrix on a node; −1 is the last one. It returns nil if that, or an earlier one, fails.
func (x *matrices) on(node, m, n, nb int) *blocked.Matrix[float64] {
	if x.err != nil {
		return nil
	}
	nodes := len(x.workers)
	a, err := on(x.Runtime, (node+nodes)%nodes, nodes, m, n, nb)
	if err != nil {
		x.err = err
		return nil
	}
	x.all = append(x.all, a)
	return a
}

// close closes all matrices and adds their errors to err.
func (x *matrices) close(err *error) {
	for _, a := range x.all {
		*err = errors.Join(*err, a.Close())
	}
}

// interrupted is what a node multiplies, and the numbers that it fetches from the node before it meanwhile.
type interrupted struct {
	from               [numbers]*blocked.Matrix[float64]
	to, tiles, by, sum *blocked.Matrix[float64]
}

// make makes the operands of node k with so many workers.
func (x *interrupted) make(on *matrices, k, workers int) {
	m := 4 * largeTile * workers // several products per worker for each number
	x.tiles, x.by, x.sum = on.on(k, m, largeTile, largeTile), on.on(k, largeTile, largeTile, largeTile), on.on(k, m, largeTile, largeTile)
	x.to = on.on(k, 1, 1, 1)
	for i := range x.from {
		x.from[i] = on.on(k-1, 1, 1, 1)
	}
}

// fill submits tasks that write new numbers and factors, so that no node has them.
func (x *interrupted) fill(p *blocked.Program[float64], round int) (err error) {
	for _, y := range append(x.from[:], x.tiles, x.by) {
		err = errors.Join(err, p.Plrnt(y, uint64(round), 0))
	}
	return err
}

// multiply submits the products and, beside each, the fetch of a number.
func (x *interrupted) multiply(p *blocked.Program[float64]) (err error) {
	for _, y := range x.from {
		err = errors.Join(err, p.Gemm(blas.NoTrans, blas.NoTrans, 1, x.tiles, x.by, 0, x.sum), p.CopyLeading(y, x.to))
	}
	return err
}

// interrupts makes each node fetch numbers from the node before it, one after the other, while all nodes
// multiply tiles of their own. It returns the mean time of a number in each round.
func interrupts(ctx context.Context, b bed) (took []float64, err error) {
	made := matrices{bed: b}
	defer made.close(&err)
	parts := make([]interrupted, len(b.workers))
	for k, workers := range b.workers {
		parts[k].make(&made, k, workers)
	}
	if made.err != nil {
		return nil, made.err
	}
	began := time.Now()
	for i := 0; i < b.rounds || time.Since(began) < b.each; i++ {
		if _, err := run(ctx, b, parts, func(p *blocked.Program[float64], x interrupted) error { return x.fill(p, i) }); err != nil {
			return nil, err
		}
		before := b.flows()
		if _, err := run(ctx, b, parts, func(p *blocked.Program[float64], x interrupted) error { return x.multiply(p) }); err != nil {
			return nil, err
		}
		if after := b.flows(); b.counts(i) && after.Values > before.Values {
			took = append(took, (after.Took-before.Took).Seconds()/float64(after.Values-before.Values))
		}
		if b.late() && took != nil {
			break
		}
	}
	return took, nil
}

// counts reports whether the times of a round count. The first rounds do not, if there are more.
func (b bed) counts(round int) bool { return b.late() || round >= min(warmUps, b.rounds-1) }

// run calls f for each part of the nodes and returns how long the program takes.
func run[P any](ctx context.Context, b bed, parts []P, f func(p *blocked.Program[float64], x P) error) (seconds float64, err error) {
	began := b.now()
	job := b.NewJob(ctx)
	p := blocked.NewProgram(job, kernels.For[float64](op.NewTable()))
	for _, x := range parts {
		err = errors.Join(err, f(p, x))
	}
	err = errors.Join(err, job.Wait())
	return b.now() - began, err
}

// workersOf returns the number of workers of a node, at least 1.
func workersOf(d *cluster.Driver, node string) int {
	for _, u := range d.Usage() {
		if u.Node == node && !u.Lost {
			return max(u.Workers, 1)
		}
	}
	return 1
}

// products is the cost of messages in products of tiles. message is the seconds of the driver's cores per
// message, in each turn. more is the additional seconds per byte, on each of the two nodes, of tiles that come
// from another node.
type products struct{ message, more []float64 }

// product is what a node multiplies: tiles that are here, or tiles of the node before it.
type product struct{ here, there, by, sum *blocked.Matrix[float64] }

// tilesOf returns how many tiles of nb×nb each worker multiplies, and how often each is used.
func tilesOf(most, nb int, slowest float64) (tiles, uses int) {
	// Each worker multiplies so many tiles that waiting for the first hardly counts. Each tile is used so often
	// that the network is no limit if a core makes 50 GFLOP/s.
	bytes, flops := float64(8*nb*nb), 2*float64(nb)*float64(nb)*float64(nb)
	tiles, uses = max(32/most, 8), 1+int(4*float64(most)*bytes/slowest/(flops/50e9))
	// All tiles together take at most half a second.
	if longest := int(25e9 / flops); tiles*uses > longest {
		tiles = 8
		uses = max(min(uses, longest/tiles), 1)
	}
	return tiles, uses
}

// measure makes each node multiply tiles of nb×nb, in turns with tiles that are there and with tiles that come
// from the node before it.
func (x *products) measure(ctx context.Context, b bed, nb int, slowest float64) (err error) {
	tiles, uses := tilesOf(slices.Max(b.workers), nb, slowest)
	made := matrices{bed: b}
	defer made.close(&err)
	parts := make([]product, len(b.workers))
	for k, workers := range b.workers {
		wide := tiles * workers * nb
		parts[k] = product{here: made.on(k, nb, wide, nb), there: made.on(k-1, nb, wide, nb), by: made.on(k, nb, nb, nb), sum: made.on(k, nb, wide, nb)}
	}
	if made.err != nil {
		return made.err
	}
	multiply := func(parts []product, tiles func(x product) *blocked.Matrix[float64]) (seconds float64, err error) {
		return run(ctx, b, parts, func(p *blocked.Program[float64], x product) (err error) {
			for range uses {
				err = errors.Join(err, p.Gemm(blas.NoTrans, blas.NoTrans, 1, x.by, tiles(x), 0, x.sum))
			}
			return err
		})
	}
	here, there := func(x product) *blocked.Matrix[float64] { return x.here }, func(x product) *blocked.Matrix[float64] { return x.there }
	messages := 0 // one with each task, one with its end
	for _, workers := range b.workers[b.own:] {
		messages += 2 * tiles * uses * workers
	}
	var costs []float64
	began := time.Now()
	for i := 0; i < b.rounds || time.Since(began) < b.each; i++ {
		// New tiles invalidate the copies that nodes have fetched.
		if _, err := run(ctx, b, parts, func(p *blocked.Program[float64], x product) error {
			return errors.Join(p.Plrnt(x.here, uint64(i), 0), p.Plrnt(x.there, uint64(i), 0), p.Plrnt(x.by, uint64(i), 0))
		}); err != nil {
			return err
		}
		var near, far float64
		for range 2 { // the first product packs tiles; those of the second that are fetched have to be packed again
			if near, err = multiply(parts, here); err != nil {
				return err
			}
		}
		for k := 0; k < repeats && b.cpu != nil && b.counts(i); k++ {
			before, known := b.cpu()
			if _, err := multiply(parts[b.own:], here); err != nil { // the driver does nothing but handle messages
				return err
			}
			if after, _ := b.cpu(); known {
				costs = append(costs, (after-before)/float64(messages))
			}
		}
		if far, err = multiply(parts, there); err != nil {
			return err
		}
		if b.counts(i) { // each worker receives and sends as many tiles
			x.more = append(x.more, (far-near)/(2*float64(tiles)*float64(8*nb*nb)))
		}
		if b.late() && len(x.more) > 0 {
			break
		}
	}
	if len(costs) > 0 {
		x.message = append(x.message, middle(costs))
	}
	return nil
}
