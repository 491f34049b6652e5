package op_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

const reads, updates = versions.Reads, versions.Reads | versions.Writes

// tileOf returns a random tile inside a larger matrix. Its diagonal, if it is
// square, is large.
func tileOf(rnd *rand.Rand, m, n, stride int) *kernels.Tile[float64] {
	t := &kernels.Tile[float64]{Rows: m, Cols: n, Stride: stride, Data: make([]float64, m*stride)}
	for i := range t.Data {
		t.Data[i] = rnd.NormFloat64()
	}
	for i := 0; m == n && i < n; i++ {
		t.Data[i*(stride+1)] = float64(4 + n)
	}
	return t
}

// smallCalls returns launches of products and solutions of two shapes each, whose
// operands are the same numbers each time.
func smallCalls() (all []*versions.Launch) {
	rnd := rand.New(rand.NewPCG(8, 8))
	ops := kernels.For[float64](op.NewTable())
	add := func(op *versions.Op, params any, args ...any) {
		l := &versions.Launch{Call: versions.Call{Ctx: context.Background(), Params: params, Args: args, Work: new(versions.Workspace)}, Version: op.Version("cuda"), Job: 1}
		for range args {
			l.Uses = append(l.Uses, reads)
		}
		l.Uses[len(args)-1] = updates
		all = append(all, l)
	}
	shared := tileOf(rnd, 20, 12, 64)
	triangle := tileOf(rnd, 20, 20, 20)
	for i := range 12 {
		n := 16 + i%2
		add(ops.Op("gemm"), &op.Gemm[float64]{TransA: blas.NoTrans, TransB: blas.Trans, Alpha: -1, Beta: 1}, shared, tileOf(rnd, n, 12, 64), tileOf(rnd, 20, n, 40))
		add(ops.Op("trsm"), &op.Trsm[float64]{Side: blas.Right, Uplo: blas.Lower, Trans: blas.Trans, Diag: blas.NonUnit, Alpha: 1}, triangle, tileOf(rnd, n, 20, 24))
	}
	return all
}

// inBatches starts calls, those with equal keys together, and returns the errors
// of those that were not started.
func inBatches(t *testing.T, a *cuda.Accelerator, all []*versions.Launch) (refused []error) {
	t.Helper()
	var keys []any
	groups := make(map[any][]*versions.Launch)
	for _, l := range all {
		key := l.Version.Batch.Key(&l.Call)
		if key == nil {
			t.Fatal("a small call has no key")
		}
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], l)
	}
	if len(keys) != 4 {
		t.Errorf("%d keys, want 4", len(keys))
	}
	for _, key := range keys {
		if err := a.LaunchBatch(groups[key]); err != nil {
			refused = append(refused, err)
			for _, l := range groups[key] {
				if err := a.Launch(l); err != nil {
					refused = append(refused, err)
					l.Err = err
				}
			}
		}
	}
	return refused
}

// ended waits for so many launches, however slow the machine is.
func ended(a *cuda.Accelerator, n int) (all []*versions.Launch) {
	for len(all) < n {
		all = a.Ended(all, time.Second)
	}
	return all
}

func batchAccelerator(t *testing.T, faults ...cuda.Fault) (*cuda.Accelerator, *cuda.Simulated) {
	t.Helper()
	d, err := cuda.NewSimulated(cuda.SimOptions{Memory: 16 << 20, Launch: time.Millisecond, Faults: faults})
	if err != nil {
		t.Fatal(err)
	}
	a, err := cuda.NewAccelerator(d, cuda.Options{Memory: 8 << 20, Poison: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a, d
}

// TestCUDABatches: what goes together gives bit for bit what it gives alone here,
// in fewer calls of the device, also when a batch cannot be started.
func TestCUDABatches(t *testing.T) {
	alone, together := smallCalls(), smallCalls()
	a, d := batchAccelerator(t)
	for _, l := range alone {
		if err := a.Launch(l); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range ended(a, len(alone)) {
		if l.Err != nil {
			t.Error(l.Err)
		}
	}
	if err := a.Flush(1); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		faults []cuda.Fault
		refuse int
	}{
		{"well", nil, 0},
		{"refused", []cuda.Fault{{Op: "GemmBatched", N: 1}, {Op: "TrsmBatched", N: 2}}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			together = smallCalls()
			b, e := batchAccelerator(t, test.faults...)
			if errs := inBatches(t, b, together); len(errs) != test.refuse {
				t.Errorf("refused: %v", errs)
			}
			var busy time.Duration
			for _, l := range ended(b, len(together)) {
				if busy += l.Busy; l.Err != nil || l.Busy <= 0 || l.Begin.IsZero() {
					t.Errorf("began %v, took %v: %v", l.Begin, l.Busy, l.Err)
				}
			}
			if err := b.Flush(1); err != nil {
				t.Fatal(err)
			}
			for i, l := range together {
				x, y := l.Call.Args[len(l.Call.Args)-1].(*kernels.Tile[float64]), alone[i].Call.Args[len(l.Call.Args)-1].(*kernels.Tile[float64])
				for k := range x.Data {
					if x.Data[k] != y.Data[k] {
						t.Fatalf("call %d, element %d: %v together and %v alone", i, k, x.Data[k], y.Data[k])
					}
				}
			}
			c, s := e.Stats().Calls, b.Stats()
			if n := d.Stats().Calls; n["Gemm"] != 12 || n["Trsm"] != 12 {
				t.Errorf("alone: %v", n)
			}
			if want := 6 * test.refuse; c["Gemm"]+c["Trsm"] != want || c["GemmBatched"] != 2 || c["TrsmBatched"] != 2 ||
				s.Launches != 24 || s.Batches != int64(4-test.refuse) {
				t.Errorf("%v, %+v", c, s)
			}
		})
	}
}

// TestCUDABatchLost: the device is lost by a batch: then all calls of it end so,
// or are not started.
func TestCUDABatchLost(t *testing.T) {
	for _, late := range []bool{false, true} {
		all := smallCalls()
		a, _ := batchAccelerator(t, cuda.Fault{Op: "GemmBatched", N: 1, Lost: true, Late: late})
		refused := inBatches(t, a, all)
		if a.Lost() == nil && !late {
			t.Error("the device is not lost")
		}
		flying := 0
		for _, l := range all {
			if l.Err == nil {
				flying++
			}
		}
		for _, l := range ended(a, flying) {
			if l.Err == nil {
				t.Error("a call on a lost device went well")
			}
		}
		for _, err := range refused {
			if e := (*cuda.DeviceError)(nil); !errors.As(err, &e) || !e.Lost {
				t.Errorf("got %v", err)
			}
		}
		if a.Lost() == nil {
			t.Error("the device is not lost")
		}
	}
}

// TestCUDABatchPacking: a call whose batch cannot be started, and which then goes
// alone, ends one task that shares its packed operands.
func TestCUDABatchPacking(t *testing.T) {
	for _, faults := range [][]cuda.Fault{nil, {{Op: "GemmBatched", N: 1}}} {
		all := smallCalls()
		a, _ := batchAccelerator(t, faults...)
		var left, right kernels.Packing
		left.Init(kernels.NewPackingRoom(0), len(all))
		right.Init(kernels.NewPackingRoom(0), len(all))
		products := 0
		for _, l := range all {
			if _, ok := l.Call.Params.(*op.Gemm[float64]); ok {
				l.Call.Local = &kernels.Packings{A: &left, B: &right}
				products++
			}
		}
		inBatches(t, a, all)
		ended(a, len(all))
		if x, y, want := left.Coming(), right.Coming(), len(all)-products; x != want || y != want {
			t.Errorf("faults %v: %d and %d tasks are to come, want %d", faults, x, y, want)
		}
	}
}

// TestCUDABatchRefused: calls that do not go together.
func TestCUDABatchRefused(t *testing.T) {
	a, _ := batchAccelerator(t)
	x, y := smallCalls(), smallCalls()
	y[0].Call.Args[0] = x[0].Call.Args[2]
	for name, all := range map[string][]*versions.Launch{"none": {}, "versions": {x[0], x[1]}, "same result": {x[0], x[0]}, "one needs the other": {y[0], x[0]}} {
		var e *cuda.BatchError
		if err := a.LaunchBatch(all); !errors.As(err, &e) {
			t.Errorf("%s: %v", name, err)
		}
	}
	big := &kernels.Tile[float64]{Rows: 1024, Cols: 1024, Stride: 1024}
	for _, l := range x[:2] {
		call := versions.Call{Params: l.Call.Params}
		for range l.Call.Args {
			call.Args = append(call.Args, big)
		}
		if key := l.Version.Batch.Key(&call); key != nil {
			t.Errorf("a large call has the key %v", key)
		}
	}
}
