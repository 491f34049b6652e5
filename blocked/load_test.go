package blocked_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/chol"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// elements is a matrix that can only be read through At, and calls see with each
// element that is.
type elements[T blocked.Element] struct {
	blocked.Source[T]
	see func(i, j int)
}

func (e elements[T]) At(i, j int) T {
	if e.see != nil {
		e.see(i, j)
	}
	return e.Source.At(i, j)
}

func testLoad[T blocked.Element](t *testing.T, rt *exec.Local) {
	rnd := rand.New(rand.NewPCG(7, 1))
	for _, kind := range blockedtest.FactorKinds() {
		for _, dims := range [][2]int{{0, 0}, {1, 1}, {5, 5}, {13, 13}, {11, 4}, {4, 11}, {0, 3}} {
			m, n := dims[0], dims[1]
			if kind != blocked.Full && m != n {
				continue
			}
			g := blockedtest.Normal[T](rnd, m, n)
			sources := []blocked.Source[T]{g, elements[T]{Source: g}, blocked.View(g, 4)}
			if m == n {
				sources = append(sources, blocked.Symmetric[T]{Uplo: blas.Lower, N: n, Data: g.Data, Stride: g.Stride},
					blocked.Triangular[T]{Uplo: blas.Upper, Diag: blas.Unit, N: n, Data: g.Data, Stride: g.Stride})
			}
			for _, src := range sources {
				for _, opt := range []blocked.LoadOptions{{}, {ByColumns: true, Priority: chol.PotrfLoads(5)}, {Lazy: true, Priority: chol.PotrfLoads(5)}, {Lazy: true, ByColumns: true}} {
					what := fmt.Sprintf("%T, %v, %d×%d, by columns: %t, lazy: %t", src, kind, m, n, opt.ByColumns, opt.Lazy)
					want, got := blocked.New[T](kind, m, n, 3), blocked.New[T](kind, m, n, 3)
					mt, nt := want.Tiles()
					for i := range mt { // what is not to be written
						for j := range nt {
							if want.Stored(i, j) {
								for _, a := range []*blocked.Matrix[T]{want, got} {
									fill(a.Tile(i, j).Data, T(math.NaN()))
								}
							}
						}
					}
					want.CopyFrom(src, blocked.CopyOptions{})
					if _, err := blockedtest.Compute(t, rt, func(p *blocked.Program[T]) error { return p.Load(got, src, opt) }); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					for i := range mt {
						for j := range nt {
							if want.Stored(i, j) && !slices.EqualFunc(want.Tile(i, j).Data, got.Tile(i, j).Data, same[T]) {
								t.Fatalf("%s: tile (%d, %d) is\n%v, want\n%v", what, i, j, got.Tile(i, j).Data, want.Tile(i, j).Data)
							}
						}
					}
				}
			}
		}
	}
}

func fill[T blocked.Element](x []T, v T) {
	for i := range x {
		x[i] = v
	}
}

// same says that x and y are equal or both NaN.
func same[T blocked.Element](x, y T) bool { return x == y || x != x && y != y }

// TestLoad: as CopyFrom, and no other element is touched.
func TestLoad(t *testing.T) {
	for _, opt := range []exec.Options{{Workers: 1}, {Workers: 3, Float: true, Window: 5}} {
		rt := blockedtest.StartLocal(t, opt)
		testLoad[float64](t, rt)
		testLoad[float32](t, rt)
	}
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 1})
	blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error {
		a := blocked.New[float64](blocked.Full, 3, 4, 2)
		if v := blockedtest.Recovered(func() { p.Load(a, blocked.New[float64](blocked.Full, 4, 3, 2), blocked.LoadOptions{}) }); v != blocked.ErrShape {
			t.Errorf("panic %v", v)
		}
		return nil
	})
}

// spd returns a symmetric positive definite matrix that can be read through At.
func spd(n int) blocked.General[float64] {
	g := blockedtest.Memory[float64](n, n)
	for i := range n {
		for j := range n {
			g.Set(i, j, 1/float64(1+i+j))
		}
		g.Set(i, i, 2)
	}
	return g
}

// watched returns the ops with a potrf that calls first with its first call.
func watched(first func()) kernels.Ops[float64] {
	table := op.NewTable()
	ops := kernels.For[float64](table)
	run := ops.Op("potrf").Version("go").Run
	var once sync.Once
	table.Add(ops.Op("potrf"), versions.Version{Name: "watched", Run: func(c *versions.Call) error {
		once.Do(first)
		return run(c)
	}})
	return ops
}

// TestLoadHandsOn: the factorization begins before the source has been read, in
// both orders, unless all is to be handed on at the end; its result does not
// depend on that.
func TestLoadHandsOn(t *testing.T) {
	const n, nb = 16, 4
	g := spd(n)
	var want *blocked.Matrix[float64]
	for _, opt := range []blocked.LoadOptions{{}, {ByColumns: true}, {Lazy: true}, {Lazy: true, ByColumns: true}} {
		rt := blockedtest.StartLocal(t, exec.Options{Workers: 2, Float: true})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		factored := make(chan bool)
		var begun, early atomic.Bool
		src := elements[float64]{Source: g, see: func(i, j int) {
			if i < n-nb || j < n-nb {
				return
			}
			// The last tile: a task that waits for the first one only has run, or
			// will before this one is read on.
			if !opt.Lazy {
				select {
				case <-factored:
				case <-ctx.Done():
				}
			}
			if begun.Load() {
				early.Store(true)
			}
		}}
		a := blocked.New[float64](blocked.SymUpper, n, n, nb)
		job := rt.NewJob(ctx)
		p := blocked.NewProgram(job, watched(func() { begun.Store(true); close(factored) }))
		if err := errors.Join(p.Load(a, src, opt), chol.Potrf(p, a), job.Wait()); err != nil {
			t.Fatalf("%+v: %v", opt, err)
		}
		if early.Load() == opt.Lazy {
			t.Errorf("%+v: factored before the source was read: %v", opt, early.Load())
		}
		if want == nil {
			want = blocked.New[float64](blocked.SymUpper, n, n, nb)
			want.CopyFrom(g, blocked.CopyOptions{})
			job := rt.NewJob(ctx)
			if err := errors.Join(chol.Potrf(blocked.NewProgram(job, watched(func() {})), want), job.Wait()); err != nil {
				t.Fatal(err)
			}
		}
		for i := range n {
			for j := range n {
				if a.At(i, j) != want.At(i, j) {
					t.Fatalf("%+v: element (%d, %d) is %v, want %v", opt, i, j, a.At(i, j), want.At(i, j))
				}
			}
		}
	}
}

// TestLoadPriority: rows and columns of tiles are read by their priorities.
func TestLoadPriority(t *testing.T) {
	const n, nb = 16, 4
	var events trace.Recorder
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 1, Policy: dispatch.Priority, Recorder: &events})
	g := spd(n)
	for _, byColumns := range []bool{false, true} {
		events.Reset()
		job := rt.NewJob(t.Context())
		begun, submitted := make(chan struct{}), make(chan struct{})
		p := blocked.NewProgram(job, watched(func() { close(begun); <-submitted })) // the worker waits
		first, a := blocked.New[float64](blocked.SymUpper, nb, nb, nb), blocked.New[float64](blocked.Full, n, n, nb)
		first.SetIdentity()
		opt := blocked.LoadOptions{ByColumns: byColumns, Priority: func(line int) int64 { return int64(1 + (line+2)%4) }}
		if err := chol.Potrf(p, first); err != nil {
			t.Fatal(err)
		}
		<-begun
		err := p.Load(a, g, opt)
		close(submitted)
		if err := errors.Join(err, job.Wait()); err != nil {
			t.Fatal(err)
		}
		r := events.Recording()
		slices.SortFunc(r.Events, func(x, y trace.Event) int { return cmp.Compare(x.Start, y.Start) })
		var lines []int32
		for _, e := range r.Events {
			if e.Op == "load/f64" {
				lines = append(lines, max(e.I, e.J)) // of the first tile, where the other is 0
			}
		}
		if want := []int32{1, 0, 3, 2}; !slices.Equal(lines, want) {
			t.Errorf("by columns %t: read in the order %v, want %v", byColumns, lines, want)
		}
	}
}

// TestLoadFails: a source that panics fails the job by the task that reads it,
// what has been read before keeps its values, and a job that is cancelled reads
// no further.
func TestLoadFails(t *testing.T) {
	const n, nb = 12, 4
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 2, Float: true})
	g := spd(n)
	bad := errors.New("bad")
	a := blocked.New[float64](blocked.SymUpper, n, n, nb)
	_, err := blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error {
		src := elements[float64]{Source: g, see: func(i, j int) {
			if i == nb {
				panic(bad)
			}
		}}
		if err := p.Load(a, src, blocked.LoadOptions{}); err != nil {
			return err
		}
		if err := p.Wait(a, 0, 0); err != nil { // handed on before
			t.Errorf("tile (0, 0): %v", err)
		}
		if a.At(0, 0) != 2 {
			t.Errorf("element (0, 0) is %v", a.At(0, 0))
		}
		return chol.Potrf(p, a)
	})
	var task *exec.TaskError
	if !errors.As(err, &task) || task.Op != "load/f64" {
		t.Errorf("%v", err)
	}
	var pe *exec.PanicError
	if !errors.As(err, &pe) || pe.Value != any(bad) {
		t.Errorf("%v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	last := 0
	src := elements[float64]{Source: g, see: func(i, _ int) { last = i; cancel() }}
	job := rt.NewJob(ctx)
	err = errors.Join(blocked.NewProgram(job, kernels.For[float64](op.NewTable())).Load(a, src, blocked.LoadOptions{}), job.Wait())
	if !errors.Is(err, context.Canceled) || last >= nb {
		t.Errorf("%v, read as far as row %d", err, last)
	}
}
