package la_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// stable are options under which results have the same bits in every run.
func stable() la.Options { return la.Options{Workers: 2, NB: 16, Deterministic: true} }

// kept is a factorization that keeps a checkpoint.
type kept struct {
	name   string
	factor func(ctx context.Context, e *la.Engine, seed uint64, keep la.Checkpoint) (resumed int, result []float64, err error)
}

const keptOrder, keptPanels = 150, 10 // tiles of 16

func keptMatrix(seed uint64) la.General[float64] {
	a := random[float64](rand.New(rand.NewPCG(seed, 8)), keptOrder, keptOrder, 0)
	for i := range keptOrder {
		for j := range i {
			a.Data[i*a.Stride+j] = a.Data[j*a.Stride+i]
		}
		a.Data[i*a.Stride+i] += keptOrder
	}
	return a
}

// keptLU factors with some pivoting.
func keptLU(pivoting la.Pivoting) func(ctx context.Context, e *la.Engine, seed uint64, keep la.Checkpoint) (int, []float64, error) {
	return func(ctx context.Context, e *la.Engine, seed uint64, keep la.Checkpoint) (int, []float64, error) {
		f, err := la.NewLUWith[float64](e, la.LUOptions{Pivoting: pivoting})
		if err != nil {
			return 0, nil, err
		}
		var resumed int
		keep.Resumed = &resumed
		err = f.Factorize(keptMatrix(seed), la.WithContext(ctx), keep)
		if err != nil {
			return resumed, nil, err
		}
		var result []float64
		for _, p := range f.Pivots(nil) {
			result = append(result, float64(p))
		}
		u := la.Triangular[float64]{Uplo: blas.Upper, Diag: blas.NonUnit, N: keptOrder, Stride: keptOrder, Data: make([]float64, keptOrder*keptOrder)}
		f.UTo(u)
		return resumed, append(append(result, u.Data...), f.Cond(), f.Growth()), nil
	}
}

// factorizations returns what keeps checkpoints.
func factorizations() []kept {
	return []kept{
		{"cholesky", func(ctx context.Context, e *la.Engine, seed uint64, keep la.Checkpoint) (int, []float64, error) {
			a := keptMatrix(seed)
			c := la.NewCholesky[float64](e)
			var resumed int
			keep.Resumed = &resumed
			err := c.Factorize(la.Symmetric[float64]{Uplo: blas.Upper, N: keptOrder, Stride: a.Stride, Data: a.Data}, la.WithContext(ctx), keep)
			if err != nil {
				return resumed, nil, err
			}
			u := la.Triangular[float64]{Uplo: blas.Upper, Diag: blas.NonUnit, N: keptOrder, Stride: keptOrder, Data: make([]float64, keptOrder*keptOrder)}
			c.UTo(u)
			return resumed, append(u.Data, c.Cond()), nil
		}},
		{"lu", keptLU(la.PartialPivoting)},
		{"lu, tournament", keptLU(la.TournamentPivoting)},
		{"qr", func(ctx context.Context, e *la.Engine, seed uint64, keep la.Checkpoint) (int, []float64, error) {
			q, err := la.NewQRWith[float64](e, la.QROptions{Tree: qr.TreeGreedy}) // by any number of workers
			if err != nil {
				return 0, nil, err
			}
			var resumed int
			keep.Resumed = &resumed
			err = q.Factorize(keptMatrix(seed), la.WithContext(ctx), keep)
			if err != nil {
				return resumed, nil, err
			}
			r, b := padded[float64](keptOrder, keptOrder, 0), keptMatrix(3)
			q.RTo(r)
			if err := q.SolveTo(b, true, b); err != nil {
				return resumed, nil, err
			}
			return resumed, slices.Concat(r.Data[:keptOrder*keptOrder], b.Data[:keptOrder*keptOrder], []float64{q.Cond()}), nil
		}},
	}
}

// TestCheckpointKilled kills a process in the middle of a factorization, at
// every state that it writes, and goes on in this one.
func TestCheckpointKilled(t *testing.T) {
	if dir := os.Getenv("TESSERA_TEST_CHECKPOINT"); dir != "" {
		e, err := la.NewEngine(stable())
		if err != nil {
			t.Fatal(err)
		}
		var f kept
		for _, known := range factorizations() {
			if known.name == os.Getenv("TESSERA_TEST_FACTOR") {
				f = known
			}
		}
		// The parent kills the process when it has read enough.
		go func() {
			seen := 0
			for {
				names, _ := filepath.Glob(filepath.Join(dir, "*.state"))
				if len(names) > 0 && names[len(names)-1] != "" && len(names) != seen {
					seen = len(names)
					fmt.Println(filepath.Base(names[len(names)-1]))
				}
			}
		}()
		for seed := uint64(1); ; {
			f.factor(context.Background(), e, seed, la.Checkpoint{Dir: dir, Every: 1})
		}
	}
	e, err := la.NewEngine(stable())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, f := range factorizations() {
		_, want, err := f.factor(context.Background(), e, 1, la.Checkpoint{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		wentOn := 0
		for range 6 {
			dir := t.TempDir()
			c := exec.Command(os.Args[0], "-test.run=^TestCheckpointKilled$")
			c.Env = append(os.Environ(), "TESSERA_TEST_CHECKPOINT="+dir, "TESSERA_TEST_FACTOR="+f.name)
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			bufio.NewReader(out).ReadString('\n') // a state is there
			c.Process.Kill()                      // SIGKILL where there is one
			c.Wait()
			resumed, got, err := f.factor(context.Background(), e, 1, la.Checkpoint{Dir: dir, Every: 3})
			if err != nil {
				t.Fatalf("%s: %v", f.name, err)
			}
			if resumed > 0 {
				wentOn++
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: resumed after %d of %d panels: another result", f.name, resumed, keptPanels)
			}
			if left, _ := os.ReadDir(dir); len(left) != 0 {
				t.Errorf("%s: %v is left at the end", f.name, left)
			}
		}
		if wentOn == 0 {
			t.Errorf("%s: none of the killed factorizations left a state", f.name)
		}
	}
}

// interrupted leaves the states of a Cholesky factorization of which one panel
// fails.
func interrupted(t *testing.T, f kept, dir string) {
	t.Helper()
	why := errors.New("enough")
	table := op.NewTable()
	potrf := kernels.For[float64](table).Op("potrf")
	whole := potrf.Versions[len(potrf.Versions)-1]
	table.Add(potrf, versions.Version{Name: "faulty", Run: func(c *versions.Call) error {
		if c.Params.(*op.Potrf).Offset == 16*(keptPanels-3) {
			return why
		}
		return whole.Run(c)
	}})
	opt := stable()
	opt.Table, opt.Fixed = table, []versions.Pin{{Op: "potrf/f64", Version: "faulty"}}
	e, err := la.NewEngine(opt)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, _, err := f.factor(context.Background(), e, 1, la.Checkpoint{Dir: dir, Every: 1}); !errors.Is(err, why) {
		t.Fatalf("%s: %v", f.name, err)
	}
}

func TestCheckpointDamaged(t *testing.T) {
	// The portable potrf, as in the factorization that fails.
	opt := stable()
	opt.Fixed = []versions.Pin{{Op: "potrf/f64", Version: "go"}}
	e, err := la.NewEngine(opt)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	f := factorizations()[0]
	_, want, err := f.factor(context.Background(), e, 1, la.Checkpoint{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	interrupted(t, f, dir)
	names, _ := filepath.Glob(filepath.Join(dir, "*.state"))
	if len(names) != 2 {
		t.Fatalf("states %v, want the two latest", names)
	}
	var bad *la.CheckpointError
	// Another matrix is not factored over the state of this one.
	if _, _, err := f.factor(context.Background(), e, 2, la.Checkpoint{Dir: dir}); !errors.As(err, &bad) {
		t.Errorf("another matrix: %v", err)
	}
	// A damaged state gives way to an older one.
	latest := names[len(names)-1]
	whole, err := os.ReadFile(latest)
	if err != nil {
		t.Fatal(err)
	}
	for _, spoil := range []func([]byte) []byte{
		func(b []byte) []byte { return b[:len(b)/2] },
		func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		func(b []byte) []byte { b[30] ^= 1; return b },
		func(b []byte) []byte { return nil },
	} {
		copied := t.TempDir()
		for _, n := range names {
			b, err := os.ReadFile(n)
			if err != nil {
				t.Fatal(err)
			}
			if n == latest {
				b = spoil(slices.Clone(whole))
			}
			if err := os.WriteFile(filepath.Join(copied, filepath.Base(n)), b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		resumed, got, err := f.factor(context.Background(), e, 1, la.Checkpoint{Dir: copied})
		if err != nil || resumed == 0 || !slices.Equal(got, want) {
			t.Errorf("resumed after %d panels, %v", resumed, err)
		}
	}
}

func TestCheckpointMisuse(t *testing.T) {
	e, err := la.NewEngine(stable())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, f := range factorizations() {
		for _, keep := range []la.Checkpoint{{}, {Dir: t.TempDir(), Every: -1}, {Dir: file}, {Dir: filepath.Join(file, "sub")}} {
			var bad *la.CheckpointError
			if _, _, err := f.factor(context.Background(), e, 1, keep); !errors.As(err, &bad) {
				t.Errorf("%s, %+v: %v", f.name, keep, err)
			}
		}
	}
	lu, err := la.NewLUWith[float64](e, la.LUOptions{Pivoting: la.TilePivoting})
	if err != nil {
		t.Fatal(err)
	}
	var bad *la.CheckpointError
	if err := lu.Factorize(keptMatrix(1), la.Checkpoint{Dir: t.TempDir()}); !errors.As(err, &bad) {
		t.Errorf("tile pivoting: %v", err)
	}
}

// TestCheckpointRotations: QR goes on by the rotations of the state, with another number of
// workers, too; it does not go on if other ones are wanted.
func TestCheckpointRotations(t *testing.T) {
	engine := func(workers int) *la.Engine {
		e, err := la.NewEngine(la.Options{Workers: workers, NB: 16, Only: []string{"go"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		return e
	}
	a := random[float64](rand.New(rand.NewPCG(5, 5)), 300, 60, 0)
	factor := func(ctx context.Context, e *la.Engine, opt la.QROptions, keep la.Checkpoint) (int, []float64, error) {
		q, err := la.NewQRWith[float64](e, opt)
		if err != nil {
			t.Fatal(err)
		}
		var resumed int
		keep.Resumed = &resumed
		err = q.Factorize(a, la.WithContext(ctx), keep)
		if err != nil {
			return resumed, nil, err
		}
		thin := padded[float64](300, 60, 0)
		return resumed, thin.Data[:300*60], q.QThinTo(thin)
	}
	three, one := engine(3), engine(1)
	for _, tree := range []qr.Tree{qr.TreeAuto, qr.TreeBinary} {
		_, want, err := factor(t.Context(), three, la.QROptions{Tree: tree}, la.Checkpoint{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		dir := interrupt(t, func(ctx context.Context, keep la.Checkpoint) error {
			_, _, err := factor(ctx, three, la.QROptions{Tree: tree}, keep)
			return err
		})
		var bad *la.CheckpointError
		for _, other := range []la.QROptions{{Tree: qr.TreeFlat}, {Tree: tree, InnerBlock: 7}} {
			if _, _, err := factor(t.Context(), one, other, la.Checkpoint{Dir: dir}); !errors.As(err, &bad) {
				t.Errorf("%v: went on by %+v: %v", tree, other, err)
			}
		}
		resumed, got, err := factor(t.Context(), one, la.QROptions{Tree: tree}, la.Checkpoint{Dir: dir, Resume: true})
		if err != nil || resumed == 0 || !slices.Equal(got, want) {
			t.Errorf("%v: resumed after %d panels: %v, same bits %t", tree, resumed, err, slices.Equal(got, want))
		}
	}
}
