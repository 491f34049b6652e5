package blocked_test

import (
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/chol"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/kernels"
)

// TestLackingOp: an algorithm that needs an op which the table lacks panics where it is called.
func TestLackingOp(t *testing.T) {
	rt, err := exec.NewLocal(exec.Options{Workers: 1, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	job := rt.NewJob(t.Context())
	defer func() {
		if p := recover(); p != blocked.ErrOp {
			t.Errorf("%v, want %v", p, blocked.ErrOp)
		}
	}()
	_ = chol.Potrf(blocked.NewProgram(job, kernels.Ops[float64]{}), blocked.New[float64](blocked.TriLower, 4, 4, 2))
}
