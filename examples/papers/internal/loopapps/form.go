package loopapps

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/parts"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/versions"
)

// Form says how a program iterates over data that is stored in blocks.
type Form uint8

// The forms.
const (
	Baseline     Form = iota // one task per block
	Split                    // a loop over partitions of the original blocks
	Rechunk                  // the data is copied into larger blocks, with one task per block
	Materialised             // the data is copied into one block per partition, with a loop over partitions
)

var forms = [...]string{"baseline", "split", "rechunk", "materialised"}

// Forms returns all forms.
func Forms() []Form { return []Form{Baseline, Split, Rechunk, Materialised} }

func (f Form) String() string { return forms[f] }

// Loops reports whether the form has loops, which a plan can change.
func (f Form) Loops() bool { return f == Split || f == Materialised }

// Formed is a [Problem] on data in blocks whose program has several forms.
type Formed interface {
	Problem
	// SetForm sets the form of the next Run. Run arranges the data for it.
	SetForm(Form)
}

// points are n random points of d coordinates in blocks. Each block is a separate allocation. An item of
// data is a point.
type points struct {
	n, d int
	data *parts.RowBlocks[float64]
	form Form
}

// SetForm implements [Formed].
func (p *points) SetForm(f Form) { p.form = f }

// Bytes implements [Problem].
func (p *points) Bytes() int64 { return int64(8 * p.n * p.d) }

// newPoints makes n points of d coordinates in at most the given number of blocks; a block has at least one
// point. fill writes the coordinates of point i to x. It is called by several goroutines at once.
func newPoints(ctx context.Context, rt exec.Runtime, n, d, blocks int, fill func(i int, x []float64)) (*points, error) {
	blocks = max(1, min(blocks, n))
	all := make([]blocked.General[float64], blocks)
	if err := loop.For(ctx, rt, blocks, loop.Options{}, func(c loop.Chunk) error {
		for b := c.Lo; b < c.Hi; b++ {
			lo, hi := b*n/blocks, (b+1)*n/blocks
			block := blocked.General[float64]{Rows: hi - lo, Cols: d, Stride: d, Data: make([]float64, (hi-lo)*d)}
			for i := lo; i < hi; i++ {
				fill(i, block.Data[(i-lo)*d:(i-lo+1)*d])
			}
			all[b] = block
		}
		return nil
	}); err != nil {
		return nil, err
	}
	data, err := parts.JoinRows(all...)
	return &points{n: n, d: d, data: data}, err
}

// formed is the result of [points.prepare]: the points in the blocks and partitions that their form asks for.
type formed struct {
	data  *parts.RowBlocks[float64]
	parts *parts.Partitions // nil if the form has one task per block
	from  *parts.Partitions // Materialised: the partitions of the original points, in the order of the copy; else nil
}

// prepare arranges the points as their form asks. It makes perLocation partitions, or blocks if the form is
// Rechunk, for each location that has workers; 0 means one for each worker.
func (p *points) prepare(ctx context.Context, rt exec.Runtime, perLocation int) (f formed, err error) {
	f.data = p.data
	switch p.form {
	case Rechunk:
		blocks := perLocation * locations(rt)
		if perLocation == 0 {
			blocks = len(rt.Workers())
		}
		f.data, err = p.data.Rechunk(ctx, rt, (p.n+blocks-1)/blocks)
	case Split, Materialised:
		f.parts = parts.Split(rt, p.data, perLocation)
		if p.form == Materialised {
			f.from = f.parts
			if f.data, err = p.data.Materialize(ctx, rt, f.parts); err == nil {
				f.parts = parts.Split(rt, f.data, perLocation)
			}
		}
	}
	return f, err
}

// locations returns the number of locations that have workers of rt.
func locations(rt exec.Runtime) int {
	known := map[int]bool{}
	for _, w := range rt.Workers() {
		known[w.Location] = true
	}
	return len(known)
}

// numbers maps each item of the data to the number of its point. It returns nil if item i is point i: if the
// form does not move points.
func (f formed) numbers() (all []int) {
	if f.from == nil {
		return nil
	}
	for _, p := range f.from.Partitions() {
		all = slices.AppendSeq(all, p.ItemIndexes())
	}
	return all
}

// firstsOf returns, for each block, the number of its first item.
func firstsOf(data *parts.RowBlocks[float64]) []int {
	firsts := make([]int, data.Blocks())
	for b := 1; b < len(firsts); b++ {
		firsts[b] = firsts[b-1] + data.Items(b-1)
	}
	return firsts
}

// all iterates over the original points: their numbers, ascending, and their coordinates.
func (p *points) all() iter.Seq2[int, []float64] {
	return func(yield func(int, []float64) bool) {
		i := 0
		for b := range p.data.Blocks() {
			for r := range p.data.Items(b) {
				if !yield(i, p.data.Block(b).Row(r)) {
					return
				}
				i++
			}
		}
	}
}

// units returns the number of partitions or, if the form has tasks, of blocks.
func (f formed) units() int {
	if f.parts != nil {
		return len(f.parts.Partitions())
	}
	return f.data.Blocks()
}

// items iterates over the points of a unit: their numbers, ascending, and their coordinates. firsts is the
// result of firstsOf for the data, numbers that of [formed.numbers]; callers compute both once for all units.
func (f formed) items(unit int, firsts, numbers []int) iter.Seq2[int, []float64] {
	return func(yield func(int, []float64) bool) {
		blocks := []int{unit}
		if f.parts != nil {
			blocks = f.parts.Partitions()[unit].Indexes()
		}
		for _, b := range blocks {
			for r := range f.data.Items(b) {
				i := firsts[b] + r
				if numbers != nil {
					i = numbers[i]
				}
				if !yield(i, f.data.Block(b).Row(r)) {
					return
				}
			}
		}
	}
}

// each calls do for every unit, for several units at once. The form decides between a loop whose items are the
// partitions, and one task for each block. In the second case opt.Stats must not be nil.
func (f formed) each(ctx context.Context, rt exec.Runtime, opt loop.Options, do func(unit int) error) error {
	if f.parts != nil {
		for _, p := range f.parts.Partitions() {
			opt.Parts = append(opt.Parts, loop.Part{Items: 1, Location: p.Location})
		}
	}
	return f.run(ctx, rt, f.units(), opt, do)
}

// run calls do(0) to do(n−1), in a loop or, if the form has tasks, in one task each.
func (f formed) run(ctx context.Context, rt exec.Runtime, n int, opt loop.Options, do func(i int) error) error {
	if f.parts == nil {
		return tasks(ctx, rt, n, opt.Stats, do)
	}
	return loop.For(ctx, rt, n, opt, func(c loop.Chunk) error {
		for i := c.Lo; i < c.Hi; i++ {
			if err := do(i); err != nil {
				return err
			}
		}
		return nil
	})
}

// reduce returns the sum over all points. body adds rows lo to hi−1 of a block to a partial sum; r adds the
// partial sums. If the form has tasks, opt.Stats must not be nil.
func reduce[T any](ctx context.Context, rt exec.Runtime, f formed, opt loop.Options, r loop.Reduction[T],
	body func(block *blocked.Tile[float64], lo, hi int, sum *T)) (T, error) {
	if f.parts != nil {
		opt.Parts = f.parts.Parts()
		return loop.Reduce(ctx, rt, f.parts.Len(), opt, r, func(c loop.Chunk, sum *T) error {
			for s := range f.parts.Spans(c.Lo, c.Hi) {
				body(f.data.Block(s.Block), s.Lo, s.Hi, sum)
			}
			return nil
		})
	}
	blocks := f.data.Blocks()
	partials := make([]T, blocks)
	if err := tasks(ctx, rt, blocks, opt.Stats, func(b int) error {
		partials[b] = r.New()
		body(f.data.Block(b), 0, f.data.Items(b), &partials[b])
		return nil
	}); err != nil {
		return r.New(), err
	}
	sum := r.New()
	for b := range partials {
		r.Add(&sum, &partials[b])
	}
	opt.Stats.Items, _ = f.data.Dims()
	return sum, nil
}

// tasks calls do(0) to do(n−1) in one task each and waits for them. It writes the elapsed time and the number
// of tasks to stats, which must not be nil. It returns the error of the first task that failed.
func tasks(ctx context.Context, rt exec.Runtime, n int, stats *loop.Stats, do func(i int) error) error {
	began := time.Now()
	job := rt.NewJob(ctx)
	for i := range n {
		if err := submit(job, func() error { return do(i) }); err != nil {
			break // Wait returns the error of the job
		}
	}
	err := job.Wait()
	*stats = loop.Stats{Items: n, Took: time.Since(began), Workers: []loop.WorkerStats{{Chunks: n, Items: n}}}
	return err
}

// submit submits a task that calls do. The operands order it among other tasks.
func submit(job exec.Job, do func() error, operands ...graph.Operand) error {
	_, err := job.Submit(&graph.Spec{Op: blockOp, Params: &blockTask{do}, Operands: operands})
	return err
}

// blockTask is the parameter of a task for one block. A function cannot be sent to another process.
type blockTask struct{ do func() error }

// blockOp is the op of a task that calls the function in its parameter.
var blockOp = &versions.Op{Name: "block", Bound: true, Versions: []versions.Version{{Name: "go", Run: func(call *versions.Call) error {
	return call.Params.(*blockTask).do()
}}}}
