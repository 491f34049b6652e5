package builtin_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/builtin"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/kerneltest"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

func TestConformance(t *testing.T) {
	kerneltest.Table(t, builtin.NewTable())
}

func TestTable(t *testing.T) {
	tab := builtin.NewTable()
	var names []string
	for _, op := range tab.All() {
		names = append(names, op.OpName())
		if last := op.Versions[len(op.Versions)-1].Name; last != "go" && !copies(op) {
			t.Errorf("%s: last version %q, want go", op.OpName(), last)
		}
		if tab.Op(op.Name, op.Type) != op {
			t.Errorf("%s is not found by name", op.OpName())
		}
	}
	const want = "gemm/f32 syrk/f32 trsm/f32 potrf/f32 getrf/f32 getrfnp/f32 laswp/f32 lapmt/f32 tntleaf/f32 tntnode/f32 tntroot/f32 " +
		"trmm/f32 geqrt/f32 unmqr/f32 tsqrt/f32 tsmqr/f32 ttqrt/f32 ttmqr/f32 larft/f32 lacpy/f32 recut/f32 laset/f32 plrnt/f32 asum/f32 lange/f32 lag2s/f32 lag2d/f32 lasym/f32 " +
		"gemm/f64 syrk/f64 trsm/f64 potrf/f64 getrf/f64 getrfnp/f64 laswp/f64 lapmt/f64 tntleaf/f64 tntnode/f64 tntroot/f64 " +
		"trmm/f64 geqrt/f64 unmqr/f64 tsqrt/f64 tsmqr/f64 ttqrt/f64 ttmqr/f64 larft/f64 lacpy/f64 recut/f64 laset/f64 plrnt/f64 asum/f64 lange/f64 lag2s/f64 lag2d/f64 lasym/f64"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("ops %s, want %s", got, want)
	}
	if kernels.For[float32](tab).Trsm != tab.Op("trsm", "f32") || kernels.For[float64](tab).Potrf != tab.Op("potrf", "f64") {
		t.Error("For and Op disagree")
	}
	if tab.Op("gemm", "c64") != nil {
		t.Error("an op on complex numbers")
	}
	if builtin.NewTable().Op("gemm", "f64") == tab.Op("gemm", "f64") {
		t.Error("two tables share an op")
	}
}

// copies reports whether op has the version that copies, which all builds have.
func copies(op *versions.Op) bool { return op.Version("copy") != nil }

func TestAdd(t *testing.T) {
	tab := builtin.NewTable()
	op := kernels.For[float64](tab).Gemm
	mine := versions.Version{Name: "mine", Run: func(*versions.Call) error { return nil }}
	tab.Add(op, mine)
	if op.Versions[0].Name != "mine" || op.Version("go") == nil {
		t.Errorf("versions %v", op.Versions)
	}
	for name, f := range map[string]func(){
		"twice":       func() { tab.Add(op, mine) },
		"foreign op":  func() { tab.Add(kernels.For[float64](builtin.NewTable()).Gemm, mine) },
		"no name":     func() { tab.Add(op, versions.Version{Run: mine.Run}) },
		"no function": func() { tab.Add(op, versions.Version{Name: "x"}) },
	} {
		if got := panics(f); got != kernels.ErrVersion {
			t.Errorf("%s: panic %v", name, got)
		}
	}
}

// Every op has each library's versions and those in assembly, or says why not.
func TestAbsent(t *testing.T) {
	tab := builtin.NewTable()
	why := map[string]string{}
	for _, a := range builtin.Absent() {
		op := tab.Op(a.Op, a.Type)
		if op == nil || op.Version(a.Name) != nil {
			t.Errorf("%+v is not absent", a)
		}
		if !strings.HasPrefix(a.Reason, "built ") {
			t.Errorf("%+v: odd reason", a)
		}
		why[op.OpName()+a.Name] = a.Reason
	}
	for _, op := range tab.All() {
		for _, name := range append(cpu.BLASLibraries(), "knl", "avx512", "avx2") {
			if op.Version(name) == nil && why[op.OpName()+name] == "" && !copies(op) {
				t.Errorf("%s: %s is neither present nor absent", op.OpName(), name)
			}
		}
	}
}

// A table leaves the C library with one thread.
func TestBLASThreads(t *testing.T) {
	info, ok := builtin.LinkedLibrary()
	if builtin.SetBLASThreads(2) != ok {
		t.Fatalf("library %+v, present %v: SetBLASThreads disagrees", info, ok)
	}
	if !ok {
		return
	}
	builtin.NewTable()
	info, _ = builtin.LinkedLibrary()
	if info.Threads != 1 || info.Name == "" || info.Config == "" {
		t.Errorf("library %+v", info)
	}
}

// panics returns what f panics with, or nil.
func panics(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

func tile(r, c int) *kernels.Tile[float64] {
	return &kernels.Tile[float64]{Rows: r, Cols: c, Stride: c, Data: make([]float64, r*c)}
}

func TestMisuse(t *testing.T) {
	gemm := &kernels.Gemm{TransA: blas.NoTrans, TransB: blas.NoTrans}
	syrk := &kernels.Syrk{Uplo: blas.Lower, Trans: blas.NoTrans}
	trsm := &kernels.Trsm{Side: blas.Left, Uplo: blas.Lower, Trans: blas.NoTrans, Diag: blas.Unit}
	potrf := &kernels.Potrf{Uplo: blas.Lower}
	getrf, getrfnp, laswp, piv := &kernels.Getrf{}, &kernels.Getrfnp{}, &kernels.Laswp{}, &kernels.Pivots{}
	lapmt, leaf, node, root := &kernels.Lapmt{}, &kernels.Tntleaf{}, &kernels.Tntnode{}, &kernels.Tntroot{}
	rows := func(m, n int) *kernels.Candidates[float64] {
		c := kernels.NewCandidates[float64](m, n)
		c.Rows, c.Tile = make([]int, m), *tile(m, n)
		return c
	}
	for i, v := range []struct {
		op     string
		params any
		args   []any
		want   kernels.Error
	}{
		{"gemm", *gemm, []any{tile(2, 3), tile(3, 4), tile(2, 4)}, kernels.ErrParams},
		{"gemm", nil, []any{tile(2, 3), tile(3, 4), tile(2, 4)}, kernels.ErrParams},
		{"gemm", syrk, []any{tile(2, 3), tile(3, 4), tile(2, 4)}, kernels.ErrParams},
		{"gemm", gemm, []any{tile(2, 3), tile(3, 4)}, kernels.ErrArgs},
		{"gemm", gemm, []any{tile(2, 3), &kernels.Tile[float32]{}, tile(2, 4)}, kernels.ErrArgs},
		{"gemm", gemm, []any{tile(2, 3), tile(4, 4), tile(2, 4)}, kernels.ErrShape},
		{"gemm", gemm, []any{tile(2, 3), tile(3, 4), tile(2, 5)}, kernels.ErrShape},
		{"syrk", syrk, []any{tile(2, 3), tile(3, 3)}, kernels.ErrShape},
		{"trsm", trsm, []any{tile(3, 1), tile(2, 3)}, kernels.ErrShape},
		{"potrf", potrf, []any{tile(3, 4)}, kernels.ErrShape},
		{"potrf", potrf, []any{tile(3, 3), tile(3, 3)}, kernels.ErrArgs},
		{"getrf", getrfnp, []any{tile(3, 3), piv}, kernels.ErrParams},
		{"getrf", getrf, []any{piv}, kernels.ErrArgs},
		{"getrf", getrf, []any{piv, tile(3, 3)}, kernels.ErrArgs},
		{"getrf", getrf, []any{tile(3, 3), tile(3, 3)}, kernels.ErrArgs},
		{"getrf", getrf, []any{tile(3, 3), tile(3, 2), piv}, kernels.ErrShape},
		{"getrf", getrf, []any{tile(2, 3), tile(3, 3), piv}, kernels.ErrShape},
		{"getrfnp", getrfnp, []any{tile(2, 3), tile(3, 3), piv}, kernels.ErrShape},
		{"laswp", laswp, []any{piv}, kernels.ErrArgs},
		{"laswp", laswp, []any{tile(3, 3), piv}, kernels.ErrArgs},
		{"laswp", laswp, []any{piv, tile(3, 3), tile(3, 2)}, kernels.ErrShape},
		{"laswp", laswp, []any{&kernels.Pivots{Rows: make([]int, 4)}, tile(3, 3)}, kernels.ErrShape},
		{"lapmt", laswp, []any{piv, tile(3, 3)}, kernels.ErrParams},
		{"lapmt", lapmt, []any{piv}, kernels.ErrArgs},
		{"lapmt", lapmt, []any{tile(3, 3), piv}, kernels.ErrArgs},
		{"lapmt", lapmt, []any{piv, tile(3, 3), tile(2, 3)}, kernels.ErrShape},
		{"lapmt", lapmt, []any{piv, tile(3, 2), tile(3, 1), tile(3, 2)}, kernels.ErrShape},
		{"lapmt", lapmt, []any{&kernels.Pivots{Rows: []int{3}}, tile(3, 3)}, kernels.ErrShape},
		{"lapmt", lapmt, []any{&kernels.Pivots{Rows: []int{3}}, tile(3, 1), tile(3, 4)}, kernels.ErrShape},
		{"tntleaf", leaf, []any{tile(3, 3)}, kernels.ErrArgs},
		{"tntleaf", leaf, []any{tile(3, 3), tile(3, 3)}, kernels.ErrArgs},
		{"tntleaf", leaf, []any{tile(3, 3), tile(3, 2), rows(3, 3)}, kernels.ErrShape},
		{"tntnode", node, []any{rows(3, 3)}, kernels.ErrArgs},
		{"tntnode", node, []any{rows(3, 3), rows(3, 2)}, kernels.ErrShape},
		{"tntnode", node, []any{rows(2, 3), rows(3, 3)}, kernels.ErrShape},
		{"tntroot", root, []any{rows(3, 3), rows(3, 3)}, kernels.ErrArgs},
		{"tntroot", root, []any{piv, piv}, kernels.ErrArgs},
		{"lacpy", &kernels.Lacpy{}, []any{tile(3, 3)}, kernels.ErrArgs},
		{"lacpy", &kernels.Lacpy{}, []any{tile(3, 3), tile(3, 4)}, kernels.ErrShape},
		{"recut", &kernels.Recut{Across: 1}, []any{tile(3, 3)}, kernels.ErrShape},
		{"recut", &kernels.Recut{Across: 1}, []any{tile(3, 3), &kernels.Pivots{}}, kernels.ErrArgs},
		{"recut", &kernels.Recut{}, []any{tile(3, 3), tile(3, 3)}, kernels.ErrShape},
		{"recut", &kernels.Recut{Across: 2}, []any{tile(3, 3), tile(3, 3)}, kernels.ErrShape},
		{"recut", &kernels.Recut{Across: 2}, []any{tile(3, 3), tile(3, 2), tile(2, 1)}, kernels.ErrShape},
		{"recut", &kernels.Recut{Across: 1, Row: 1}, []any{tile(3, 3), tile(3, 3)}, kernels.ErrShape},
		{"recut", &kernels.Recut{Across: 1, Col: 1}, []any{tile(3, 3), tile(3, 3)}, kernels.ErrShape},
		{"recut", &kernels.Recut{Across: 2, Uplo: blas.Lower}, []any{tile(3, 3), tile(2, 2), tile(2, 2)}, kernels.ErrShape},
		{"larft", &kernels.Larft{}, []any{tile(3, 3), tile(1, 3)}, kernels.ErrArgs},
		{"larft", &kernels.Larft{}, []any{tile(3, 3), tile(1, 3), kernels.Tile[float64]{}}, kernels.ErrArgs},
		{"larft", &kernels.Larft{Column: 1}, []any{tile(3, 3), tile(1, 3), tile(3, 3)}, kernels.ErrShape},
		{"larft", &kernels.Larft{}, []any{tile(3, 3), tile(3, 1), tile(3, 3)}, kernels.ErrShape},
		{"laset", &kernels.Lacpy{}, []any{tile(3, 3)}, kernels.ErrParams},
		{"asum", &kernels.Asum{}, []any{tile(3, 3), tile(2, 3)}, kernels.ErrShape},
		{"asum", &kernels.Asum{}, []any{tile(3, 4), tile(3, 3)}, kernels.ErrShape},
		{"asum", &kernels.Asum{Symmetric: true}, []any{tile(3, 4), tile(3, 4)}, kernels.ErrShape},
		{"lange", &kernels.Lange{}, []any{tile(3, 3), tile(2, 3)}, kernels.ErrShape},
		{"lange", &kernels.Lange{Symmetric: true}, []any{tile(3, 4), tile(1, 4)}, kernels.ErrShape},
		{"lag2s", &kernels.Lag2s{}, []any{tile(3, 3), tile(1, 3), tile(3, 3)}, kernels.ErrArgs},
		{"lag2d", &kernels.Lag2d{}, []any{tile(3, 3), tile(1, 3), tile(3, 3)}, kernels.ErrArgs},
		{"lasym", &kernels.Lasym{}, []any{tile(3, 3), tile(3, 4)}, kernels.ErrShape},
		{"trmm", &kernels.Trmm{Side: blas.Right}, []any{tile(3, 3), tile(3, 2)}, kernels.ErrShape},
		{"geqrt", &kernels.Geqrt{IB: 2}, []any{tile(4, 3)}, kernels.ErrArgs},
		{"geqrt", &kernels.Geqrt{IB: 2}, []any{tile(4, 3), tile(1, 3)}, kernels.ErrShape},
		{"geqrt", &kernels.Geqrt{IB: 2}, []any{tile(4, 3), tile(2, 2)}, kernels.ErrShape},
		{"geqrt", &kernels.Geqrt{IB: 2, Row: 5}, []any{tile(4, 3), tile(2, 3)}, kernels.ErrShape},
		{"unmqr", &kernels.Unmqr{Side: blas.Left, IB: 2}, []any{tile(4, 3), tile(2, 3), tile(3, 4)}, kernels.ErrShape},
		{"unmqr", &kernels.Unmqr{Side: blas.Right, IB: 2}, []any{tile(4, 3), tile(2, 3), tile(4, 3)}, kernels.ErrShape},
		{"unmqr", &kernels.Unmqr{Side: blas.Left, IB: 2, Row: -1}, []any{tile(4, 3), tile(2, 3), tile(4, 3)}, kernels.ErrShape},
		{"tsqrt", &kernels.Tsqrt{IB: 2}, []any{tile(2, 3), tile(4, 3), tile(2, 3)}, kernels.ErrShape},
		{"tsqrt", &kernels.Tsqrt{IB: 2}, []any{tile(3, 4), tile(4, 3), tile(2, 3)}, kernels.ErrShape},
		{"ttqrt", &kernels.Ttqrt{IB: 2}, []any{tile(3, 3), tile(3, 3), tile(2, 2)}, kernels.ErrShape},
		{"tsmqr", &kernels.Tsmqr{Side: blas.Left, IB: 2}, []any{tile(4, 3), tile(2, 3), tile(3, 5), tile(3, 5)}, kernels.ErrShape},
		{"tsmqr", &kernels.Tsmqr{Side: blas.Right, IB: 2}, []any{tile(4, 3), tile(2, 3), tile(5, 3), tile(6, 4)}, kernels.ErrShape},
		{"ttmqr", &kernels.Ttmqr{Side: blas.Left, IB: 2}, []any{tile(3, 3), tile(2, 3), tile(2, 5), tile(3, 5)}, kernels.ErrShape},
	} {
		op := builtin.NewTable().Op(v.op, "f64")
		for _, ver := range op.Versions {
			call := &versions.Call{Params: v.params, Args: v.args, Work: new(versions.Workspace)}
			if got := panics(func() { ver.Run(call) }); got != v.want {
				t.Errorf("case %d, %s: panic %v, want %v", i, ver.Name, got, v.want)
			}
		}
	}
}

func ExampleTable() {
	// One kernel, called without a runtime.
	op := kernels.For[float64](builtin.NewTable()).Potrf
	a := &kernels.Tile[float64]{Rows: 2, Cols: 2, Stride: 2, Data: []float64{
		4, 0,
		2, 5,
	}}
	var work versions.Workspace
	call := &versions.Call{Params: &kernels.Potrf{Uplo: blas.Lower}, Args: []any{a}, Work: &work}
	fmt.Println(op.Version("go").Run(call), a.Data)

	a.Set(1, 1, -1)
	err := op.Version("go").Run(call)
	var npd *kernels.NotPositiveDefiniteError
	fmt.Println(errors.As(err, &npd), npd.Minor)
	// Output:
	// <nil> [2 0 1 2]
	// true 2
}
