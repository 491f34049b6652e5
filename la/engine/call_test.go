package engine_test

import (
	"errors"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/la/engine"
)

// A call without operands is an error, also if the engine asks for its work to select a version.
func TestCallMisfits(t *testing.T) {
	own, err := engine.New(engine.Options{Workers: 1, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	for _, e := range []*engine.Engine{nil, own} {
		err := engine.Call(t.Context(), e, engine.Ops[float64](e).Op("gemm"), nil)
		if _, ok := errors.AsType[*exec.TaskError](err); !ok {
			t.Errorf("%T %v", err, err)
		}
	}
}
