package loopapps

import (
	"context"
	"time"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/versions"
)

// Form is how work goes over data in blocks.
type Form uint8

// The forms.
const (
	Baseline     Form = iota // a task for each block
	Split                    // a loop over partitions of the blocks as they lie
	Rechunk                  // the data copied into a block for each worker, and a task for each
	Materialised             // the data copied into a block for each partition, and a loop over these
)

var forms = [...]string{"baseline", "split", "rechunk", "materialised"}

// Forms returns all forms.
func Forms() []Form { return []Form{Baseline, Split, Rechunk, Materialised} }

func (f Form) String() string { return forms[f] }

// Loops reports whether the form has loops, which a plan can change.
func (f Form) Loops() bool { return f == Split || f == Materialised }

// Formed is a [Problem] over data in blocks.
type Formed interface {
	Problem
	// SetForm says in which form the next Run is, with all that has to be made for it.
	SetForm(Form)
}

// points is random points in blocks, each in memory of its own: an item is a point.
type points struct {
	n, d int
	data *blocked.RowBlocks[float64]
	form Form
}

// SetForm implements [Formed].
func (p *points) SetForm(f Form) { p.form = f }

// Bytes implements [Problem].
func (p *points) Bytes() int64 { return int64(8 * p.n * p.d) }

// newPoints makes points in so many blocks: fill writes the one with a number.
func newPoints(ctx context.Context, rt exec.Runtime, n, d, blocks int, fill func(i int, x []float64)) (*points, error) {
	blocks = max(1, min(blocks, n))
	list := make([]blocked.General[float64], blocks)
	if err := loop.For(ctx, rt, blocks, loop.Options{}, func(c loop.Chunk) error {
		for b := c.Lo; b < c.Hi; b++ {
			lo, hi := b*n/blocks, (b+1)*n/blocks
			g := blocked.General[float64]{Rows: hi - lo, Cols: d, Stride: d, Data: make([]float64, (hi-lo)*d)}
			for i := lo; i < hi; i++ {
				fill(i, g.Data[(i-lo)*d:(i-lo+1)*d])
			}
			list[b] = g
		}
		return nil
	}); err != nil {
		return nil, err
	}
	data, err := blocked.JoinRows(list...)
	return &points{n: n, d: d, data: data}, err
}

// formed is points made ready for a form.
type formed struct {
	data  *blocked.RowBlocks[float64]
	parts *blocked.Partitions // if the form has loops
}

// prepare makes the points ready for their form.
func (p *points) prepare(ctx context.Context, rt exec.Runtime) (f formed, err error) {
	f.data = p.data
	switch p.form {
	case Rechunk:
		workers := len(rt.Workers())
		f.data, err = p.data.Rechunk(ctx, rt, (p.n+workers-1)/workers)
	case Split, Materialised:
		f.parts = blocked.Split(rt, p.data, 0)
		if p.form == Materialised {
			if f.data, err = p.data.Materialize(ctx, rt, f.parts); err == nil {
				f.parts = blocked.Split(rt, f.data, 0)
			}
		}
	}
	return f, err
}

// reduce adds up what body contributes for rows lo to hi−1 of each block.
func reduce[T any](ctx context.Context, rt exec.Runtime, f formed, opt loop.Options, r loop.Reduction[T], body func(block *blocked.Tile[float64], lo, hi int, sum *T)) (T, error) {
	if f.parts != nil {
		opt.Parts = f.parts.Parts()
		return loop.Reduce(ctx, rt, f.parts.Len(), opt, r, func(c loop.Chunk, sum *T) error {
			for s := range f.parts.Spans(c.Lo, c.Hi) {
				body(f.data.Block(s.Block), s.Lo, s.Hi, sum)
			}
			return nil
		})
	}
	began, blocks := time.Now(), f.data.Blocks()
	partials := make([]T, blocks)
	job := rt.NewJob(ctx)
	for b := range blocks {
		task := &blockTask{func() {
			partials[b] = r.New()
			body(f.data.Block(b), 0, f.data.Items(b), &partials[b])
		}}
		if _, err := job.Submit(&graph.Spec{Op: blockOp, Params: task}); err != nil {
			break // the job's, which Wait returns
		}
	}
	sum := r.New()
	if err := job.Wait(); err != nil {
		return sum, err
	}
	for b := range partials {
		r.Add(&sum, &partials[b])
	}
	n, _ := f.data.Dims()
	*opt.Stats = loop.Stats{Items: n, Took: time.Since(began), Workers: []loop.WorkerStats{{Chunks: blocks, Items: n}}}
	return sum, nil
}

// blockTask is the parameter of a task for a block, which stays in the process.
type blockTask struct{ do func() }

var blockOp = &versions.Op{Name: "block", Bound: true, Versions: []versions.Version{{Name: "go", Run: func(call *versions.Call) error {
	call.Params.(*blockTask).do()
	return nil
}}}}
