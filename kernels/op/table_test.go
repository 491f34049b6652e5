package op_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/kerneltest"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

func TestConformance(t *testing.T) {
	kerneltest.Table(t, op.NewTable())
}

func TestTable(t *testing.T) {
	tab := op.NewTable()
	var names []string
	for _, o := range tab.All() {
		names = append(names, o.OpName())
		if last := o.Versions[len(o.Versions)-1].Name; last != "go" && !copies(o) {
			t.Errorf("%s: last version %q, want go", o.OpName(), last)
		}
		if tab.Op(o.Name, o.Type) != o {
			t.Errorf("%s is not found by name", o.OpName())
		}
	}
	if len(names) != 2*len(op.Names()) || names[0] != "gemm/f32" || !unique(names) {
		t.Errorf("ops %v", names)
	}
	if kernels.For[float32](tab).Op("trsm") != tab.Op("trsm", "f32") || kernels.For[float64](tab).Op("potrf") != tab.Op("potrf", "f64") {
		t.Error("For and Op disagree")
	}
	if tab.Op("gemm", "c64") != nil {
		t.Error("an op on complex numbers")
	}
	if op.NewTable().Op("gemm", "f64") == tab.Op("gemm", "f64") {
		t.Error("two tables share an op")
	}
}

// unique reports whether no name is there twice.
func unique(names []string) bool {
	return len(slices.Compact(slices.Sorted(slices.Values(names)))) == len(names)
}

// copies reports whether op has the version that copies, which all builds have.
func copies(o *versions.Op) bool { return o.Version("copy") != nil }

func TestAdd(t *testing.T) {
	tab := op.NewTable()
	o := kernels.For[float64](tab).Op("gemm")
	mine := versions.Version{Name: "mine", Run: func(*versions.Call) error { return nil }}
	tab.Add(o, mine)
	if o.Versions[0].Name != "mine" || o.Version("go") == nil {
		t.Errorf("versions %v", o.Versions)
	}
	for name, f := range map[string]func(){
		"twice":       func() { tab.Add(o, mine) },
		"foreign op":  func() { tab.Add(kernels.For[float64](op.NewTable()).Op("gemm"), mine) },
		"no name":     func() { tab.Add(o, versions.Version{Run: mine.Run}) },
		"no function": func() { tab.Add(o, versions.Version{Name: "x"}) },
	} {
		if got := panics(f); got != kernels.ErrVersion {
			t.Errorf("%s: panic %v", name, got)
		}
	}
}

// Every op has each library's versions and those in assembly, or says why not.
func TestAbsent(t *testing.T) {
	tab := op.NewTable()
	why := map[string]string{}
	for _, a := range op.Absent() {
		o := tab.Op(a.Op, a.Type)
		if o == nil || o.Version(a.Name) != nil {
			t.Errorf("%+v is not absent", a)
		}
		if !strings.HasPrefix(a.Reason, "built ") {
			t.Errorf("%+v: odd reason", a)
		}
		why[o.OpName()+a.Name] = a.Reason
	}
	for _, o := range tab.All() {
		for _, name := range append(cpu.BLASLibraries(), "knl", "avx512", "avx2") {
			if o.Version(name) == nil && why[o.OpName()+name] == "" && !copies(o) {
				t.Errorf("%s: %s is neither present nor absent", o.OpName(), name)
			}
		}
	}
}

// A table leaves the C library with one thread.
func TestBLASThreads(t *testing.T) {
	info, ok := op.LinkedLibrary()
	if op.SetBLASThreads(2) != ok {
		t.Fatalf("library %+v, present %v: SetBLASThreads disagrees", info, ok)
	}
	if !ok {
		return
	}
	op.NewTable()
	info, _ = op.LinkedLibrary()
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
	gemm := &op.Gemm[float64]{TransA: blas.NoTrans, TransB: blas.NoTrans}
	syrk := &op.Syrk[float64]{Uplo: blas.Lower, Trans: blas.NoTrans}
	trsm := &op.Trsm[float64]{Side: blas.Left, Uplo: blas.Lower, Trans: blas.NoTrans, Diag: blas.Unit}
	potrf := &op.Potrf{Uplo: blas.Lower}
	getrf, getrfnp, laswp, piv := &op.Getrf{}, &op.Getrfnp{}, &op.Laswp{}, &kernels.Pivots{}
	lapmt, leaf, node, root := &op.Lapmt{}, &op.Tntleaf{}, &op.Tntnode{}, &op.Tntroot{}
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
		{"lacpy", &op.Lacpy{}, []any{tile(3, 3)}, kernels.ErrArgs},
		{"lacpy", &op.Lacpy{}, []any{tile(3, 3), tile(3, 4)}, kernels.ErrShape},
		{"recut", &op.Recut{Across: 1}, []any{tile(3, 3)}, kernels.ErrShape},
		{"recut", &op.Recut{Across: 1}, []any{tile(3, 3), &kernels.Pivots{}}, kernels.ErrArgs},
		{"recut", &op.Recut{}, []any{tile(3, 3), tile(3, 3)}, kernels.ErrShape},
		{"recut", &op.Recut{Across: 2}, []any{tile(3, 3), tile(3, 3)}, kernels.ErrShape},
		{"recut", &op.Recut{Across: 2}, []any{tile(3, 3), tile(3, 2), tile(2, 1)}, kernels.ErrShape},
		{"recut", &op.Recut{Across: 1, Row: 1}, []any{tile(3, 3), tile(3, 3)}, kernels.ErrShape},
		{"recut", &op.Recut{Across: 1, Col: 1}, []any{tile(3, 3), tile(3, 3)}, kernels.ErrShape},
		{"recut", &op.Recut{Across: 2, Uplo: blas.Lower}, []any{tile(3, 3), tile(2, 2), tile(2, 2)}, kernels.ErrShape},
		{"larft", &op.Larft{}, []any{tile(3, 3), tile(1, 3)}, kernels.ErrArgs},
		{"larft", &op.Larft{}, []any{tile(3, 3), tile(1, 3), kernels.Tile[float64]{}}, kernels.ErrArgs},
		{"larft", &op.Larft{Column: 1}, []any{tile(3, 3), tile(1, 3), tile(3, 3)}, kernels.ErrShape},
		{"larft", &op.Larft{}, []any{tile(3, 3), tile(3, 1), tile(3, 3)}, kernels.ErrShape},
		{"lasr", &op.Lasr{}, []any{tile(2, 3), tile(4, 3)}, kernels.ErrShape},
		{"lasr", &op.Lasr{}, []any{tile(1, 2), tile(4, 3)}, kernels.ErrShape},
		{"laset", &op.Lacpy{}, []any{tile(3, 3)}, kernels.ErrParams},
		{"asum", &op.Asum{}, []any{tile(3, 3), tile(2, 3)}, kernels.ErrShape},
		{"asum", &op.Asum{}, []any{tile(3, 4), tile(3, 3)}, kernels.ErrShape},
		{"asum", &op.Asum{Symmetric: true}, []any{tile(3, 4), tile(3, 4)}, kernels.ErrShape},
		{"lange", &op.Lange{}, []any{tile(3, 3), tile(2, 3)}, kernels.ErrShape},
		{"lange", &op.Lange{Symmetric: true}, []any{tile(3, 4), tile(1, 4)}, kernels.ErrShape},
		{"lag2s", &op.Lag2s{}, []any{tile(3, 3), tile(1, 3), tile(3, 3)}, kernels.ErrArgs},
		{"lag2d", &op.Lag2d{}, []any{tile(3, 3), tile(1, 3), tile(3, 3)}, kernels.ErrArgs},
		{"lasym", &op.Lasym{}, []any{tile(3, 3), tile(3, 4)}, kernels.ErrShape},
		{"trmm", &op.Trmm[float64]{Side: blas.Right}, []any{tile(3, 3), tile(3, 2)}, kernels.ErrShape},
		{"geqrt", &op.Geqrt{IB: 2}, []any{tile(4, 3)}, kernels.ErrArgs},
		{"geqrt", &op.Geqrt{IB: 2}, []any{tile(4, 3), tile(1, 3)}, kernels.ErrShape},
		{"geqrt", &op.Geqrt{IB: 2}, []any{tile(4, 3), tile(2, 2)}, kernels.ErrShape},
		{"geqrt", &op.Geqrt{IB: 2, Row: 5}, []any{tile(4, 3), tile(2, 3)}, kernels.ErrShape},
		{"unmqr", &op.Unmqr{Side: blas.Left, IB: 2}, []any{tile(4, 3), tile(2, 3), tile(3, 4)}, kernels.ErrShape},
		{"unmqr", &op.Unmqr{Side: blas.Right, IB: 2}, []any{tile(4, 3), tile(2, 3), tile(4, 3)}, kernels.ErrShape},
		{"unmqr", &op.Unmqr{Side: blas.Left, IB: 2, Row: -1}, []any{tile(4, 3), tile(2, 3), tile(4, 3)}, kernels.ErrShape},
		{"tsqrt", &op.Tsqrt{IB: 2}, []any{tile(2, 3), tile(4, 3), tile(2, 3)}, kernels.ErrShape},
		{"tsqrt", &op.Tsqrt{IB: 2}, []any{tile(3, 4), tile(4, 3), tile(2, 3)}, kernels.ErrShape},
		{"ttqrt", &op.Ttqrt{IB: 2}, []any{tile(3, 3), tile(3, 3), tile(2, 2)}, kernels.ErrShape},
		{"tsmqr", &op.Tsmqr{Side: blas.Left, IB: 2}, []any{tile(4, 3), tile(2, 3), tile(3, 5), tile(3, 5)}, kernels.ErrShape},
		{"tsmqr", &op.Tsmqr{Side: blas.Right, IB: 2}, []any{tile(4, 3), tile(2, 3), tile(5, 3), tile(6, 4)}, kernels.ErrShape},
		{"ttmqr", &op.Ttmqr{Side: blas.Left, IB: 2}, []any{tile(3, 3), tile(2, 3), tile(2, 5), tile(3, 5)}, kernels.ErrShape},
	} {
		o := op.NewTable().Op(v.op, "f64")
		for _, ver := range o.Versions {
			call := &versions.Call{Params: v.params, Args: v.args, Work: new(versions.Workspace)}
			if got := panics(func() { ver.Run(call) }); got != v.want {
				t.Errorf("case %d, %s: panic %v, want %v", i, ver.Name, got, v.want)
			}
		}
	}
}

func ExampleTable() {
	// One kernel, called without a runtime.
	o := kernels.For[float64](op.NewTable()).Op("potrf")
	a := &kernels.Tile[float64]{Rows: 2, Cols: 2, Stride: 2, Data: []float64{
		4, 0,
		2, 5,
	}}
	var work versions.Workspace
	call := &versions.Call{Params: &op.Potrf{Uplo: blas.Lower}, Args: []any{a}, Work: &work}
	fmt.Println(o.Version("go").Run(call), a.Data)

	a.Set(1, 1, -1)
	err := o.Version("go").Run(call)
	var npd *kernels.NotPositiveDefiniteError
	fmt.Println(errors.As(err, &npd), npd.Minor)
	// Output:
	// <nil> [2 0 1 2]
	// true 2
}
