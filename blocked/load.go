package blocked

import (
	"sync"
	"sync/atomic"

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
	// Lazy hands the tiles of a task on when the task ends: what eager release
	// gains is measured against it.
	Lazy bool
	// Priority returns the priority of the task that fills a tile row, or with
	// ByColumns a tile column, and of one that fills all that of row 0. Nil
	// stands for 0, behind whatever computes: rows are then read when there is
	// nothing else to do. See [PotrfLoads].
	Priority func(line int) int64
}

// Load submits tasks that overwrite A with src as [Matrix.CopyFrom] does,
//
//	a(i, j) = src(i, j) for every (i, j) in the part that a stores,
//
// so that what is submitted after them starts on the first tiles while the
// others are still read:
//
//	CopyFrom, then Potrf        Load, and Potrf with it
//	┌──────────┬─────────┐      ┌──────────┬─────┐
//	│ read     │ factor  │      │ read     │fact.│
//	└──────────┼─────────┤      ├──┬───────┴─────┤
//	           │ factor  │         │ factor      │
//	           └─────────┘         └─────────────┘
//
// A src that can only be read through At is read by one task, one element
// after the other, as At need not be safe for concurrent use: a task of many
// operands that it finishes with one by one (versions.Call.Finished). Memory,
// as CopyFrom knows it, is read by a task for each tile row or column, several
// at once.
//
// Into the tiles of a distributed A (see [Distributed]) src is scattered: each node copies
// its own from the memory of src, or of a copy that tasks make here if that is no row-major
// memory. Whatever else of a diagonal tile there is in that memory comes with it.
//
// src must not be written, nor A read or written otherwise, before the job's
// Wait, and src must not share memory with A. A panic of At fails the job with
// an *exec.TaskError of op "load"; tiles handed on before keep their values,
// and what has used them is right.
//
// It panics with ErrShape if the dimensions differ, and with ErrStorage if the
// data of a raw src cannot hold it.
//
// Reference: "Accelerated execution via eager release of dependencies in
// task-based workflows" (Elshazly et al., 2021).
func (p *Program[T]) Load(a *Matrix[T], src Source[T], opt LoadOptions) error {
	if a.away != nil {
		return p.scatter(a, src, opt)
	}
	return p.load(a, src, opt, nil)
}

// scatter is Load into a matrix whose tiles are on other nodes.
func (p *Program[T]) scatter(a *Matrix[T], src Source[T], opt LoadOptions) error {
	if m, n := src.Dims(); m != a.rows || n != a.cols {
		panic(ErrShape)
	}
	v, trans, ok := ViewOf(src, a.nb)
	if !ok || trans != blas.NoTrans || v.kind != Full && v.kind != a.kind {
		v = Unfilled[T](a.kind, a.rows, a.cols, a.nb)
		p.err = p.load(v, src, opt, nil)
	}
	from, to := p.reads(v), p.operand(a)
	whole := &op.Lacpy{Uplo: blas.All}
	for i, j := range a.StoredTiles() {
		p.submit(p.ops.lacpy, whole, 0, in(from.tile(i, j)), out(to.tile(i, j)))
	}
	return p.err
}

// LoadStats is [Program.Load] with the [Stats] of A, taken while its tiles are in
// cache.
func (p *Program[T]) LoadStats(a *Matrix[T], src Source[T], opt LoadOptions) (*Loaded[T], error) {
	var tiles int64
	for range a.StoredTiles() {
		tiles++
	}
	l := &Loaded[T]{sum: newTally(a)}
	l.left.Store(tiles)
	return l, p.load(a, src, opt, l)
}

// Loaded is what LoadStats learns.
type Loaded[T Element] struct {
	sum  *tally[T]
	left atomic.Int64 // tiles that are not filled yet
}

// Stats returns the Stats of the matrix; ok is false if some of it was not read,
// since the job has failed or was cancelled. It must not be called before the
// job's Wait has returned.
func (l *Loaded[T]) Stats() (s Stats, ok bool) {
	if l.left.Load() != 0 {
		return Stats{}, false
	}
	return l.sum.stats(), true
}

// InMemory reports whether src lies in memory that tiles are filled from by
// several goroutines, not through At by one: see [Matrix.CopyFrom].
func InMemory[T Element](src Source[T]) bool {
	_, ok := originOf(src, 0)
	return ok
}

func (p *Program[T]) load(a *Matrix[T], src Source[T], opt LoadOptions, into *Loaded[T]) error {
	if m, n := src.Dims(); m != a.rows || n != a.cols {
		panic(ErrShape)
	}
	o := p.operand(a)
	raw, inMemory := originOf(src, 0)
	lines, across := a.mt, a.nt
	if opt.ByColumns {
		lines, across = across, lines
	}
	priority := func(line int) int64 {
		if opt.Priority == nil {
			return 0
		}
		return opt.Priority(line)
	}
	l := &load[T]{a: a, opt: opt, src: src, into: into}
	p.column = p.column[:0]
	for line := range lines {
		for k := range across {
			i, j := line, k
			if opt.ByColumns {
				i, j = k, line
			}
			if a.Stored(i, j) {
				p.column = append(p.column, inout(o.tile(i, j)))
				l.tiles = append(l.tiles, i*a.nt+j)
			}
		}
		if inMemory && len(l.tiles) > 0 {
			l.raw = &raw
			p.submit(loadOp[T](), l, priority(line), p.column...)
			l = &load[T]{a: a, opt: opt, into: into}
			p.column = p.column[:0]
		}
	}
	if len(l.tiles) > 0 {
		p.submit(loadOp[T](), l, priority(0), p.column...)
	}
	return p.err
}

// load is the parameter of op "load", which fills tiles of a matrix. Operands:
// the tiles (inout: of a diagonal one, only the stored triangle is written).
type load[T Element] struct {
	a     *Matrix[T] // for its shape
	tiles []int      // i·nt + j of each operand, in the order of filling
	opt   LoadOptions
	src   Source[T]
	raw   *origin[T] // the memory of src, if it is there
	into  *Loaded[T] // nil: nobody wants to know
}

// ops is an op for each element type.
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

// runLoad is the one version of op "load". It is not called "go", so that who
// excludes portable kernels can still read matrices.
func runLoad[T Element](c *versions.Call) error {
	l := c.Params.(*load[T])
	for first := 0; first < len(l.tiles); {
		end := first + 1
		if l.raw == nil && !l.opt.ByColumns { // whole rows, for a src that makes them one by one
			for end < len(l.tiles) && l.tiles[end]/l.a.nt == l.tiles[first]/l.a.nt {
				end++
			}
		}
		if err := c.Ctx.Err(); err != nil {
			return err
		}
		l.fill(c.Args, first, end)
		for i := first; i < end && !l.opt.Lazy; i++ {
			c.Finished(i)
		}
		first = end
	}
	return nil
}

// fill fills the operands first to end-1, which are beside one another.
func (l *load[T]) fill(args []any, first, end int) {
	src, nt, nb := l.src, l.a.nt, l.a.nb
	var sum *tally[T]
	if l.into != nil {
		sum = l.into.sum
	}
	if l.raw != nil {
		k := l.tiles[first]
		l.a.fill(args[first].(*Tile[T]), *l.raw, k/nt, k%nt, sum)
		if sum != nil {
			l.into.left.Add(-1)
		}
		return
	}
	for _, x := range args[first:end] {
		if t := x.(*Tile[T]); t.Data == nil {
			t.Data = newTile[T](t.Rows, t.Cols).Data
		}
	}
	rows := args[first].(*Tile[T]).Rows
	for r := range rows {
		for i := first; i < end; i++ {
			k := l.tiles[i]
			lo, hi := l.a.storedColumns(k/nt, k%nt, r)
			g, row := k/nt*nb+r, args[i].(*Tile[T]).Row(r)[lo:hi]
			c := k%nt*nb + lo
			for j := range row {
				row[j] = src.At(g, c+j)
			}
		}
	}
	if sum == nil {
		return
	}
	for i, k := range l.tiles[first:end] {
		t := args[first+i].(*Tile[T])
		sum.add(t, k/nt, k%nt, 0, rows)
		sum.close(t, k/nt, k%nt)
		l.into.left.Add(-1)
	}
}
