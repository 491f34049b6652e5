package op_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/kernels/kerneltest"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

// TestThreads: versions of several threads pass the suites, with and without others that lend their cores, or
// there is an error that says why there are none.
func TestThreads(t *testing.T) {
	tab := op.NewTable()
	err := op.AddThreads(tab, 2)
	var bad *op.ThreadsError
	if info, ok := op.LinkedLibrary(); !ok || info.Name != "mkl" {
		if !errors.As(err, &bad) || bad.Threads != 2 || bad.Reason == "" {
			t.Errorf("error %v, want a *ThreadsError", err)
		}
		return
	}
	if err := errors.Join(err, op.AddThreads(tab, 3), op.AddThreads(tab, 2), op.AddThreads(tab, 1)); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{-1, 0, op.MaxThreads + 1} {
		if err := op.AddThreads(tab, n); !errors.As(err, &bad) || bad.Threads != n {
			t.Errorf("%d threads: error %v", n, err)
		}
	}
	for _, o := range tab.All() {
		if testing.Short() && o.Type == "f32" {
			continue
		}
		for n := 2; n <= 3; n++ {
			v := o.Version(op.ThreadsVersion(n))
			if (v != nil) != (o.Version("mkl") != nil) {
				t.Fatalf("%s: has %v", o.OpName(), v)
			}
			if v == nil || !strings.Contains(" gemm trsm potrf getrf geqrt ", " "+o.Name+" ") {
				continue
			}
			if v.Constraints.Units != n {
				t.Errorf("%s/%s has %d units", o.OpName(), v.Name, v.Constraints.Units)
			}
			shared := *v
			if n == 2 {
				shared.Run = func(c *versions.Call) error {
					call := *c
					call.Gang = threads(2)
					return v.Run(&call)
				}
			}
			t.Run(o.OpName()+"/"+v.Name, func(t *testing.T) { kerneltest.Version(t, o, &shared) })
		}
	}
}
