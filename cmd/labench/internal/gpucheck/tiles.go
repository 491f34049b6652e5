package gpucheck

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// kernel is an op whose version "cuda" is measured on tiles.
type kernel struct {
	op     string
	params any
	ins    int // number of read-only operands, which all calls share
	outs   int // number of other operands, separate for each call
	ib     int // rows of the second operand, which holds triangles; 0: it is square
	// unit makes the first operand close to the unit matrix, so that it can be solved with, or factored, many
	// times.
	unit bool
}

// kernelsMeasured returns the kernels on tiles of T, with the parameters of la's factorizations.
func kernelsMeasured[T kernels.Element](nb int) []kernel {
	ib := min(64, nb)
	return []kernel{
		{op: "gemm", params: &op.Gemm[T]{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: 1, Beta: 1}, ins: 2, outs: 1},
		{op: "syrk", params: &op.Syrk[T]{Uplo: blas.Upper, Trans: blas.Trans, Alpha: 1, Beta: 1}, ins: 1, outs: 1},
		{op: "trsm", params: &op.Trsm[T]{Side: blas.Left, Uplo: blas.Upper, Trans: blas.Trans, Diag: blas.NonUnit, Alpha: 1}, ins: 1, outs: 1, unit: true},
		{op: "potrf", params: &op.Potrf{Uplo: blas.Upper}, outs: 1, unit: true},
		{op: "tsmqr", params: &op.Tsmqr{Side: blas.Left, Trans: blas.Trans, IB: ib}, ins: 2, outs: 2, ib: ib},
	}
}

// tiles measures the versions on resident tiles and the libraries' routines.
func (c *check) tiles() {
	// Half of the device memory is for tiles, the rest for the libraries' matrices.
	c.within("tiles", c.report.Device.Memory/2, func(a *cuda.Accelerator) {
		for _, nb := range c.sizes.tiles {
			for i := range kernelsMeasured[float64](nb) {
				tilePoint[float64](c, a, i, nb)
				tilePoint[float32](c, a, i, nb)
			}
		}
	})
}

// tilePoint runs the point of kernel i of [kernelsMeasured] at one size.
func tilePoint[T kernels.Element](c *check, a *cuda.Accelerator, i, nb int) {
	k := kernelsMeasured[T](nb)[i]
	_, typ := typeOf[T]()
	c.point(fmt.Sprintf("tile %s/%s, nb = %d", k.op, typ, nb), 2*time.Second, func() error {
		row, err := measureTile[T](c, a, k, nb)
		if err == nil {
			c.report.Tiles = append(c.report.Tiles, row)
		}
		return err
	})
}

// measureTile measures a kernel at one size.
func measureTile[T kernels.Element](c *check, a *cuda.Accelerator, k kernel, nb int) (row Tile, err error) {
	_, typ := typeOf[T]()
	row = Tile{Op: k.op, Type: typ, NB: nb}
	b, err := newTileCalls[T](a, k, nb)
	if err != nil {
		return row, err
	}
	if nb <= checked {
		if row.Apart, err = apart[T](b.station, b.op, b.version, k.params, b.args[0], b.uses); err != nil {
			return row, err
		}
	}
	defer func() { err = firstError(err, b.station.flush()) }()
	n := len(b.args)
	if _, err := b.time(n); err != nil { // moves the tiles to the device
		return row, err
	}
	once, err := b.time(n)
	if err != nil {
		return row, err
	}
	times := n * min(max(int(c.sizes.target/max(once, 1)), 1), 64)

	library := func(int) (time.Duration, error) { return 0, nil }
	r := &deviceMemory{d: a.Device()}
	defer r.free(&err)
	compared := k.op != "tsmqr" // no library has a similar routine
	if compared {
		l, err := newLibrary[T](r, k.op, nb, k.ins, n)
		if err != nil {
			return row, err
		}
		l.beta, library = 1, l.time
		if _, err := library(n); err != nil {
			return row, err
		}
	}
	ours, theirs := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for range c.sizes.rounds {
		x, err := b.time(times)
		if err != nil {
			return row, err
		}
		y, err := library(times)
		if err != nil {
			return row, err
		}
		ours, theirs = min(ours, max(x, 1)), min(theirs, max(y, 1))
	}
	flops := b.op.Work(&versions.Call{Params: k.params, Args: b.args[0]}) * float64(times)
	row.GFLOPS = flops / ours.Seconds() / 1e9
	if compared {
		row.Library = flops / theirs.Seconds() / 1e9
		row.Ratio = row.GFLOPS / row.Library
	}
	return row, nil
}

// tileCalls is calls of version "cuda" of an op. They share the operands that they only read.
type tileCalls struct {
	station *station
	op      *versions.Op
	version *versions.Version
	params  any
	args    [][]any // of each call
	uses    []versions.Use
}

// newTileCalls makes calls of a kernel on tiles of nb×nb, as many as may run at a time.
func newTileCalls[T kernels.Element](a *cuda.Accelerator, k kernel, nb int) (*tileCalls, error) {
	_, typ := typeOf[T]()
	op := op.NewTable().Op(k.op, typ)
	b := &tileCalls{station: &station{a: a}, op: op, version: op.Version("cuda"), params: k.params, args: make([][]any, slots(nb)),
		uses: append(slices.Repeat([]versions.Use{in}, k.ins), slices.Repeat([]versions.Use{inout}, k.outs)...)}
	if b.version == nil {
		return nil, fmt.Errorf("gpucheck: %s has no version cuda", op.OpName())
	}
	ins := make([]any, k.ins)
	for i := range ins {
		rows := nb
		if i == 1 && k.ib > 0 {
			rows = k.ib
		}
		// Reflectors that are not orthogonal make numbers grow, so T is small.
		ins[i] = square[T](rows, nb, k.unit || k.ib > 0)
	}
	for i := range b.args {
		b.args[i] = append(b.args[i], ins...)
		for range k.outs {
			b.args[i] = append(b.args[i], square[T](nb, nb, k.unit && k.ins == 0))
		}
	}
	return b, nil
}

// time returns the duration of the given number of calls.
func (b *tileCalls) time(times int) (time.Duration, error) {
	n := len(b.args)
	begin := time.Now()
	for i := range times {
		// The call before the last one on these tiles must have ended.
		if err := b.station.wait(n - 1); err != nil {
			return 0, err
		}
		if err := b.station.start(b.version, b.params, b.args[i%n], b.uses); err != nil {
			return 0, err
		}
	}
	err := b.station.wait(0)
	return time.Since(begin), err
}

// checked is the largest order for which results are compared with the CPU's. Larger products take a core
// several seconds.
const checked = 1024

// limit is the largest distance between two right results. A product of that order in TF32, with random
// roundings to 11 bits, is at a distance of 4000; right ones are at a few tens.
const limit = 300

// apart executes a call on the device and on the CPU. It returns the distance of the results, ‖X − Y‖ / (ε·‖Y‖)
// in the Frobenius norm, of the operand where it is largest. It returns an error if the distance exceeds limit.
func apart[T kernels.Element](s *station, op *versions.Op, v *versions.Version, params any, args []any, uses []versions.Use) (worst float64, err error) {
	got, want := make([]any, len(args)), make([]any, len(args))
	for i, a := range args {
		for _, to := range [][]any{got, want} {
			t := *a.(*tile[T])
			t.Data = slices.Clone(t.Data)
			to[i] = &t
		}
	}
	var work versions.Workspace
	cpu := OnCores(op, exec.Here())
	if err := firstError(cpu.Run(&versions.Call{Ctx: context.Background(), Params: params, Args: want, Work: &work}),
		s.start(v, params, got, uses), s.wait(0), s.flush()); err != nil {
		return 0, err
	}
	for i := range args {
		diff, norm := 0.0, 0.0
		for p, y := range want[i].(*tile[T]).Data {
			d := float64(got[i].(*tile[T]).Data[p]) - float64(y)
			diff, norm = diff+d*d, norm+float64(y)*float64(y)
		}
		if x := math.Sqrt(diff/norm) / scalar.Eps[T](); !(x < limit) {
			return 0, fmt.Errorf("gpucheck: wrong: operand %d is %.3g times the unit roundoff from what version %s computes, want < %d", i, x, cpu.Name, limit)
		} else {
			worst = max(worst, x)
		}
	}
	return worst, nil
}
