package blocked_test

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
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"go.uber.org/goleak"
	"gonum.org/v1/gonum/blas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startLocal returns a runtime that is closed at the end of the test.
func startLocal(t testing.TB, opt exec.Options) *exec.Local {
	t.Helper()
	rt, err := exec.NewLocal(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	return rt
}

// compute runs a program to its end and returns how many tasks it had.
func compute[T blocked.Element](t testing.TB, rt *exec.Local, f func(p *blocked.Program[T]) error) (tasks int, err error) {
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

// must is compute for a program that cannot fail and has a known length.
func must[T blocked.Element](t testing.TB, rt *exec.Local, what string, want int, f func(p *blocked.Program[T]) error) {
	t.Helper()
	tasks, err := compute(t, rt, f)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if tasks != want {
		t.Errorf("%s: %d tasks, want %d", what, tasks, want)
	}
}

// roundoff is LAPACK's ε of T.
func roundoff[T blocked.Element]() float64 {
	var one T = 1
	if one+0x1p-30 == 1 {
		return 0x1p-24
	}
	return 0x1p-53
}

// memory returns r×c NaN in memory with a stride that is larger.
func memory[T blocked.Element](r, c int) blocked.General[T] {
	stride := c + 2
	return blocked.General[T]{Rows: r, Cols: c, Stride: stride, Data: filled[T](r*stride + 1)}
}

// normal returns a random r×c matrix in such memory.
func normal[T blocked.Element](rnd *rand.Rand, r, c int) blocked.General[T] {
	g := memory[T](r, c)
	for i := range r {
		for j := range c {
			g.Set(i, j, T(rnd.NormFloat64()))
		}
	}
	return g
}

func copyOf[T blocked.Element](g blocked.General[T]) blocked.General[T] {
	g.Data = append([]T(nil), g.Data...)
	return g
}

// kept fails t unless got has the values of want wherever written does not
// hold, between and behind its rows too.
func kept[T blocked.Element](t *testing.T, what string, got, want blocked.General[T], written func(i, j int) bool) {
	t.Helper()
	for p := range want.Data {
		i, j := p/want.Stride, p%want.Stride
		if written != nil && i < want.Rows && j < want.Cols && written(i, j) {
			continue
		}
		if x, y := got.Data[p], want.Data[p]; x != y && (!isNaN(x) || !isNaN(y)) {
			t.Fatalf("%s: element (%d, %d) was overwritten: %v, was %v", what, i, j, x, y)
		}
	}
}

func anywhere(int, int) bool { return true }

// inTriangle returns the test for a triangle; blas.All has everything.
func inTriangle(uplo blas.Uplo) func(i, j int) bool {
	return func(i, j int) bool { return uplo == blas.All || i == j || (i > j) == (uplo == blas.Lower) }
}

// element is a matrix as a function.
type element func(i, j int) float64

func of[T blocked.Element](g blocked.General[T], trans blas.Transpose) element {
	if trans != blas.NoTrans {
		return func(i, j int) float64 { return float64(g.At(j, i)) }
	}
	return func(i, j int) float64 { return float64(g.At(i, j)) }
}

// only returns f in a triangle and zero outside.
func (f element) only(uplo blas.Uplo) element {
	in := inTriangle(uplo)
	return func(i, j int) float64 {
		if !in(i, j) {
			return 0
		}
		return f(i, j)
	}
}

// mirrored returns the symmetric matrix of which f gives the uplo triangle.
func (f element) mirrored(uplo blas.Uplo) element {
	in := inTriangle(uplo)
	return func(i, j int) float64 {
		if !in(i, j) {
			i, j = j, i
		}
		return f(i, j)
	}
}

func (f element) t() element { return func(i, j int) float64 { return f(j, i) } }

// norm returns the largest column sum.
func (f element) norm(m, n int) float64 {
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

// times returns f·g with the inner dimension k.
func (f element) times(g element, k int) element {
	return func(i, j int) float64 {
		s := 0.0
		for l := range k {
			s = math.FMA(f(i, l), g(l, j), s)
		}
		return s
	}
}

// minus returns x·f − y·g.
func minus(x float64, f element, y float64, g element) element {
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

// tileCount returns the number of tiles that cover n elements.
func tileCount(n, nb int) int { return (n + nb - 1) / nb }

// TestProgramSequence solves a system, multiplies back and takes the
// difference, all without waiting in between.
func TestProgramSequence(t *testing.T) {
	for _, opt := range []exec.Options{{Workers: 1}, {Workers: 3, Float: true}, {Workers: 2, Window: 3}} {
		rt := startLocal(t, opt)
		rnd := rand.New(rand.NewPCG(1, 1))
		const n, nrhs, nb = 23, 9, 4
		full := normal[float64](rnd, n, n)
		for i := range n {
			full.Set(i, i, 2*n)
			for j := range i {
				full.Set(i, j, full.At(j, i))
			}
		}
		rhs := normal[float64](rnd, n, nrhs)
		a, _ := blocked.From[float64](full, blocked.SymLower, nb, blocked.CopyOptions{})
		full4, x, r := blocked.View(full, nb), blocked.View(copyOf(rhs), nb), blocked.View(copyOf(rhs), nb)
		_, err := compute(t, rt, func(p *blocked.Program[float64]) error {
			return errors.Join(
				p.Potrf(a),
				p.Trsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, 1, a, x),
				p.Trsm(blas.Left, blas.Lower, blas.Trans, blas.NonUnit, 1, a, x),
				p.Gemm(blas.NoTrans, blas.NoTrans, -1, full4, x, 1, r),
			)
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			for j := range nrhs {
				if v := r.At(i, j); !(math.Abs(v) < 1e-13) {
					t.Fatalf("%+v: residual (%d, %d) is %v", opt, i, j, v)
				}
			}
		}
	}
}

// TestProgramWait waits for tiles while the rest is computed.
func TestProgramWait(t *testing.T) {
	rt := startLocal(t, exec.Options{Workers: 2})
	const n, nb = 40, 4
	a := blocked.New[float64](blocked.SymLower, n, n, nb)
	for i := range n {
		a.Set(i, i, 4)
	}
	job := rt.NewJob(t.Context())
	p := blocked.NewProgram(job, kernels.For[float64](op.NewTable()))
	if err := p.Potrf(a); err != nil {
		t.Fatal(err)
	}
	for k := range n / nb {
		if err := p.Wait(a, k, k); err != nil {
			t.Fatal(err)
		}
		if got := a.Tile(k, k).At(1, 1); got != 2 {
			t.Errorf("tile %d holds %v, want 2", k, got)
		}
	}
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	if v := recovered(func() { p.Wait(a, 0, 1) }); v != blocked.ErrNotStored {
		t.Errorf("waiting for a tile that is not there panics with %v", v)
	}

	// The second tile cannot be had, the first can.
	b := blocked.New[float64](blocked.SymLower, n, n, nb)
	for i := range n {
		b.Set(i, i, 1)
	}
	b.Set(nb+2, nb+2, -1)
	job = rt.NewJob(t.Context())
	p = blocked.NewProgram(job, kernels.For[float64](op.NewTable()))
	failed := p.Potrf(b)
	if failed == nil {
		if err := p.Wait(b, 0, 0); err != nil {
			t.Errorf("tile (0, 0): %v", err)
		}
		failed = p.Wait(b, 9, 9)
	}
	var npd *kernels.NotPositiveDefiniteError
	if !errors.As(failed, &npd) || npd.Minor != nb+3 {
		t.Errorf("tile (9, 9): %v, want minor %d", failed, nb+3)
	}
	if err := job.Wait(); !errors.As(err, &npd) || npd.Minor != nb+3 {
		t.Errorf("%v, want minor %d", err, nb+3)
	}
}

// TestProgramEnded checks that submissions end with their job.
func TestProgramEnded(t *testing.T) {
	endedWithJob(t, func(p *blocked.Program[float64]) map[string]error {
		a := blocked.New[float64](blocked.Full, 9, 9, 4)
		s := blocked.New[float64](blocked.SymLower, 9, 9, 4)
		w := blocked.New[float64](blocked.TriLower, 9, 9, 4)
		return map[string]error{
			"gemm":       p.Gemm(blas.NoTrans, blas.NoTrans, 1, a, a, 0, blocked.New[float64](blocked.Full, 9, 9, 4)),
			"gemm scale": p.Gemm(blas.NoTrans, blas.NoTrans, 0, a, a, 0, a),
			"syrk":       p.Syrk(blas.NoTrans, 1, a, 0, s),
			"syrk scale": p.Syrk(blas.NoTrans, 0, a, 0, s),
			"trsm":       p.Trsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, 1, s, a),
			"potrf":      p.Potrf(s),
			"potri":      p.Potri(s, w, blocked.New[float64](blocked.SymUpper, 9, 9, 4)),
		}
	})
}

// endedWithJob has algorithms submitted to a job that was cancelled: they return its error, and
// submit nothing.
func endedWithJob(t *testing.T, submit func(p *blocked.Program[float64]) map[string]error) {
	t.Helper()
	rt := startLocal(t, exec.Options{Workers: 1})
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

// told returns the n tasks of a job, a line each: op, operands, and the tasks that it waited for.
func told(t *testing.T, job exec.Job, n int) string {
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

// TestPotrfGraph compares the tasks of a factorization, with their operands
// and what they wait for, with the ones that the algorithm has.
func TestPotrfGraph(t *testing.T) {
	rt := startLocal(t, exec.Options{Workers: 1, Stories: 100})
	for kind, want := range map[blocked.Kind]string{
		blocked.SymLower: `
potrf(INOUT A(0,0))
trsm(IN A(0,0), INOUT A(1,0)) after 1
trsm(IN A(0,0), INOUT A(2,0)) after 1
syrk(IN A(1,0), INOUT A(1,1)) after 2
syrk(IN A(2,0), INOUT A(2,2)) after 3
gemm(IN A(2,0), IN A(1,0), INOUT A(2,1)) after 3 2
potrf(INOUT A(1,1)) after 4
trsm(IN A(1,1), INOUT A(2,1)) after 7 6
syrk(IN A(2,1), INOUT A(2,2)) after 8 5
potrf(INOUT A(2,2)) after 9
`,
		blocked.TriUpper: `
potrf(INOUT A(0,0))
trsm(IN A(0,0), INOUT A(0,1)) after 1
trsm(IN A(0,0), INOUT A(0,2)) after 1
syrk(IN A(0,1), INOUT A(1,1)) after 2
syrk(IN A(0,2), INOUT A(2,2)) after 3
gemm(IN A(0,1), IN A(0,2), INOUT A(1,2)) after 2 3
potrf(INOUT A(1,1)) after 4
trsm(IN A(1,1), INOUT A(1,2)) after 7 6
syrk(IN A(1,2), INOUT A(2,2)) after 8 5
potrf(INOUT A(2,2)) after 9
`,
	} {
		a := blocked.New[float64](kind, 5, 5, 2)
		a.SetIdentity()
		job := rt.NewJob(t.Context())
		p := blocked.NewProgram(job, kernels.For[float64](op.NewTable()))
		if err := p.Potrf(a); err != nil {
			t.Fatal(err)
		}
		if err := job.Wait(); err != nil {
			t.Fatal(err)
		}
		if got := told(t, job, p.Len()); got != want {
			t.Errorf("%v: tasks are%swant%s", kind, got, want)
		}
	}
}
