package loopapps

import (
	"context"
	"errors"
	"testing"

	"github.com/tessera-la/tessera/examples/papers/internal/svm"
	"github.com/tessera-la/tessera/exec/loop"
)

// TestCascade: in all forms the cascade ends with the machine of all points, and wrong ones do
// not pass.
func TestCascade(t *testing.T) {
	for _, workers := range []int{1, 3} {
		rt := start(t, workers)
		for i, blocks := range []int{1, 6, 21} {
			c, err := newCascade(t.Context(), rt, 200, 5, blocks, svm.Kernels()[i%2], 9)
			if err != nil {
				t.Fatal(err)
			}
			for k, f := range Forms() {
				c.SetForm(f)
				loops, err := c.Run(t.Context(), rt, loop.Options{}, new(Sites))
				if err != nil || c.rounds < 2 || len(loops) < c.rounds {
					t.Fatalf("%v, %v: %v, %d rounds, %v", c.Describe(), f, err, c.rounds, loops)
				}
				if err := c.Verify(k == 0); err != nil {
					t.Errorf("%v, %v: %v", c.Describe(), f, err)
				}
				if n := len(c.have.IDs); n < 10 || n > 195 {
					t.Errorf("%v: %d support vectors", c.Describe(), n)
				}
			}
			a := c.have.Alpha
			was := a[0]
			for _, wrong := range []float64{0, 2 * c.params.C, was / 2} {
				if a[0] = wrong; c.Verify(false) == nil {
					t.Errorf("a multiplier of %v in place of %v passes", wrong, was)
				}
			}
			a[0] = was
			c.have = svm.Machine{} // feasible, and far from optimal
			if c.Verify(false) == nil {
				t.Error("no machine passes")
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c, err := newCascade(t.Context(), rt, 50, 2, 4, svm.RBF, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range Forms() {
			c.SetForm(f)
			if _, err := c.Run(ctx, rt, loop.Options{}, new(Sites)); !errors.Is(err, context.Canceled) {
				t.Errorf("%v: %v", f, err)
			}
		}
	}
}
