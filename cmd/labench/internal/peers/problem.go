package peers

import (
	"context"
	"fmt"
	"time"
	"unsafe"

	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// problem is the operands of one comparison and what they are judged by.
type problem[T matgen.Element] struct {
	cfg    Config
	lib    library[T]
	op     Op
	n      int
	bound  float64
	a, b   []T // inputs, never written; no b for Cholesky
	peerC  []T // what the library writes
	oursC  []T // what we write; of Cholesky, where the factor is read
	thread *thread

	product *product[T]
	factor  *factor[T]
	engines []*la.Engine // the automatic one first
}

func newProblem[T matgen.Element](cfg Config, lib library[T], op Op, n int) (*problem[T], error) {
	p := &problem[T]{cfg: cfg, lib: lib, op: op, n: n, bound: choleskyBound}
	p.peerC, p.oursC = aligned[T](n*n), aligned[T](n*n)
	clear(p.peerC) // touched
	clear(p.oursC)
	kind := matgen.SPD
	if op == Gemm {
		kind, p.bound = matgen.Random, gemmBound
	}
	var err error
	if p.a, err = generate[T](kind, n, cfg.Seed); err != nil {
		return nil, err
	}
	if op == Gemm {
		if p.b, err = generate[T](kind, n, cfg.Seed+1); err != nil {
			return nil, err
		}
		p.product = newProduct(cfg.Seed+2, n, p.a, p.b)
	} else {
		p.factor = newFactor(cfg.Seed+2, n, p.a)
	}
	p.thread = newThread()
	return p, nil
}

func generate[T matgen.Element](kind matgen.Kind, n int, seed uint64) ([]T, error) {
	a := aligned[T](n * n)
	return a, matgen.Generate(matgen.Spec{Kind: kind, M: n, N: n, Seed: seed}, a, n)
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

// close ends the threads.
func (p *problem[T]) close() {
	for _, e := range p.engines {
		// The only error would be of tasks under way, and there are none.
		e.Close()
	}
	p.thread.close()
}

// ours returns our side with tile size nb, 0 for automatic.
func (p *problem[T]) ours(nb int) (*contender, error) {
	e, err := p.cfg.engine(nb)
	if err != nil {
		return nil, err
	}
	p.engines = append(p.engines, e)
	n := p.n
	c := &contender{enter: func() { p.lib.threads(1) }, restore: func() {}}
	if p.op == Gemm {
		general := func(data []T) la.General[T] { return la.General[T]{Rows: n, Cols: n, Data: data, Stride: n} }
		a, b, out := general(p.a), general(p.b), general(p.oursC)
		c.call = timed(func() error {
			return la.Gemm[T](context.Background(), e, blas.NoTrans, blas.NoTrans, 1, a, b, 0, out)
		})
		c.residual = func() float64 { return p.product.residual(p.oursC) }
		return c, nil
	}
	chol := la.NewCholesky[T](e)
	// The upper triangle, as gonum's SymDense has it.
	a := la.Symmetric[T]{Uplo: blas.Upper, N: n, Data: p.a, Stride: n}
	c.call = timed(func() error { return chol.Factorize(a) })
	c.residual = func() float64 {
		chol.LTo(la.Triangular[T]{Uplo: blas.Lower, Diag: blas.NonUnit, N: n, Data: p.oursC, Stride: n})
		return p.factor.lower(p.oursC)
	}
	return c, nil
}

// timed returns f with the time that it takes.
func timed(f func() error) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		begin := time.Now()
		err := f()
		return time.Since(begin), err
	}
}

// peer returns the library's side; uplo says which triangle of the
// column-major matrix it factors.
func (p *problem[T]) peer(uplo byte) *contender {
	n := p.n
	c := &contender{enter: func() { p.lib.threads(p.cfg.Workers) }, restore: func() {}}
	if p.op == Gemm {
		// Seen column-major, A and B are Aᵀ and Bᵀ, and Bᵀ·Aᵀ = (A·B)ᵀ.
		c.call = func() (time.Duration, error) {
			return p.thread.time(func() { p.lib.gemm(n, p.b, p.a, p.peerC) }), nil
		}
		c.residual = func() float64 { return p.product.residual(p.peerC) }
		return c
	}
	c.restore = func() { copy(p.peerC, p.a) }
	c.call = func() (time.Duration, error) {
		info := 0
		took := p.thread.time(func() { info = p.lib.potrf(uplo, n, p.peerC) })
		if info != 0 {
			return 0, fmt.Errorf("peers: the library's potrf returns info = %d for a positive definite matrix", info)
		}
		return took, nil
	}
	// The column-major lower triangle is the upper one by rows.
	c.residual = func() float64 { return p.factor.upper(p.peerC) }
	if uplo == 'U' {
		c.residual = func() float64 { return p.factor.lower(p.peerC) }
	}
	return c
}

// fasterPeer returns the library's side with the triangle that suits it, and
// notes that in r.
func (p *problem[T]) fasterPeer(ctx context.Context, r *Result) (*contender, error) {
	if p.op == Gemm {
		return p.peer(0), nil
	}
	lower, upper := p.peer('L'), p.peer('U')
	if err := alternate(ctx, p.cfg, 2, lower, upper); err != nil {
		return nil, err
	}
	flops := p.op.flops(p.n)
	r.PeerUplo = "L"
	if upper.side(flops).SecondsBest < lower.side(flops).SecondsBest {
		lower, r.PeerUplo = upper, "U"
	}
	lower.times = nil
	return lower, nil
}

// chosen returns the automatic tile size and, for each operation on tiles of
// it, the version that runs by now.
func (p *problem[T]) chosen() (nb int, names map[string]string) {
	e := p.engines[0]
	operation := la.OpGemm
	if p.op == Cholesky {
		operation = la.OpCholesky
	}
	nb, _ = la.TileSize[T](e, operation, p.n, p.n)
	tile := func() *kernels.Tile[T] {
		return &kernels.Tile[T]{Rows: nb, Cols: nb, Stride: nb, Data: make([]T, nb*nb)}
	}
	calls := map[string]*versions.Call{
		"gemm": {Params: &kernels.Gemm{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: 1}, Args: []any{tile(), tile(), tile()}},
	}
	if p.op == Cholesky {
		calls["potrf"] = &versions.Call{Params: &kernels.Potrf{Uplo: blas.Lower}, Args: []any{tile()}}
		calls["trsm"] = &versions.Call{Params: &kernels.Trsm{Side: blas.Right, Uplo: blas.Lower, Trans: blas.Trans, Diag: blas.NonUnit, Alpha: 1},
			Args: []any{tile(), tile()}}
		calls["syrk"] = &versions.Call{Params: &kernels.Syrk{Uplo: blas.Lower, Trans: blas.NoTrans, Alpha: -1, Beta: 1}, Args: []any{tile(), tile()}}
	}
	names = make(map[string]string)
	for op, call := range calls {
		if x, ok := la.Explain[T](e, op, call); ok {
			names[op] = x.Chosen
		}
	}
	return nb, names
}
