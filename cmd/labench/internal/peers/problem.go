package peers

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unsafe"

	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
)

// problem is one comparison: a routine, and what both sides need beside it.
type problem[T matgen.Element] struct {
	cfg     Config
	lib     library[T]
	op      Op
	size    Size
	routine routine[T]
	thread  *thread
	engine  *la.Engine // of our side
}

func newProblem[T matgen.Element](cfg Config, lib library[T], op Op, size Size) (*problem[T], error) {
	if !op.Takes(size) {
		return nil, fmt.Errorf("peers: %v does not take a matrix of %v", op, size)
	}
	var r routine[T]
	var err error
	switch op {
	case Gemm:
		r, err = newGemm[T](cfg.Seed, size.N)
	case Cholesky:
		r, err = newCholesky[T](cfg.Seed, size.N)
	case LU:
		r, err = newLU[T](cfg.Seed, size)
	case QR:
		r, err = newQR[T](cfg.Seed, size)
	default:
		r, err = newSystem[T](cfg.Seed, op, size)
	}
	if err != nil {
		return nil, err
	}
	return &problem[T]{cfg: cfg, lib: lib, op: op, size: size, routine: r, thread: newThread()}, nil
}

// generate returns a matrix by rows.
func generate[T matgen.Element](kind matgen.Kind, size Size, seed uint64) ([]T, error) {
	a := aligned[T](size.M * size.N)
	return a, matgen.Generate(matgen.Spec{Kind: kind, M: size.M, N: size.N, Seed: seed}, a, size.N)
}

// transposed returns the m×n matrix a, by rows, in columns.
func transposed[T matgen.Element](size Size, a []T) []T {
	t := aligned[T](len(a))
	for i := range size.M {
		for j, v := range a[i*size.N : (i+1)*size.N] {
			t[j*size.M+i] = v
		}
	}
	return t
}

// touched returns n zeros in memory that is there.
func touched[T matgen.Element](n int) []T {
	x := aligned[T](n)
	clear(x)
	return x
}

// aligned returns n elements that begin at a page, for both sides.
func aligned[T matgen.Element](n int) []T {
	const page = 4096
	var zero T
	size := int(unsafe.Sizeof(zero))
	mem := make([]T, n+page/size)
	skip := 0
	if r := int(uintptr(unsafe.Pointer(unsafe.SliceData(mem))) % page); r != 0 {
		skip = (page - r) / size
	}
	return mem[skip : skip+n : skip+n]
}

// general returns a matrix by rows as la has it.
func general[T matgen.Element](size Size, data []T) la.General[T] {
	return la.General[T]{Rows: size.M, Cols: size.N, Data: data, Stride: size.N}
}

// close ends the threads.
func (p *problem[T]) close() {
	if p.engine != nil {
		p.engine.Close() // the only error would be of tasks under way, and there are none
	}
	p.thread.close()
}

// ours returns our side.
func (p *problem[T]) ours() (*contender, error) {
	e, err := p.cfg.engine(nil)
	if err != nil {
		return nil, err
	}
	p.engine = e
	call, residual := p.routine.ours(e)
	return &contender{enter: func() { p.lib.threads(1) }, restore: func() {}, call: timed(call), residual: residual}, nil
}

// timed returns f with the time that it takes.
func timed(f func() error) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		begin := time.Now()
		err := f()
		return time.Since(begin), err
	}
}

// peer returns the library's side.
func (p *problem[T]) peer(variant byte) *contender {
	restore, call, residual := p.routine.theirs(&p.lib, variant)
	c := &contender{enter: func() { p.lib.threads(p.cfg.Workers) }, restore: restore, residual: residual}
	c.call = func() (time.Duration, error) {
		info := 0
		took := p.thread.time(func() { info = call() })
		if info != 0 {
			return 0, fmt.Errorf("peers: the library's routine for %v returns info = %d for a matrix that has nothing wrong", p.op, info)
		}
		return took, nil
	}
	return c
}

// fasterPeer returns the library's side in the variant that suits it, and
// notes that in r.
func (p *problem[T]) fasterPeer(ctx context.Context, r *Result) (*contender, error) {
	variants := p.routine.variants()
	var all []*contender
	for i := range len(variants) {
		all = append(all, p.peer(variants[i]))
	}
	if len(all) == 1 {
		return all[0], nil
	}
	if err := alternate(ctx, p.cfg, 2, all...); err != nil {
		return nil, err
	}
	fastest, flops := 0, p.op.flops(p.size)
	for i, c := range all {
		if c.side(flops).SecondsBest < all[fastest].side(flops).SecondsBest {
			fastest = i
		}
	}
	r.PeerUplo = variants[fastest : fastest+1]
	all[fastest].times = nil
	return all[fastest], nil
}

// chosen returns the automatic tile size and, for each operation on tiles, the
// version that runs most by now.
func (p *problem[T]) chosen() (nb int, names map[string]string, err error) {
	nb = p.routine.tile(p.engine)
	var events trace.Recorder
	e, err := p.cfg.engine(&events)
	if err != nil {
		return 0, nil, err
	}
	defer e.Close()
	p.lib.threads(1)
	call, _ := p.routine.ours(e)
	if err := call(); err != nil {
		return 0, nil, err
	}
	names, calls := map[string]string{}, map[string]int{}
	for _, u := range events.Summary().Usage {
		if name, _, _ := strings.Cut(u.Op, "/"); u.Calls > calls[name] {
			names[name], calls[name] = u.Version, u.Calls
		}
	}
	return nb, names, nil
}
