//go:build mpi && linux && cgo

package scalapack

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/chol"
	tessera "github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/transport/mpi"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

var asRank = flag.String("grid", "", "be a rank of a grid of PxQ; set by TestRanks")

func TestMain(m *testing.M) {
	flag.Parse()
	if *asRank == "" {
		os.Exit(m.Run())
	}
	var g Grid
	_, err := fmt.Sscanf(*asRank, "%dx%d", &g.P, &g.Q)
	if err == nil {
		err = rank(g)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestRanks: on ranks of MPI, matrices get from local arrays into tiles and back; and the
// Cholesky factor that is stored there is that of ScaLAPACK, where there is one.
func TestRanks(t *testing.T) {
	for _, grid := range []string{"1x2", "2x1", "2x2"} {
		t.Run(grid, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a second, but for a busy machine
			defer cancel()
			n := int(grid[0]-'0') * int(grid[2]-'0')
			args := append(launcher(), "-n", strconv.Itoa(n), os.Args[0], "-grid", grid)
			c := exec.CommandContext(ctx, args[0], args[1:]...)
			c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // which it passes on
			c.WaitDelay = 10 * time.Second
			c.Env = append(os.Environ(), "OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1")
			out, err := c.CombinedOutput()
			if err != nil || ctx.Err() != nil {
				t.Fatalf("error %v: %s", errors.Join(err, ctx.Err()), out)
			}
			t.Logf("%s", out)
		})
	}
}

// held is a matrix in the array of a rank, and how its elements are to be.
type held struct {
	shape
	desc   Desc
	array  []float64
	share  *Array[float64]
	want   []float64 // nil: as the factor of theirs is
	theirs []float64
}

// symmetric is an element of a positive definite matrix, of which the other half is NaN.
func symmetric(c shape) func(i, j int) float64 {
	return func(i, j int) float64 {
		x := math.Sin(float64(min(i, j)*37 + max(i, j)))
		switch {
		case i == j:
			x += float64(c.n)
		case !stores(c.kind, i, j):
			x = math.NaN()
		}
		return x
	}
}

// rank is a rank of TestRanks.
func rank(g Grid) (err error) {
	w, err := mpi.OpenMultiple()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	s, err := NewProcess(g, w.Rank())
	if err != nil {
		return err
	}
	value := func(i, j int) float64 { return float64(1 + i*100 + j) }
	var all []*held
	hold := func(c shape, value func(i, j int) float64) (*held, error) {
		h := &held{shape: c, desc: c.desc(g, w.Rank())}
		h.array = local(g, w.Rank(), h.desc, value)
		h.share, err = Share(s, fmt.Sprint(len(all)), h.desc, h.array)
		all = append(all, h)
		return h, err
	}
	for _, c := range shapes(g) {
		if _, err := hold(c, value); err != nil {
			return err
		}
		to, err := hold(c, func(int, int) float64 { return -1 })
		if err != nil {
			return err
		}
		to.want = local(g, w.Rank(), to.desc, func(i, j int) float64 {
			if stores(c.kind, i, j) {
				return value(i, j)
			}
			return -1
		})
	}
	pairs := len(all)
	for k, kind := range []blocked.Kind{blocked.SymLower, blocked.SymUpper} {
		block := []int{16, 7}[k] // as tiles, and not
		c := shape{m: 90, n: 90, mb: block, nb: block, tile: 16, kind: kind, rsrc: g.P - 1, csrc: g.Q - 1}
		h, err := hold(c, symmetric(c))
		if err != nil {
			return err
		}
		h.theirs = append([]float64(nil), h.array...)
		if err := pdpotrf(g, h, w.Rank()); err != nil {
			return err
		}
	}
	if err := compute(w, s, all[:pairs], all[pairs:]); err != nil {
		return err
	}
	for k, h := range all {
		if err := h.check(); err != nil {
			return fmt.Errorf("rank %d, array %d, %+v: %w", w.Rank(), k, h.shape, err)
		}
	}
	return nil
}

// compute has rank 0 drive: it moves the first of two matrices into the second one, and factors
// others.
func compute(w *mpi.World, s *Process, pairs, factors []*held) error {
	t, err := w.New(mpi.Options{Timeout: time.Minute})
	if err != nil {
		return err
	}
	rt, err := tessera.NewLocal(tessera.Options{Workers: 1, Float: true})
	if err != nil {
		return err
	}
	defer rt.Close()
	opt := cluster.Options{
		Transport: t, Runtime: rt, Ops: append(op.NewTable().All(), s.Ops()...), Values: kernels.Values(),
		Errors: append(kernels.Errors(), Errors()...), Log: slog.New(slog.DiscardHandler),
	}
	potrf := potrfOp(w)
	if potrf != nil {
		opt.Ops = append(opt.Ops, potrf)
	}
	ctx := context.Background()
	if w.Rank() > 0 {
		opt.Driver = w.Name(0)
		return cluster.Serve(ctx, opt)
	}
	d, err := cluster.NewDriver(opt)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Await(ctx, w.Size()-1); err != nil {
		return err
	}
	for ; len(pairs) > 0; pairs = pairs[2:] {
		if err := through(ctx, d, pairs[0], pairs[1], func(*blocked.Matrix[float64]) error { return nil }); err != nil {
			return err
		}
	}
	for _, h := range factors {
		if err := through(ctx, d, h, h, func(a *blocked.Matrix[float64]) error {
			job := d.NewJob(ctx)
			return errors.Join(chol.Potrf(blocked.NewProgram(job, kernels.For[float64](op.NewTable())), a), job.Wait())
		}); err != nil {
			return err
		}
	}
	if potrf == nil {
		return nil
	}
	return solve(ctx, d, potrf, s.grid)
}

// solve solves A·X = B: tasks make the matrices, a task of all ranks factors A, and others solve with the factor.
func solve(ctx context.Context, d *cluster.Driver, potrf *versions.Op, g Grid) error {
	const n, nrhs, nb = 150, 20, 16
	symmetric := func() *blocked.Matrix[float64] { return blocked.New[float64](blocked.SymLower, n, n, nb) }
	a, l := symmetric(), symmetric()
	b, x := blocked.New[float64](blocked.Full, n, nrhs, nb), blocked.New[float64](blocked.Full, n, nrhs, nb)
	job := d.NewJob(ctx)
	p := blocked.NewProgram(job, kernels.For[float64](op.NewTable()))
	err := errors.Join(p.Plrnt(a, 1, n), p.Plrnt(l, 1, n), p.Plrnt(b, 2, 0), p.Plrnt(x, 2, 0),
		Submit(job, p, potrf, g, l),
		p.Trsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, 1, l, x),
		p.Trsm(blas.Left, blas.Lower, blas.Trans, blas.NonUnit, 1, l, x),
		job.Wait())
	if err != nil {
		return err
	}
	var most, norm, size float64 // of ‖AX − B‖, ‖A‖ and ‖X‖: the largest elements, and sums of rows of A
	for i := range n {
		row := 0.0
		for k := range n {
			row += math.Abs(a.At(max(i, k), min(i, k)))
		}
		norm = max(norm, row)
		for j := range nrhs {
			r := -b.At(i, j)
			for k := range n {
				r += a.At(max(i, k), min(i, k)) * x.At(k, j)
			}
			most, size = max(most, math.Abs(r)), max(size, math.Abs(x.At(i, j)))
		}
	}
	residual := most / (norm * size * n * 0x1p-52)
	fmt.Printf("%+v: ‖AX − B‖ / (n·‖A‖·‖X‖·ε) is %.3g\n", g, residual)
	if !(residual < 30) {
		return fmt.Errorf("the scaled residual is %g, want below 30", residual)
	}
	return nil
}

// through loads a matrix, does something with its tiles, and stores these.
func through(ctx context.Context, d *cluster.Driver, from, to *held, do func(*blocked.Matrix[float64]) error) error {
	a, err := blocked.Distributed[float64](d, from.kind, from.m, from.n, from.tile)
	if err != nil {
		return err
	}
	defer a.Close()
	err = from.share.Load(ctx, d, a)
	if err == nil {
		err = do(a)
	}
	if err == nil {
		err = to.share.Store(ctx, d, a)
	}
	return err
}

// check returns an error if the array is not as it is to be: what is no element, NaN.
func (h *held) check() error {
	for k, got := range h.array {
		switch {
		case h.want != nil && got != h.want[k] && (got == got || h.want[k] == h.want[k]):
			return fmt.Errorf("%v at %d, want %v", got, k, h.want[k])
		case h.theirs != nil && (math.IsNaN(got) != math.IsNaN(h.theirs[k]) || math.Abs(got-h.theirs[k]) > 1e-13*float64(h.n)):
			return fmt.Errorf("%v at %d, and ScaLAPACK has %v", got, k, h.theirs[k])
		}
	}
	return nil
}
