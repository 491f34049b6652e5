package blocked

import (
	"sync"

	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// LoadOptions says how [Program.Load] reads its source. The zero value reads
// rows and hands every tile on as soon as it is filled.
type LoadOptions struct {
	// ByColumns fills tile column by tile column, each from top to bottom,
	// instead of row by row. An algorithm that begins with whole columns, as
	// Getrf and Geqrf do, starts after the first of them; Potrf, and products,
	// start after a row.
	ByColumns bool
	// Lazy hands the tiles of a task on only when the task ends. Benchmarks use it to
	// measure the gain of eager release.
	Lazy bool
	// Priority returns the priority of the task that fills a tile row, or a tile
	// column with ByColumns. A task that fills all tiles has that of line 0. Nil means
	// 0 for all: lines then are read when no task with a higher priority is ready. See
	// chol.PotrfLoads.
	Priority func(line int) int64
}

// Load submits tasks that overwrite A with src as [Matrix.CopyFrom] does,
//
//	a(i, j) = src(i, j) for every (i, j) in the part that a stores,
//
// so that tasks submitted after them start on the first tiles while the others
// are still read:
//
//	CopyFrom, then Potrf        Load, and Potrf with it
//	┌──────────┬─────────┐      ┌──────────┬─────┐
//	│ read     │ factor  │      │ read     │fact.│
//	└──────────┼─────────┤      ├──┬───────┴─────┤
//	           │ factor  │         │ factor      │
//	           └─────────┘         └─────────────┘
//
// If src can only be read through At, one task reads all elements in turn, as At
// need not be safe for concurrent use. All tiles are operands of this task, which
// releases each as soon as it is filled (versions.Call.Finished). If src is
// memory, as CopyFrom knows it, one task reads each tile row or column, several at
// once.
//
// If A is distributed (see [Distributed]), Load scatters src: each node copies its
// tiles from the memory of src. If src is not row-major memory, tasks make a copy
// here first. Diagonal tiles are copied whole, also the part that A does not store.
//
// Before the job's Wait, src must not be written, and A must not be used outside
// the job. src must not share memory with A. A panic of At fails the job with an
// *exec.TaskError of op "load". Tiles handed on before keep their values, and
// results computed from them are correct.
//
// It panics with ErrShape if the dimensions differ, and with ErrStorage if the
// data of a raw src cannot hold it.
//
// Reference: "Accelerated execution via eager release of dependencies in
// task-based workflows" (Elshazly et al., 2021).
func (p *Program[T]) Load(a *Matrix[T], src Source[T], opt LoadOptions) error {
	if a.Remote() != nil {
		return p.scatter(a, src, opt)
	}
	return p.load(a, tiles.NewFilling(a, src, false), opt)
}

// scatter is Load into a matrix whose tiles are on other nodes.
func (p *Program[T]) scatter(a *Matrix[T], src Source[T], opt LoadOptions) error {
	if m, n := src.Dims(); m != a.Rows() || n != a.Cols() {
		panic(ErrShape)
	}
	v, trans, ok := tiles.ViewOf(src, a.NB())
	if !ok || trans != blas.NoTrans || v.Kind() != Full && v.Kind() != a.Kind() {
		v = tiles.Unfilled[T](a.Kind(), a.Rows(), a.Cols(), a.NB())
		p.tasks.Err = p.load(v, tiles.NewFilling(v, src, false), opt)
	}
	from, to := p.tasks.Reads(v), p.tasks.Operand(a)
	whole := &op.Lacpy{Uplo: blas.All}
	for i, j := range a.StoredTiles() {
		p.tasks.Submit(p.tasks.Op("lacpy"), whole, 0, submit.In(from.Tile(i, j)), submit.Out(to.Tile(i, j)))
	}
	return p.tasks.Err
}

// LoadStats is [Program.Load] that also computes the [Stats] of A, while each tile is in
// cache. The caller must not read them before the job's Wait has returned. They are valid
// unless the job has failed or was cancelled.
func (p *Program[T]) LoadStats(a *Matrix[T], src Source[T], opt LoadOptions) (*tiles.Filling[T], error) {
	f := tiles.NewFilling(a, src, true)
	return f, p.load(a, f, opt)
}

func (p *Program[T]) load(a *Matrix[T], from *tiles.Filling[T], opt LoadOptions) error {
	o := p.tasks.Operand(a)
	lines, across := a.MT(), a.NT()
	if opt.ByColumns {
		lines, across = across, lines
	}
	priority := func(line int) int64 {
		if opt.Priority == nil {
			return 0
		}
		return opt.Priority(line)
	}
	l := &load[T]{from: from, opt: opt}
	p.tasks.Operands = p.tasks.Operands[:0]
	for line := range lines {
		for k := range across {
			i, j := line, k
			if opt.ByColumns {
				i, j = k, line
			}
			if a.Stored(i, j) {
				p.tasks.Operands = append(p.tasks.Operands, submit.InOut(o.Tile(i, j)))
				l.tiles = append(l.tiles, [2]int{i, j})
			}
		}
		if from.InMemory() && len(l.tiles) > 0 {
			p.tasks.Submit(loadOp[T](), l, priority(line), p.tasks.Operands...)
			l = &load[T]{from: from, opt: opt}
			p.tasks.Operands = p.tasks.Operands[:0]
		}
	}
	if len(l.tiles) > 0 {
		p.tasks.Submit(loadOp[T](), l, priority(0), p.tasks.Operands...)
	}
	return p.tasks.Err
}

// load is the parameter of op "load", which fills tiles of a matrix. Operands: the
// tiles (inout, since only the stored triangle of a diagonal tile is written).
type load[T Element] struct {
	from  *tiles.Filling[T]
	tiles [][2]int // the row and column of each operand, in the order of filling
	opt   LoadOptions
}

// ops has an op for each element type.
type ops struct{ f32, f64 *versions.Op }

// loads is op "load".
var loads = sync.OnceValue(func() ops {
	return ops{newLoad[float32]("f32"), newLoad[float64]("f64")}
})

func loadOp[T Element]() *versions.Op {
	return scalar.Pick[T](loads().f32, loads().f64)
}

func newLoad[T Element](typ string) *versions.Op {
	return &versions.Op{
		Name: "load", Type: typ, Bound: true, // to the source
		Versions: []versions.Version{{Name: "copy", Run: runLoad[T]}},
		Work: func(c *versions.Call) (elements float64) {
			for i := range c.Args {
				t := c.Args[i].(*Tile[T])
				elements += float64(t.Rows) * float64(t.Cols)
			}
			return elements
		},
	}
}

// runLoad is the one version of op "load". Its name is not "go", so that a user who
// excludes portable kernels can still read matrices.
func runLoad[T Element](c *versions.Call) error {
	l := c.Params.(*load[T])
	for first := 0; first < len(l.tiles); {
		end := first + 1
		if !l.from.InMemory() && !l.opt.ByColumns { // whole rows, for a src that makes them one by one
			for end < len(l.tiles) && l.tiles[end][0] == l.tiles[first][0] {
				end++
			}
		}
		if err := c.Ctx.Err(); err != nil {
			return err
		}
		row := make([]*Tile[T], end-first)
		for k := range row {
			row[k] = c.Args[first+k].(*Tile[T])
		}
		l.from.Fill(l.tiles[first][0], l.tiles[first][1], row...)
		for i := first; i < end && !l.opt.Lazy; i++ {
			c.Finished(i)
		}
		first = end
	}
	return nil
}
