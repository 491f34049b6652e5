package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// TestUnits: two tasks of two units and ten of one, in any order, on an agent of two workers: all run, never on more
// workers than there are, and as fast as in the best order. Three units are refused.
func TestUnits(t *testing.T) {
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) { units(t, seed) }) // in virtual time
	}
}

func units(t *testing.T, seed uint64) {
	const took = 100 * time.Millisecond
	var busy, most atomic.Int32
	op := &versions.Op{Name: "units", NewParams: func() any { return new(width) }, Versions: []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
		want, got := c.Params.(*width).Units, 1
		if c.Gang != nil {
			got = c.Gang.Units()
		}
		if got != want {
			return fmt.Errorf("%d units, want %d", got, want)
		}
		if now := busy.Add(int32(got)); now > most.Load() {
			most.Store(now)
		}
		c.Parallel(got, func(int, *versions.Workspace) { time.Sleep(took) })
		busy.Add(-int32(got))
		return nil
	}}}}
	n := start(t, 1, func(o *cluster.Options) {
		rt, err := exec.NewLocal(exec.Options{Workers: 2, Float: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { rt.Close() })
		o.Idle, o.Policy, o.Runtime, o.Ops = true, dispatch.Kinds()[seed], rt, append(o.Ops, op)
	})
	task := func(units int) *graph.Spec {
		d := &graph.Datum{Value: &number{}, Bytes: 8}
		return &graph.Spec{Op: op, Params: &width{units}, Constraints: &versions.Constraints{Units: units},
			Operands: []graph.Operand{{Datum: d, Mode: graph.InOut}}}
	}
	all := []int{2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
	rand.New(rand.NewPCG(seed, 1)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	j, began := n.NewJob(context.Background()), time.Now()
	for _, units := range all {
		if _, err := j.Submit(task(units)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(began); d > 7*took*105/100 || most.Load() != 2 {
		t.Errorf("%v: %v on at most %d workers, want %v", all, d, most.Load(), 7*took)
	}
	var none *cluster.NoNodeError
	if _, err := j.Submit(task(3)); !errors.As(err, &none) {
		t.Errorf("three units are not refused: %v", err)
	}
}

// width is the parameter of a task of so many units.
type width struct{ Units int }
