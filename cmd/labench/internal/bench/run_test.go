package bench

import (
	"context"
	"testing"
)

func TestRun(t *testing.T) {
	for _, op := range Ops() {
		for _, typ := range Types() {
			for _, n := range []int{1, 100, 700} {
				r, err := Run(context.Background(), Spec{Op: op, Type: typ, N: n, Repeat: 2, Verify: true})
				t.Logf("%+v %v", r, err)
				if !r.Passed {
					t.Error()
				}
			}
		}
	}
}
