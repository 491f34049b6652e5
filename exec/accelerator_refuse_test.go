package exec_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/versions"
)

var errShrunk = errors.New("the fake accelerator has less memory than it thought")

// shrinking is an accelerator that learns when it is to execute a call how little
// memory there is.
type shrinking struct {
	*fake
	after  int32
	calls  atomic.Int32
	shrunk atomic.Bool
}

func (a *shrinking) Launch(l *versions.Launch) error {
	if a.calls.Add(1) > a.after {
		a.shrunk.Store(true)
		return errShrunk
	}
	return a.fake.Launch(l)
}

func (a *shrinking) Fits(values []any, extra int64) error {
	if a.shrunk.Load() {
		return errShrunk
	}
	return a.fake.Fits(values, extra)
}

// TestAcceleratorShrinks: what an accelerator cannot execute after all, hosts do,
// and it is no attempt; what only the accelerator could do fails, and says why.
func TestAcceleratorShrinks(t *testing.T) {
	for _, after := range []int32{0, 7} {
		fakes, _ := accelerators(t, 1, 4, 3)
		a := &shrinking{fake: fakes[0], after: after}
		rt := start(t, exec.Options{Workers: 2, Window: 32, Accelerators: []offload.Accelerator{a}, Selector: measuring(t), Stories: 5, Watchdog: watch(t)})
		p := newProgram(4, 8, roleOp(true, true))
		job := rt.NewJob(context.Background())
		// The hosts alone may have executed all before the accelerator wakes.
		for i := 0; i < 200 || i < 1e6 && !a.shrunk.Load(); i++ {
			if err := p.submit(job); err != nil {
				t.Fatal(err)
			}
		}
		if err := job.Wait(); err != nil {
			t.Fatal(err)
		}
		p.check(t)
		if !a.shrunk.Load() {
			t.Error("the accelerator had nothing to do")
		}
		only := newProgram(5, 8, roleOp(false, true))
		next := rt.NewJob(context.Background())
		if err := only.submit(next); err != nil {
			t.Fatal(err)
		}
		if err := next.Wait(); !errors.Is(err, errShrunk) {
			t.Errorf("got %v", err)
		}
		a.empty(t)
	}
}

func watch(t testing.TB) *exec.Watchdog {
	return &exec.Watchdog{After: 5 * time.Minute, Report: func(s exec.Stuck) { t.Error(s) }}
}

// TestAcceleratorInUse: an accelerator serves one runtime at a time.
func TestAcceleratorInUse(t *testing.T) {
	fakes, all := accelerators(t, 2, 4, 3)
	first, err := exec.NewLocal(exec.Options{Workers: 1, Accelerators: all[1:]})
	if err != nil {
		t.Fatal(err)
	}
	var busy *offload.InUseError
	if rt, err := exec.NewLocal(exec.Options{Workers: 1, Accelerators: all}); !errors.As(err, &busy) || busy.Accelerator != fakes[1].Name() {
		t.Errorf("%v, %v", rt, err)
	}
	second := start(t, exec.Options{Workers: 1, Accelerators: all[:1]}) // it was given back
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	third := start(t, exec.Options{Workers: 1, Accelerators: all[1:]})
	for _, rt := range []*exec.Local{second, third} {
		p := newProgram(4, 8, roleOp(false, true))
		job := rt.NewJob(context.Background())
		if err := p.submit(job); err != nil {
			t.Fatal(err)
		}
		if err := job.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Close(); err != nil { // which gives nothing back once more
		t.Fatal(err)
	}
	if _, err := exec.NewLocal(exec.Options{Workers: 1, Accelerators: all}); !errors.As(err, &busy) {
		t.Errorf("got %v", err)
	}
}
