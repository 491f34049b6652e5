package dropin

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// core is what the routines of a BLAS and a LAPACK share. A nil core is that
// of the zero values: it computes with la's default engine.
type core struct {
	opt      Options
	own      bool // the engine was made here
	units    int  // workers of the engine
	former64 blas.Float64
	former32 blas.Float32

	// The operations of the engine.
	ops64 kernels.Ops[float64]
	ops32 kernels.Ops[float32]

	// The routines in the instruction set of this machine.
	kernels64 *cpu.Packed[float64]
	kernels32 *cpu.Packed[float32]

	// Decompositions of former calls. Later calls use their memory, until the garbage collector takes it.
	idle idle

	standby standby // goroutines of former calls

	// Computations hold gate to read, so that close waits for them. They do
	// not contain one another, as calls of LAPACK contain calls of BLAS.
	gate   sync.RWMutex
	closed bool
}

// idle is decompositions that no call uses.
type idle struct{ eigenSyms, svds sync.Pool }

// kept returns the decompositions of former calls; none without a core.
func (c *core) kept() *idle {
	if c == nil {
		return new(idle)
	}
	return &c.idle
}

// newCore returns a core with the operations of opt's engine.
func newCore(opt Options) *core {
	units := 0 // those on cores
	for _, w := range opt.Engine.Workers() {
		if w.Accelerator == "" {
			units++
		}
	}
	return &core{
		opt: opt, units: units,
		ops64: engine.Ops[float64](opt.Engine), ops32: engine.Ops[float32](opt.Engine),
		kernels64: fastest64(), kernels32: fastest32(),
	}
}

// fastest64 and fastest32 return the routines in the instruction set of this machine.
var (
	fastest64 = sync.OnceValue(func() *cpu.Packed[float64] { return cpu.Fastest[float64](cpu.Caches{}) })
	fastest32 = sync.OnceValue(func() *cpu.Packed[float32] { return cpu.Fastest[float32](cpu.Caches{}) })
)

// host64 returns what fastest64 does. The compiler inlines it, but not what [sync.OnceValue] returns, whose call takes as
// long as a kernel does for a short vector.
func (c *core) host64() *cpu.Packed[float64] {
	if c == nil {
		return fastest64()
	}
	return c.kernels64
}

// host32 is host64 in float32.
func (c *core) host32() *cpu.Packed[float32] {
	if c == nil {
		return fastest32()
	}
	return c.kernels32
}

// enter begins a computation and returns the engine for it, nil if there is
// none any more. The caller must leave.
func (c *core) enter() *la.Engine {
	if c == nil {
		return nil
	}
	c.gate.RLock()
	if c.closed {
		return nil
	}
	return c.opt.Engine
}

func (c *core) leave() {
	if c != nil {
		c.gate.RUnlock()
	}
}

// close waits for computations and closes the engine if it was made here.
func (c *core) close() error {
	c.gate.Lock()
	defer c.gate.Unlock()
	c.closed = true
	if c.own {
		return c.opt.Engine.Close()
	}
	return nil
}

// borrowed returns what a former call has left in a pool, or a new one.
func borrowed[D any](pool *sync.Pool, make func(*la.Engine) *D, e *la.Engine) *D {
	if d, ok := pool.Get().(*D); ok {
		return d
	}
	return make(e)
}

// small reports whether a problem of m·n multiplications is left to gonum, with
// the default limit given.
func (c *core) small(limit, m, n int) bool { return c.smallCube(limit, m, n, 1) }

// smallCube is small for m·n·k multiplications.
func (c *core) smallCube(limit, m, n, k int) bool {
	if c != nil && c.opt.Small != 0 {
		limit = c.opt.Small
	}
	return float64(m)*float64(n)*float64(k) <= float64(limit)
}

// ops returns the operations on tiles of T.
func ops[T la.Element](c *core) kernels.Ops[T] {
	if c == nil {
		return engine.Ops[T](nil)
	}
	return *scalar.Pick[T, any](&c.ops32, &c.ops64).(*kernels.Ops[T])
}

// tileSize returns la's tile size for a result whose size goes by n, in a
// problem that costs as much as a cube of the dimension longest; one says that
// such a problem is better given to one kernel.
func tileSize[T la.Element](c *core, op engine.Operation, n int, dims ...int) (nb int, one bool) {
	e := c.enter()
	defer c.leave()
	return engine.TileSize[T](e, op, max(n, 1), mean(dims...))
}

// run executes a program of tile algorithms.
func run[T la.Element](c *core, routine string, program func(p *blocked.Program[T]) error) error {
	e := c.enter()
	defer c.leave()
	return check(routine, engine.Run(context.Background(), e, program))
}

// call executes op on the calling goroutine.
func (c *core) call(routine string, op *versions.Op, params any, args ...any) error {
	e := c.enter()
	defer c.leave()
	return check(routine, engine.Call(context.Background(), e, op, params, args...))
}

// check panics with a *FailedError unless err is nil or speaks of the numbers
// in the matrix.
func check(routine string, err error) error {
	var npd *la.NotPositiveDefiniteError
	if err != nil && !errors.As(err, &npd) {
		panic(&FailedError{Routine: routine, Err: err})
	}
	return err
}

// direct is the operands of one operation on the calling goroutine. They are
// kept together, and kept for other calls, so that small problems cost no
// allocation.
type direct[T la.Element] struct {
	gemm  op.Gemm[T]
	syrk  op.Syrk[T]
	trsm  op.Trsm[T]
	trmm  op.Trmm[T]
	potrf op.Potrf

	tiles [3]kernels.Tile[T]
	args  [3]any
}

var (
	directs64 = sync.Pool{New: newDirect[float64]}
	directs32 = sync.Pool{New: newDirect[float32]}
)

func newDirect[T la.Element]() any {
	d := new(direct[T])
	for i := range d.tiles {
		d.args[i] = &d.tiles[i]
	}
	return d
}

func get32() any { return directs32.Get() }

func get64() any { return directs64.Get() }

func put32(d any) { directs32.Put(d) }

func put64(d any) { directs64.Put(d) }

// one returns operands for a direct call; its run hands them back.
func one[T la.Element]() *direct[T] {
	return scalar.Pick[T](get32, get64)().(*direct[T])
}

// release hands d back.
func (d *direct[T]) release() {
	for i := range d.tiles {
		d.tiles[i].Data = nil
	}
	scalar.Pick[T](put32, put64)(d)
}

// set makes operand i the r×c matrix in data.
func (d *direct[T]) set(i, r, c int, data []T, ld int) {
	d.tiles[i] = kernels.Tile[T]{Rows: r, Cols: c, Stride: ld, Data: data}
}

// run executes op on the first n operands.
func (d *direct[T]) run(c *core, routine string, op *versions.Op, params any, n int) error {
	defer d.release()
	return c.call(routine, op, params, d.args[:n]...)
}

// mean returns the geometric mean of up to three dimensions, rounded up.
func mean(dims ...int) int {
	product := 1.0
	for _, d := range dims {
		product *= float64(max(d, 1))
	}
	switch len(dims) {
	case 2:
		return int(math.Ceil(math.Sqrt(product)))
	case 3:
		return int(math.Ceil(math.Cbrt(product)))
	}
	return int(product)
}

// workers returns the number of goroutines for what memory bounds.
func (c *core) workers() int {
	n := runtime.GOMAXPROCS(0)
	if c != nil && c.units > 0 {
		n = min(n, c.units)
	}
	return n
}

// together calls f(0) to f(n-1) on as many goroutines as there are units, of which the caller's is one, and returns when all
// calls have returned. Each goroutine takes the next number when it is done with one. So a goroutine that a busy machine does
// not run in time leaves its numbers to the others, and nothing waits for it.
func (c *core) together(units, n int, f func(i int)) {
	units = min(units, n)
	if units <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var next, returned atomic.Int64
	all := make(chan struct{})
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			f(i)
			if returned.Add(1) == int64(n) {
				close(all)
			}
		}
	}
	for range units - 1 {
		if c == nil {
			go work()
		} else {
			c.standby.start(work)
		}
	}
	work()
	for begin := time.Now(); returned.Load() < int64(n) && time.Since(begin) < patience; {
		runtime.Gosched()
	}
	<-all
}

// copyGrain is the number of elements that a part of [parallel] at least copies or changes. In float64 they are 256 KiB:
// a core at 10 GB/s takes 26 µs for them, many times as long as it takes to start a goroutine and to wait for it.
const copyGrain = 1 << 15

// parallel cuts 0 … n into at most as many parts as there are workers, of at least grain each and beginning at a
// multiple of 16, a step of the vector kernels in float32, and calls f for all at once. It is for what memory bounds:
// the parts run on goroutines, which have ended when it returns.
func parallel(c *core, n, grain int, f func(lo, hi int)) {
	parts := max(1, min(c.workers(), n/grain))
	c.together(parts, parts, func(i int) {
		lo, hi := n*i/parts&^15, n*(i+1)/parts&^15
		if i == parts-1 {
			hi = n
		}
		f(lo, hi)
	})
}

// each calls f(0) to f(n-1), on as many goroutines as there are workers.
func each(c *core, n int, f func(i int)) { c.together(c.workers(), n, f) }
