package kerneltest

import (
	"fmt"
	"testing"
	"time"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Runner executes calls on its own, with memory of its own: what these tests
// need of an offload.Accelerator.
type Runner interface {
	Target() *versions.Target
	Launch(l *versions.Launch) error
	Ended(ended []*versions.Launch, wait time.Duration) []*versions.Launch
	Flush(job uint64) error
}

// On runs the suites on every version of every op of tab that r can run. They
// are called one at a time, each with operands that r has not seen before. With
// -short, only those on float64.
func On(t *testing.T, tab *kernels.Table, r Runner) {
	for _, op := range tab.All() {
		for i := range op.Versions {
			v := &op.Versions[i]
			if v.Constraints.Unmet(r.Target()) != "" || testing.Short() && op.Type != "f64" {
				continue
			}
			t.Run(op.OpName()+"/"+v.Name, func(t *testing.T) {
				Version(t, op, launched(t, op, v, r))
			})
		}
	}
}

// launched returns v as a version that waits for its call to end on r and has
// everything brought back.
func launched(t *testing.T, op *versions.Op, v *versions.Version, r Runner) *versions.Version {
	job := uint64(0)
	alone := *v
	alone.Run = func(call *versions.Call) error {
		job++
		l := &versions.Launch{Call: *call, Version: v, Uses: uses(t, op, len(call.Args)), Job: job}
		if err := r.Launch(l); err != nil {
			return err
		}
		var ended []*versions.Launch
		// Waits are counted: of a process that was stopped for a while a clock would
		// say that the call takes long.
		for n := 0; len(ended) == 0; n++ {
			if n == 60 {
				t.Fatal("a call has not ended after a minute")
			}
			ended = r.Ended(nil, time.Second)
		}
		if len(ended) != 1 || ended[0] != l {
			return fmt.Errorf("kerneltest: %d launches have ended, want the only one", len(ended))
		}
		if err := r.Flush(job); err != nil {
			return err
		}
		return l.Err
	}
	return &alone
}

// uses returns what op does with its n operands.
func uses(t *testing.T, op *versions.Op, n int) []versions.Use {
	const in, inout = versions.Reads, versions.Reads | versions.Writes
	u := make([]versions.Use, n)
	for i := range u {
		u[i] = inout
	}
	switch op.Name {
	case "potrf", "getrf":
	case "syrk", "trsm", "trmm", "laswp", "lacpy":
		u[0] = in
	case "gemm", "unmqr", "tsmqr", "ttmqr":
		u[0], u[1] = in, in
	case "tntleaf":
		for i := range u[:n-1] {
			u[i] = in
		}
	case "ormsy2sb":
		for i := range u[1:] {
			u[1+i] = in
		}
	case "geqrt", "tsqrt", "ttqrt", "sy2sbmm":
	default:
		t.Fatalf("it is not known what op %q does with its operands", op.Name)
	}
	return u
}
