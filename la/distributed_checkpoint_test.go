package la_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
)

const awayOrder, awayTile = 150, 16

// awayFactors factors a random matrix in place and returns the elements, the pivots of LU, and
// an estimate of the condition; without a checkpoint if Dir is "". It calls lose before and after
// the factorization.
func awayFactors(ctx context.Context, rt exec.Runtime, op string, seed uint64, keep la.Checkpoint, lose func(ended bool)) (resumed int, result []float64, err error) {
	e, err := la.NewEngine(la.Options{Runtime: rt, NB: awayTile})
	if err != nil {
		return 0, nil, err
	}
	defer e.Close()
	kind, bump := blocked.SymUpper, float64(awayOrder)
	if op != "cholesky" {
		kind, bump = blocked.Full, 0
	}
	a, err := blocked.Distributed[float64](rt, kind, awayOrder, awayOrder, awayTile)
	if err != nil {
		return 0, nil, err
	}
	defer a.Close()
	if err := engine.Run(ctx, e, func(p *blocked.Program[float64]) error { return p.Plrnt(a, seed, bump) }); err != nil {
		return 0, nil, err
	}
	lose(false)
	f, c := la.NewLU[float64](e), la.NewCholesky[float64](e)
	if op == "lu, tournament" {
		if f, err = la.NewLUWith[float64](e, la.LUOptions{Pivoting: la.TournamentPivoting}); err != nil {
			return 0, nil, err
		}
	}
	isLU := strings.HasPrefix(op, "lu")
	var q *la.QR[float64]
	for _, tree := range qr.Trees() {
		if op == "qr, "+tree.String() {
			if q, err = la.NewQRWith[float64](e, la.QROptions{Tree: tree}); err != nil {
				return 0, nil, err
			}
		}
	}
	opts := []la.CallOption{la.WithContext(ctx), la.InPlace()}
	if keep.Dir != "" {
		keep.Resumed = &resumed
		opts = append(opts, keep)
	}
	switch {
	case q != nil:
		err = q.Factorize(a, opts...)
	case isLU:
		err = f.Factorize(a, opts...)
	default:
		err = c.Factorize(a, opts...)
	}
	if err != nil {
		return resumed, nil, err
	}
	lose(true)
	for i := range awayOrder {
		for j := range awayOrder {
			result = append(result, a.At(i, j))
		}
	}
	switch {
	case q != nil: // with all of the rotations
		b := waves(blocked.Full, awayOrder, 2, awayTile)
		if err := q.SolveTo(b, false, b, la.WithContext(ctx), la.InPlace()); err != nil {
			return resumed, nil, err
		}
		for i := range awayOrder {
			result = append(result, b.At(i, 0), b.At(i, 1))
		}
		return resumed, append(result, estimateOf(q.Cond()), float64(q.Det())), nil
	case isLU:
		for _, p := range f.Pivots(nil) {
			result = append(result, float64(p))
		}
		return resumed, append(result, estimateOf(f.Cond())), nil
	}
	return resumed, append(result, estimateOf(c.Cond())), nil
}

// estimateOf returns what is the same of an estimate wherever the factors are: not its last bits.
func estimateOf(cond float64) float64 { return float64(float32(cond)) }

// untilStates returns a context that ends when there are states in a directory.
func untilStates(t *testing.T, dir string) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() {
		for ctx.Err() == nil {
			if names, _ := filepath.Glob(filepath.Join(dir, "*.state")); len(names) > 1 {
				cancel()
			}
			time.Sleep(500 * time.Microsecond) // a look takes some 20
		}
	}()
	return ctx
}

// interrupt calls f with a context that ends after its first states, and returns their directory. A busy machine may look for
// states too late: then f is called again.
func interrupt(t *testing.T, f func(ctx context.Context, keep la.Checkpoint) error) (dir string) {
	t.Helper()
	for range 50 {
		dir = t.TempDir()
		err := f(untilStates(t, dir), la.Checkpoint{Dir: dir, Every: 1})
		if errors.Is(err, context.Canceled) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("no call was interrupted")
	return ""
}

func sameBits(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range want {
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
			t.Fatalf("%s: number %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// TestDistributedCheckpoint: the nodes write the states of a distributed matrix, and another
// driver with other nodes goes on from them, also when one of these is lost then, and one after
// the end. It has the bits of one machine without a checkpoint.
func TestDistributedCheckpoint(t *testing.T) {
	one, err := exec.NewLocal(exec.Options{Workers: 2, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	for _, op := range []string{"cholesky", "lu", "lu, tournament", "qr, flat", "qr, greedy"} {
		t.Run(op, func(t *testing.T) { resumeDistributed(t, one, op) })
	}
}

// resumeDistributed runs the test of an op. The local runtime one makes the bits to compare with.
func resumeDistributed(t *testing.T, one *exec.Local, op string) {
	nothing := func(bool) {}
	dir := t.TempDir()
	_, want, err := awayFactors(context.Background(), one, op, 7, la.Checkpoint{}, nothing)
	if err != nil {
		t.Fatal(err)
	}
	first, _ := nodes(t, 2, true)
	var bad *la.CheckpointError
	if _, _, err := awayFactors(context.Background(), first, op, 7, la.Checkpoint{Dir: dir, Resume: true}, nothing); !errors.As(err, &bad) {
		t.Errorf("resumed from nothing: %v", err)
	}
	dir = interrupt(t, func(ctx context.Context, keep la.Checkpoint) error {
		_, _, err := awayFactors(ctx, first, op, 7, keep, nothing)
		return err
	})
	states, _ := filepath.Glob(filepath.Join(dir, "*.state"))
	if len(states) < 2 {
		t.Fatalf("states %v", states)
	}
	first.Close()
	copyOf := func() string { // a directory with the same states
		to := t.TempDir()
		for _, s := range states {
			b, err := os.ReadFile(s)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(to, filepath.Base(s)), b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		return to
	}
	damaged, other := copyOf(), copyOf()
	second, kill := nodes(t, 3, true)
	resumed, got, err := awayFactors(context.Background(), second, op, 7, la.Checkpoint{Dir: dir, Every: 5, Resume: true}, func(ended bool) {
		if !ended {
			time.AfterFunc(time.Millisecond, kill[1])
			return
		}
		kill[2]() // what only it had comes from the state
		if left, _ := os.ReadDir(dir); len(left) != 1 || !strings.HasSuffix(left[0].Name(), ".lent") {
			t.Errorf("%v is there before the matrix is closed", left)
		}
	})
	if err != nil || resumed == 0 {
		t.Fatalf("resumed after %d panels: %v", resumed, err)
	}
	sameBits(t, "resumed", got, want)
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
	// A tile of the latest state is damaged: the one before does.
	latest := filepath.Join(damaged, filepath.Base(states[len(states)-1]))
	b, err := os.ReadFile(latest)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-100] ^= 1
	if err := os.WriteFile(latest, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if again, got, err := awayFactors(context.Background(), second, op, 7, la.Checkpoint{Dir: damaged, Resume: true}, nothing); err != nil || again >= resumed {
		t.Errorf("with a damaged state: resumed after %d panels, %v", again, err)
	} else {
		sameBits(t, "from the older state", got, want)
	}
	if _, _, err := awayFactors(context.Background(), second, op, 8, la.Checkpoint{Dir: other}, nothing); !errors.As(err, &bad) {
		t.Errorf("another matrix: %v", err)
	}
	// Without nodes a distributed matrix is one of this process.
	if _, got, err = awayFactors(context.Background(), one, op, 7, la.Checkpoint{Dir: t.TempDir(), Every: 4}, nothing); err != nil {
		t.Errorf("in one process: %v", err)
	} else {
		sameBits(t, "in one process", got, want)
	}
	second.Close()
}

// TestCheckpointOnNodes: a factorization of the program's own matrix on a cluster keeps
// states, and a driver that comes after it goes on from them, with the same bits.
func TestCheckpointOnNodes(t *testing.T) {
	one, err := exec.NewLocal(exec.Options{Workers: 2, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	for _, f := range factorizations() {
		on := func(rt exec.Runtime, ctx context.Context, keep la.Checkpoint) (int, []float64, error) {
			e, err := la.NewEngine(la.Options{Runtime: rt, NB: 16})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			return f.factor(ctx, e, 1, keep)
		}
		_, want, err := on(one, context.Background(), la.Checkpoint{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		var drivers [2]*cluster.Driver
		for k := range drivers {
			drivers[k], _ = nodes(t, 2, false)
		}
		dir := interrupt(t, func(ctx context.Context, keep la.Checkpoint) error {
			_, _, err := on(drivers[0], ctx, keep)
			return err
		})
		drivers[0].Close()
		resumed, got, err := on(drivers[1], context.Background(), la.Checkpoint{Dir: dir, Resume: true})
		if err != nil || resumed == 0 {
			t.Fatalf("%s: resumed after %d panels: %v", f.name, resumed, err)
		}
		sameBits(t, f.name, got, want)
	}
}
