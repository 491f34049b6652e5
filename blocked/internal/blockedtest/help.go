package blockedtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/cluster/clustertest"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/transport"
	"go.uber.org/goleak"
	"gonum.org/v1/gonum/blas"
)

// StartLocal returns a runtime that is closed at the end of the test.
func StartLocal(t testing.TB, opt exec.Options) *exec.Local {
	t.Helper()
	rt, err := exec.NewLocal(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	return rt
}

// Compute runs a program to its end and returns its number of tasks. The error is the job's, or that
// of f.
func Compute[T blocked.Element](t testing.TB, rt *exec.Local, f func(p *blocked.Program[T]) error) (tasks int, err error) {
	t.Helper()
	job := rt.NewJob(t.Context())
	p := blocked.NewProgram(job, kernels.For[T](op.NewTable()))
	err = f(p)
	if e := job.Wait(); e != nil {
		err = e
	}
	if err == nil && job.Completed() != p.Len() {
		t.Errorf("%d tasks submitted, %d ended", p.Len(), job.Completed())
	}
	return p.Len(), err
}

// StartNodes returns a driver of two agents in this process. set completes the options of each node.
func StartNodes(t testing.TB, set func(*cluster.Options)) *cluster.Driver {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	return clustertest.Start(t, transport.NewNetwork().Node, 2, func(o *cluster.Options) {
		o.Ops, o.Values, o.Errors = op.NewTable().All(), kernels.Values(), kernels.Errors()
		set(o)
	}).Driver
}

// Run executes the tasks of a program, which must not fail, on any runtime.
func Run[T blocked.Element](t testing.TB, rt exec.Runtime, f func(p *blocked.Program[T]) error) {
	t.Helper()
	job := rt.NewJob(t.Context())
	if err := errors.Join(f(blocked.NewProgram(job, kernels.For[T](op.NewTable()))), job.Wait()); err != nil {
		t.Fatal(err)
	}
}

// Must is Compute for a program that must not fail and must have want tasks.
func Must[T blocked.Element](t testing.TB, rt *exec.Local, what string, want int, f func(p *blocked.Program[T]) error) {
	t.Helper()
	tasks, err := Compute(t, rt, f)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if tasks != want {
		t.Errorf("%s: %d tasks, want %d", what, tasks, want)
	}
}

// Roundoff is LAPACK's ε of T.
func Roundoff[T blocked.Element]() float64 {
	var one T = 1
	if one+0x1p-30 == 1 {
		return 0x1p-24
	}
	return 0x1p-53
}

// Memory returns an r×c matrix of NaN with a stride larger than c.
func Memory[T blocked.Element](r, c int) blocked.General[T] {
	stride := c + 2
	return blocked.General[T]{Rows: r, Cols: c, Stride: stride, Data: Filled[T](r*stride + 1)}
}

// Normal returns a random r×c matrix in such memory.
func Normal[T blocked.Element](rnd *rand.Rand, r, c int) blocked.General[T] {
	g := Memory[T](r, c)
	for i := range r {
		for j := range c {
			g.Set(i, j, T(rnd.NormFloat64()))
		}
	}
	return g
}

// CopyOf returns g with memory of its own.
func CopyOf[T blocked.Element](g blocked.General[T]) blocked.General[T] {
	g.Data = append([]T(nil), g.Data...)
	return g
}

// Kept fails t unless got equals want at every element for which written is false or nil, and between
// and behind the rows.
func Kept[T blocked.Element](t *testing.T, what string, got, want blocked.General[T], written func(i, j int) bool) {
	t.Helper()
	for p := range want.Data {
		i, j := p/want.Stride, p%want.Stride
		if written != nil && i < want.Rows && j < want.Cols && written(i, j) {
			continue
		}
		if x, y := got.Data[p], want.Data[p]; x != y && (!IsNaN(x) || !IsNaN(y)) {
			t.Fatalf("%s: element (%d, %d) was overwritten: %v, was %v", what, i, j, x, y)
		}
	}
}

// Anywhere returns true.
func Anywhere(int, int) bool { return true }

// InTriangle returns a function that reports whether (i, j) is in the uplo triangle. For blas.All it
// is always true.
func InTriangle(uplo blas.Uplo) func(i, j int) bool {
	return func(i, j int) bool { return uplo == blas.All || i == j || (i > j) == (uplo == blas.Lower) }
}

// Of returns g, or its transpose, as an Element.
func Of[T blocked.Element](g blocked.General[T], trans blas.Transpose) Element {
	if trans != blas.NoTrans {
		return func(i, j int) float64 { return float64(g.At(j, i)) }
	}
	return func(i, j int) float64 { return float64(g.At(i, j)) }
}

// Minus returns x·f − y·g.
func Minus(x float64, f Element, y float64, g Element) Element {
	return func(i, j int) float64 {
		s := 0.0
		if x != 0 {
			s = x * f(i, j)
		}
		if y != 0 {
			s -= y * g(i, j)
		}
		return s
	}
}

// TileCount returns the number of tiles that cover n elements.
func TileCount(n, nb int) int { return (n + nb - 1) / nb }

// EndedWithJob submits algorithms to a cancelled job, and checks that they return its error and
// submit nothing. submit returns the error of each algorithm by name.
func EndedWithJob(t *testing.T, submit func(p *blocked.Program[float64]) map[string]error) {
	t.Helper()
	rt := StartLocal(t, exec.Options{Workers: 1})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	job := rt.NewJob(ctx)
	p := blocked.NewProgram(job, kernels.For[float64](op.NewTable()))
	for name, err := range submit(p) {
		if err != context.Canceled {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p.Len() != 0 {
		t.Errorf("%d tasks", p.Len())
	}
	if err := job.Wait(); err != nil && err != context.Canceled {
		t.Error(err)
	}
}

// Told describes the n tasks of a job, one on each line: its op, operands, and the tasks that it
// waited for.
func Told(t *testing.T, job exec.Job, n int) string {
	t.Helper()
	all := "\n"
	for id := range n {
		s, err := job.Story(graph.TaskID(id + 1))
		if err != nil {
			t.Fatal(err)
		}
		all += fmt.Sprintf("%s(%s)", strings.TrimSuffix(s.Op, "/f64"), strings.Join(s.Operands, ", "))
		after := ""
		for _, n := range s.Needs {
			if on := fmt.Sprintf(" %d", n.Task); !strings.Contains(after+" ", on+" ") {
				after += on
			}
		}
		if after != "" {
			all += " after" + after
		}
		all += "\n"
	}
	return all
}

// Only returns f in a triangle and zero outside.
func (f Element) Only(uplo blas.Uplo) Element {
	in := InTriangle(uplo)
	return func(i, j int) float64 {
		if !in(i, j) {
			return 0
		}
		return f(i, j)
	}
}

// Mirrored returns the symmetric matrix whose uplo triangle is that of f.
func (f Element) Mirrored(uplo blas.Uplo) Element {
	in := InTriangle(uplo)
	return func(i, j int) float64 {
		if !in(i, j) {
			i, j = j, i
		}
		return f(i, j)
	}
}

// T returns the transpose.
func (f Element) T() Element { return func(i, j int) float64 { return f(j, i) } }

// Norm returns the 1-norm, the largest column sum of magnitudes, of an m×n matrix.
func (f Element) Norm(m, n int) float64 {
	norm := 0.0
	for j := range n {
		s := 0.0
		for i := range m {
			s += math.Abs(f(i, j))
		}
		norm = max(norm, s)
	}
	return norm
}

// Filled returns n elements of NaN.
func Filled[T blocked.Element](n int) []T {
	d := make([]T, n)
	for i := range d {
		d[i] = T(math.NaN())
	}
	return d
}

// IsNaN reports whether v is NaN.
func IsNaN[T blocked.Element](v T) bool { return v != v }

// Recovered returns what f panics with, or nil.
func Recovered(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// Element is a matrix as a function of the indices.
type Element func(i, j int) float64

// AllKinds returns the kinds of a matrix.
func AllKinds() []blocked.Kind {
	return []blocked.Kind{blocked.Full, blocked.SymLower, blocked.SymUpper, blocked.TriLower, blocked.TriUpper}
}

// Times returns f·g with the inner dimension k.
func (f Element) Times(g Element, k int) Element {
	return func(i, j int) float64 {
		s := 0.0
		for l := range k {
			s = math.FMA(f(i, l), g(l, j), s)
		}
		return s
	}
}

// Held returns the m×n matrix f with each element computed once, now.
func (f Element) Held(m, n int) Element {
	x := make([]float64, m*n)
	for i := range m {
		for j := range n {
			x[i*n+j] = f(i, j)
		}
	}
	return func(i, j int) float64 { return x[i*n+j] }
}
