package op_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/cpu/native"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Tasks that share packed operands have the bits of tasks that do not, whichever
// versions they are, and the memory is given back after the last one.
func TestPacking(t *testing.T) {
	t.Run("f64", testPacking[float64])
	t.Run("f32", testPacking[float32])
}

func testPacking[T kernels.Element](t *testing.T) {
	m := topo.Detect()
	here := &versions.Target{Arch: m.Arch, Features: m.Features}
	const n, ib = 224, 32
	tasks := func(v *versions.Version) int {
		if v.Name == "go" { // slow, and packs nothing
			return 1
		}
		return 6
	}
	random := func(r, c int) *kernels.Tile[T] {
		x := &kernels.Tile[T]{Rows: r, Cols: c, Stride: c + 3, Data: make([]T, r*(c+3))}
		for i := range x.Data {
			x.Data[i] = T(rand.NormFloat64())
		}
		return x
	}
	clone := func(x *kernels.Tile[T]) *kernels.Tile[T] {
		y := *x
		y.Data = slices.Clone(x.Data)
		return &y
	}
	ops := kernels.For[T](op.NewTable())
	version := func(op *versions.Op) (all []*versions.Version) {
		for i := range op.Versions {
			if v := &op.Versions[i]; v.Constraints.Unmet(here) == "" && v.Constraints.Units < 2 {
				all = append(all, v)
			}
		}
		return all
	}
	run := func(v *versions.Version, params, local any, args ...any) {
		var work versions.Workspace
		if err := v.Run(&versions.Call{Ctx: t.Context(), Params: params, Local: local, Args: args, Work: &work}); err != nil {
			t.Error(err)
		}
	}
	a, b := random(n, n), random(n, n)
	factor := func(op *versions.Op, params any, args int) (v, tr *kernels.Tile[T]) {
		v, tr = random(n, n), random(ib, n)
		if args == 2 {
			run(version(op)[0], params, nil, v, tr)
		} else {
			run(version(op)[0], params, nil, random(n, n), v, tr)
		}
		return v, tr
	}
	vg, tg := factor(ops.Op("geqrt"), &op.Geqrt{IB: ib}, 2)
	vs, ts := factor(ops.Op("tsqrt"), &op.Tsqrt{IB: ib}, 3)
	vt, tt := factor(ops.Op("ttqrt"), &op.Ttqrt{IB: ib}, 3)

	cases := []struct {
		op     *versions.Op
		in     []any
		outs   int
		params any
		share  func(x, y *kernels.Packing) any
	}{
		{ops.Op("gemm"), []any{a, b}, 1, &op.Gemm[T]{TransA: blas.Trans, TransB: blas.NoTrans, Alpha: -1, Beta: 1}, shareBoth},
		{ops.Op("gemm"), []any{a, b}, 1, &op.Gemm[T]{TransA: blas.NoTrans, TransB: blas.Trans, Alpha: 0.5}, shareB},
		{ops.Op("gemm"), []any{a, b}, 1, &op.Gemm[T]{TransA: blas.NoTrans, TransB: blas.NoTrans, Beta: 2}, shareBoth},
		{ops.Op("syrk"), []any{a}, 1, &op.Syrk[T]{Uplo: blas.Upper, Trans: blas.Trans, Alpha: -1, Beta: 1}, shareBoth},
		{ops.Op("unmqr"), []any{vg, tg}, 1, &op.Unmqr{Side: blas.Left, Trans: blas.Trans, IB: ib}, shareA},
		{ops.Op("tsmqr"), []any{vs, ts}, 2, &op.Tsmqr{Side: blas.Left, Trans: blas.Trans, IB: ib}, shareA},
		{ops.Op("ttmqr"), []any{vt, tt}, 2, &op.Ttmqr{Side: blas.Right, Trans: blas.NoTrans, IB: ib}, shareA},
	}
	const bytes = 64 << 20
	for _, c := range cases {
		var outs []*kernels.Tile[T]
		for range c.outs {
			outs = append(outs, random(n, n))
		}
		call := func(v *versions.Version, local any) (got []*kernels.Tile[T]) {
			args := slices.Clone(c.in)
			for _, x := range outs {
				got = append(got, clone(x))
				args = append(args, got[len(got)-1])
			}
			run(v, c.params, local, args...)
			return got
		}
		all := version(c.op)
		for _, size := range []int64{bytes, 1000, 0} {
			room, sum := kernels.NewPackingRoom(size), 0
			for _, v := range all {
				sum += tasks(v)
			}
			var x, y kernels.Packing
			x.Init(room, sum)
			y.Init(room, sum)
			local := c.share(&x, &y)
			var wg sync.WaitGroup
			for _, v := range all {
				want := call(v, nil)
				for range tasks(v) {
					wg.Go(func() {
						for i, got := range call(v, local) {
							if !slices.Equal(got.Data, want[i].Data) {
								t.Errorf("%s, version %s, room for %d: other bits", c.op.Name, v.Name, size)
							}
						}
					})
				}
			}
			wg.Wait()
			if left := room.Left(); left != size {
				t.Errorf("%s: room for %d of %d bytes is left", c.op.Name, left, size)
			}
		}
	}
}

// Who asks what a call would take, as a scheduler may do many times, is not a task
// that has ended.
func TestPackingAsked(t *testing.T) {
	const n, ib = 40, 8
	ops := kernels.For[float64](op.NewTable())
	tile := func(r, c int) *kernels.Tile[float64] {
		return &kernels.Tile[float64]{Rows: r, Cols: c, Stride: c, Data: make([]float64, r*c)}
	}
	a, f, c := tile(n, n), tile(ib, n), tile(n, n)
	for _, x := range []struct {
		op     *versions.Op
		params any
		share  func(x, y *kernels.Packing) any
		args   []any
	}{
		{ops.Op("gemm"), &op.Gemm[float64]{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: 1}, shareBoth, []any{a, a, c}},
		{ops.Op("syrk"), &op.Syrk[float64]{Uplo: blas.Lower, Trans: blas.NoTrans, Alpha: 1}, shareBoth, []any{a, c}},
		{ops.Op("unmqr"), &op.Unmqr{Side: blas.Left, Trans: blas.Trans, IB: ib}, shareA, []any{a, f, c}},
		{ops.Op("tsmqr"), &op.Tsmqr{Side: blas.Left, Trans: blas.Trans, IB: ib}, shareA, []any{a, f, c, c}},
		{ops.Op("ttmqr"), &op.Ttmqr{Side: blas.Left, Trans: blas.Trans, IB: ib}, shareA, []any{a, f, c, c}},
	} {
		var p kernels.Packing
		p.Init(kernels.NewPackingRoom(1<<20), 2)
		call := &versions.Call{Ctx: t.Context(), Params: x.params, Local: x.share(&p, &p), Args: x.args}
		x.op.Work(call)
		for _, v := range x.op.Versions {
			v.Beside(call)
			if v.Help != nil {
				v.Help(call)
			}
			if v.Batch != nil {
				v.Batch.Key(call)
			}
			if p.Coming() != 2 {
				t.Errorf("%s, version %s: of 2 tasks %d are still to come", x.op.Name, v.Name, p.Coming())
				p.Init(kernels.NewPackingRoom(1<<20), 2)
			}
		}
	}
}

// In the versions in assembly of this machine, the second of two tasks reads what
// the first one has packed, not its operand, wherever a call packs at all.
func TestPackingRead(t *testing.T) {
	t.Run("f64", testPackingRead[float64])
	t.Run("f32", testPackingRead[float32])
}

func testPackingRead[T kernels.Element](t *testing.T) {
	m := topo.Here()
	caches := cpu.Caches{L1: m.CacheSize(1), L2: m.CacheSize(2), L3: m.CacheSize(3)} // those of the table
	routines := map[string]*cpu.Packed[T]{}
	for _, set := range native.Here() {
		if r, ok := cpu.Native[T](set, caches); ok {
			routines[set.Name] = r
		}
	}
	if cpu.Portable[T]().Prepacks(1024, 1024, 1024) { // all that there is without assembly
		t.Error("portable Go packs operands before, too: to be tested here")
	}
	ops := kernels.For[T](op.NewTable())
	for name, r := range routines {
		const ib = 32
		n := 224
		for !r.Prepacks(n, n, n) { // with large caches
			if n += 64; n > r.NC {
				t.Fatalf("%s: products pack no operands before", name)
			}
		}
		factors := cpu.NewQR[T](r).Prepacks(n, n)
		if !factors && n == 224 {
			t.Errorf("%s: no factors are packed before", name)
		}
		tile := func(rows int, value func() T) *kernels.Tile[T] {
			x := &kernels.Tile[T]{Rows: rows, Cols: n, Stride: n + 3, Data: make([]T, rows*(n+3))}
			for i := range x.Data {
				x.Data[i] = value()
			}
			return x
		}
		normal := func() T { return T(rand.NormFloat64()) }
		nan := func() T { return T(math.NaN()) }
		run := func(op *versions.Op, params, local any, in []*kernels.Tile[T], outs ...*kernels.Tile[T]) (got []*kernels.Tile[T]) {
			call := &versions.Call{Ctx: t.Context(), Params: params, Local: local, Work: new(versions.Workspace)}
			for _, x := range in {
				call.Args = append(call.Args, x)
			}
			for _, x := range outs {
				y := *x
				y.Data = slices.Clone(x.Data)
				got, call.Args = append(got, &y), append(call.Args, &y)
			}
			if err := op.Version(name).Run(call); err != nil {
				t.Error(err)
			}
			return got
		}
		a, b, f := tile(n, normal), tile(n, normal), tile(ib, normal)
		bad, badT := tile(n, nan), tile(ib, nan)
		inPlace := bad
		if !r.PacksA(blas.NoTrans, n, a.Stride) { // then a product reads its rows where they lie
			inPlace = a
			for _, trans := range []blas.Transpose{blas.NoTrans, blas.Trans} {
				room := kernels.NewPackingRoom(1 << 30)
				var p kernels.Packing
				p.Init(room, 2)
				run(ops.Op("gemm"), &op.Gemm[T]{TransA: trans, TransB: blas.NoTrans, Alpha: 1}, shareA(&p, nil), []*kernels.Tile[T]{a, b}, tile(n, normal))
				if packed := 1<<30 - room.Left(); (packed == 0) != (trans == blas.NoTrans) {
					t.Errorf("%s: a left operand, %c, that is read where it lies, or packed: %d bytes", name, trans, packed)
				}
			}
		}
		vg := run(ops.Op("geqrt"), &op.Geqrt{IB: ib}, nil, nil, a, f)
		vs := run(ops.Op("tsqrt"), &op.Tsqrt{IB: ib}, nil, nil, a, b, f)[1:]
		vt := run(ops.Op("ttqrt"), &op.Ttqrt{IB: ib}, nil, nil, a, b, f)[1:]
		for _, c := range []struct {
			op      *versions.Op
			packs   bool
			in, bad []*kernels.Tile[T] // of the first task and of the second
			params  any
			share   func(x, y *kernels.Packing) any
		}{
			{ops.Op("gemm"), true, []*kernels.Tile[T]{a, b}, []*kernels.Tile[T]{bad, bad}, &op.Gemm[T]{TransA: blas.Trans, TransB: blas.Trans, Alpha: -1, Beta: 1}, shareBoth},
			{ops.Op("gemm"), true, []*kernels.Tile[T]{a, b}, []*kernels.Tile[T]{inPlace, bad}, &op.Gemm[T]{TransA: blas.NoTrans, TransB: blas.Trans, Alpha: -1, Beta: 1}, shareBoth},
			{ops.Op("gemm"), true, []*kernels.Tile[T]{a, b}, []*kernels.Tile[T]{a, bad}, &op.Gemm[T]{TransA: blas.Trans, TransB: blas.NoTrans, Alpha: -1, Beta: 1}, shareB},
			{ops.Op("syrk"), r.PrepacksSyrk(n, n), []*kernels.Tile[T]{a}, []*kernels.Tile[T]{bad}, &op.Syrk[T]{Uplo: blas.Lower, Trans: blas.Trans, Alpha: -1, Beta: 1}, shareBoth},
			{ops.Op("unmqr"), factors, vg, []*kernels.Tile[T]{bad, badT}, &op.Unmqr{Side: blas.Left, Trans: blas.Trans, IB: ib}, shareA},
			{ops.Op("tsmqr"), factors, vs, []*kernels.Tile[T]{bad, badT}, &op.Tsmqr{Side: blas.Left, Trans: blas.Trans, IB: ib}, shareA},
			{ops.Op("ttmqr"), factors, vt, []*kernels.Tile[T]{bad, badT}, &op.Ttmqr{Side: blas.Left, Trans: blas.Trans, IB: ib}, shareA},
		} {
			const bytes = 1 << 30
			room := kernels.NewPackingRoom(bytes)
			var x, y kernels.Packing
			x.Init(room, 2)
			y.Init(room, 2)
			local := c.share(&x, &y)
			outs := []*kernels.Tile[T]{tile(n, normal)}
			if c.op == ops.Op("tsmqr") || c.op == ops.Op("ttmqr") {
				outs = append(outs, tile(n, normal))
			}
			want := run(c.op, c.params, local, c.in, outs...)
			if packed := room.Left() < bytes; packed != c.packs {
				t.Errorf("%s, version %s, %d×%d: packed: %v", c.op.Name, name, n, n, packed)
			}
			if !c.packs {
				continue
			}
			for i, got := range run(c.op, c.params, local, c.bad, outs...) {
				if !slices.Equal(got.Data, want[i].Data) {
					t.Errorf("%s, version %s, %d×%d: the second task read its operand", c.op.Name, name, n, n)
				}
			}
			if left := room.Left(); left != bytes {
				t.Errorf("%s, version %s: room for %d of %d bytes is left", c.op.Name, name, left, bytes)
			}
		}
	}
}

// What a call shares: its operands on both sides of a product, or the one.
func shareBoth(x, y *kernels.Packing) any { return &kernels.Packings{A: x, B: y} }
func shareA(x, _ *kernels.Packing) any    { return &kernels.Packings{A: x} }
func shareB(_, y *kernels.Packing) any    { return &kernels.Packings{B: y} }
