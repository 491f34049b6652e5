package loopapps

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/parts"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/transport/web"
	"github.com/tessera-la/tessera/versions"
)

// NodesError says that an application does not run on several nodes.
type NodesError struct{ Kind Kind }

func (e *NodesError) Error() string {
	return fmt.Sprintf("%v runs in one process: kmeans and histogram run on several nodes", e.Kind)
}

// OnNodes returns a *NodesError if the application does not run on several nodes.
func (k Kind) OnNodes() error {
	if k != Clouds && k != Counts {
		return &NodesError{k}
	}
	return nil
}

// OnNodes is k-means or a histogram on points in the rows of a distributed matrix. Tasks on the nodes add up
// rows, and this process adds up what they return.
type OnNodes struct {
	driver *cluster.Driver
	data   *blocked.Matrix[float64]
	n, d   int
	means  *KMeans    // with the same points in this process, to verify the result; nil for a histogram
	counts *Histogram // likewise; nil for k-means
}

// NewOnNodes makes random points on the nodes of a driver, in the given number of blocks for each worker. The
// caller must Close the result. The error is a *NodesError, or the job's.
func NewOnNodes(ctx context.Context, d *cluster.Driver, k Kind, size Size) (*OnNodes, error) {
	if err := k.OnNodes(); err != nil {
		return nil, err
	}
	x := &OnNodes{driver: d, n: size.Points, d: size.Dims}
	blocks := size.Blocks * x.workers()
	nb := tiles.Count(x.n, blocks)
	if nb < x.d {
		return nil, fmt.Errorf("%d points in %d blocks: a block on nodes has at least as many points as these have coordinates, %d", x.n, blocks, x.d)
	}
	local, err := exec.NewLocal(exec.Options{Float: true})
	if err != nil {
		return nil, err
	}
	defer local.Close()
	own := tiles.New[float64](blocked.Full, x.n, x.d, nb)
	random := func(a *blocked.Matrix[float64]) func(*blocked.Program[float64]) error {
		return func(p *blocked.Program[float64]) error { return p.Plrnt(a, size.Seed, 0) }
	}
	if err := program(ctx, local, random(own)); err != nil {
		return nil, err
	}
	p := &points{n: x.n, d: x.d, data: parts.RowBlocksOf(own)}
	if k == Clouds {
		x.means = kmeansOn(p, size.Centres, size.Iterations)
	} else {
		x.counts = &Histogram{points: p, bins: size.Bins}
		for b := range p.data.Blocks() {
			for r := range p.data.Items(b) {
				for j := range p.data.Block(b).Row(r) {
					p.data.Block(b).Row(r)[j] += shift
				}
			}
		}
	}
	if x.data, err = x.matrix(nb); err != nil {
		return nil, err
	}
	if err := program(ctx, d, random(x.data)); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// shift makes numbers of Plrnt, from −½ to ½, coordinates of a histogram's point.
const shift = 0.5

// Close drops the points.
func (x *OnNodes) Close() error { return x.data.Close() }

// workers returns the number of workers of the nodes that compute.
func (x *OnNodes) workers() (n int) {
	for _, w := range x.driver.Workers() {
		if !w.Spare {
			n++
		}
	}
	return max(n, 1)
}

// matrix returns a matrix for points in blocks of nb, which are dealt out to the agents.
func (x *OnNodes) matrix(nb int) (*blocked.Matrix[float64], error) {
	a, err := blocked.Distributed[float64](x.driver, blocked.Full, x.n, x.d, nb)
	if err != nil {
		return nil, err
	}
	agents := max(len(x.driver.Nodes())-1, 1)
	if err := a.SetLayout(blocked.BlockCyclic{P: agents, Q: 1}, agents); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// program runs a program and waits for its end.
func program(ctx context.Context, rt exec.Runtime, f func(*blocked.Program[float64]) error) error {
	job := rt.NewJob(ctx)
	return errors.Join(f(blocked.NewProgram(job, kernels.For[float64](op.NewTable()))), job.Wait())
}

// Verify returns an error if the last Run has computed a wrong result: see [Problem].
func (x *OnNodes) Verify(first bool) error {
	if x.means != nil {
		return x.means.Verify(first)
	}
	return x.counts.Verify(first)
}

// Describe says in a few words what the data are, and Bytes how many they are.
func (x *OnNodes) Describe() string {
	if x.means != nil {
		return x.means.Describe()
	}
	return x.counts.Describe()
}

// Bytes returns the size of the data.
func (x *OnNodes) Bytes() int64 { return int64(8 * x.n * x.d) }

// Run executes the application once, with the data arranged as the case says. It returns the number of tasks that
// have gone through the data.
func (x *OnNodes) Run(ctx context.Context, c Case) (count int, err error) {
	rows, end, err := x.arrange(ctx, c.Form)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, end()) }()
	var ps *parts.Partitions
	if c.Form.Loops() {
		ps = parts.Split(x.driver, rows, 0)
	}
	if x.counts != nil {
		h := x.counts
		sums, err := x.sum(ctx, rows, ps, c.Plan, histogramOp, func(first, last int) any { return &binning{first, last, h.bins} }, h.cells(), nil)
		h.have = make([]int, h.cells())
		for _, s := range sums {
			for i, v := range s.Data {
				h.have[i] += int(v)
			}
		}
		return len(sums), err
	}
	m := x.means
	m.centres = m.first()
	for range m.iterations {
		centres := &kernels.Tile[float64]{Rows: m.k, Cols: m.d, Stride: m.d, Data: m.centres}
		sums, err := x.sum(ctx, rows, ps, c.Plan, clustersOp, func(first, last int) any { return &clustering{first, last} }, m.k*(m.d+1), centres)
		if err != nil {
			return count, err
		}
		total := clusters{make([]float64, m.k*m.d), make([]float64, m.k)}
		for _, s := range sums {
			for i, v := range s.Data[:m.k*m.d] {
				total.sums[i] += v
			}
			for i, v := range s.Data[m.k*m.d:] {
				total.counts[i] += v
			}
		}
		m.centres = append([]float64(nil), m.centres...)
		m.move(&total)
		count += len(sums)
	}
	return count, nil
}

// arrange returns the points in the blocks of a form. The caller must call end after the use of them.
func (x *OnNodes) arrange(ctx context.Context, f Form) (rows *parts.RowBlocks[float64], end func() error, err error) {
	rows, end = parts.RowBlocksOf(x.data), func() error { return nil }
	switch f {
	case Rechunk:
		b, err := x.matrix(max(tiles.Count(x.n, x.workers()), x.d))
		if err != nil {
			return nil, nil, err
		}
		if err := program(ctx, x.driver, func(p *blocked.Program[float64]) error { return p.Rechunk(x.data, b) }); err != nil {
			return nil, nil, errors.Join(err, b.Close())
		}
		return parts.RowBlocksOf(b), b.Close, nil
	case Materialised:
		var made *parts.RowBlocks[float64]
		if err := program(ctx, x.driver, func(p *blocked.Program[float64]) (err error) {
			made, err = parts.Materialize(p, rows, parts.Split(x.driver, rows, 0))
			return err
		}); err != nil {
			if made != nil {
				err = errors.Join(err, made.Close())
			}
			return nil, nil, err
		}
		return made, made.Close, nil
	}
	return rows, end, nil
}

// sum adds up rows by tasks of an op: one for each chunk of the partitions or, without partitions, for each block.
// params returns the parameter of a task whose rows begin with one of the first block and end before one of the last.
// sum returns what each task has made, so many numbers. centres, if not nil, is an operand of each.
func (x *OnNodes) sum(ctx context.Context, rows *parts.RowBlocks[float64], ps *parts.Partitions, plan loop.Plan, of *versions.Op,
	params func(first, last int) any, numbers int, centres *kernels.Tile[float64]) (sums []*kernels.Tile[float64], err error) {
	data, job := rows.Data(1), x.driver.NewJob(ctx)
	shared := &graph.Datum{Key: graph.Key{Matrix: 3}, Value: centres}
	task := func(blocks []int, first, last int) graph.Spec {
		to := &kernels.Tile[float64]{Rows: 1, Cols: numbers, Stride: numbers, Data: make([]float64, numbers)}
		sums = append(sums, to)
		s := graph.Spec{Op: of, Params: params(first, last), Operands: []graph.Operand{{Datum: &graph.Datum{
			Key: graph.Key{Matrix: 2, I: int32(len(sums))}, Value: to, Bytes: to.Bytes(), Owner: data[blocks[0]].Owner,
		}, Mode: graph.Out}}}
		if centres != nil {
			s.Operands = append(s.Operands, graph.Operand{Datum: shared, Mode: graph.In})
		}
		for _, b := range blocks {
			s.Operands = append(s.Operands, graph.Operand{Datum: &data[b], Mode: graph.In})
		}
		return s
	}
	if ps != nil {
		_, err = loop.Submit(x.driver, job, ps.Len(), loop.Options{Plan: plan, Parts: ps.Parts()}, func(c loop.Chunk) (graph.Spec, error) {
			var blocks []int
			first, last := 0, 0
			for s := range ps.Spans(c.Lo, c.Hi) {
				if blocks == nil {
					first = s.Lo
				}
				blocks, last = append(blocks, s.Block), s.Hi
			}
			return task(blocks, first, last), nil
		})
	} else {
		for b := 0; b < rows.Blocks() && err == nil; b++ {
			s := task([]int{b}, 0, rows.Items(b))
			_, err = job.Submit(&s)
		}
	}
	return sums, errors.Join(err, job.Wait())
}

// binning is the parameter of op papers.histogram.
type binning struct{ First, Last, Bins int }

// histogramOp counts points in the cells of its first operand. The others are blocks of points.
var histogramOp = &versions.Op{Name: "papers.histogram", NewParams: func() any { return new(binning) }, Versions: []versions.Version{{Name: "go", Run: func(call *versions.Call) error {
	p, cells := call.Params.(*binning), call.Args[0].(*kernels.Tile[float64]).Data
	clear(cells)
	eachBlock(call.Args[1:], p.First, p.Last, func(b *kernels.Tile[float64], lo, hi int) {
		for r := lo; r < hi; r++ {
			cell := 0
			for _, v := range b.Row(r) {
				cell = cell*p.Bins + min(int((v+shift)*float64(p.Bins)), p.Bins-1)
			}
			cells[cell]++
		}
	})
	return nil
}}}}

// clustering is the parameter of op papers.kmeans.
type clustering struct{ First, Last int }

// eachBlock calls do for rows lo to hi−1 of each block of a task.
func eachBlock(blocks []any, first, last int, do func(b *kernels.Tile[float64], lo, hi int)) {
	for i, v := range blocks {
		b := v.(*kernels.Tile[float64])
		lo, hi := 0, b.Rows
		if i == 0 {
			lo = first
		}
		if i == len(blocks)-1 {
			hi = last
		}
		do(b, lo, hi)
	}
}

// clustersOp adds points to the sums of their nearest centres, k×d numbers and then k counts, in its first operand. The
// second one has the centres, and the others are blocks of points.
var clustersOp = &versions.Op{Name: "papers.kmeans", NewParams: func() any { return new(clustering) }, Versions: []versions.Version{{Name: "go", Run: func(call *versions.Call) error {
	to, centres := call.Args[0].(*kernels.Tile[float64]).Data, call.Args[1].(*kernels.Tile[float64])
	k, d := centres.Rows, centres.Cols
	m := kmeansOn(&points{d: d}, k, 0)
	for c := range k {
		m.centres = append(m.centres, centres.Row(c)...)
	}
	clear(to)
	sum := clusters{to[:k*d], to[k*d:]}
	p, halves := call.Params.(*clustering), m.halves()
	eachBlock(call.Args[2:], p.First, p.Last, func(b *kernels.Tile[float64], lo, hi int) { m.assign(b, lo, hi, halves, &sum) })
	return nil
}}}}

// Node returns the options of a node on the loopback address, with one worker, which knows the addresses of peers.
func Node(name string, peers ...string) (opt cluster.Options, err error) {
	if opt.Transport, err = web.New(web.Options{
		Name: name, Listen: "127.0.0.1:0", Plain: true, Peers: peers, Greet: 100 * time.Millisecond, Timeout: 20 * time.Second,
	}); err != nil {
		return opt, err
	}
	opt.Ops, opt.Values, opt.Errors = append(op.NewTable().All(), histogramOp, clustersOp), kernels.Values(), kernels.Errors()
	opt.Runtime, err = exec.NewLocal(exec.Options{Workers: 1, Float: true})
	return opt, err
}
