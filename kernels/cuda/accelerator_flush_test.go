package cuda_test

import (
	"testing"
	"time"

	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
)

// TestAcceleratorFlushShared: after Flush the host may write, although another job
// has used the value before. So does a task whose children were a job of their
// own, on its operand.
func TestAcceleratorFlushShared(t *testing.T) {
	a, _ := newAccelerator(t, cuda.SimOptions{Memory: 4 << 20}, cuda.Options{Memory: 8 * 2048})
	defer closed(t, a, false)
	h := &host{t: t, a: a}
	x, y, z := newMatrix(16, 16, 0, 1), newMatrix(16, 16, 0, 2), newMatrix(16, 16, 0, 3)
	h.launch((&mix{}).launch(1, x, y), 1)
	h.fetch(y, versions.Reads|versions.Writes)
	h.launch((&mix{}).launch(2, x, y), 1)
	h.drain()
	if err := a.Flush(2); err != nil {
		t.Fatal(err)
	}
	if err := y.check(); err != nil {
		t.Error(err)
	}
	y.write(7)
	h.launch((&mix{}).launch(1, y, z), 1)
	h.drain()
	if err := a.Flush(1); err != nil {
		t.Fatal(err)
	}
	for _, m := range []*matrix{x, y, z} {
		if err := m.check(); err != nil {
			t.Error(err)
		}
	}
}

// TestAcceleratorFlushMeanwhile: a job begins to write a value while the end of
// another one waits for a copy of it.
func TestAcceleratorFlushMeanwhile(t *testing.T) {
	a, _ := newAccelerator(t, cuda.SimOptions{Memory: 4 << 20, Bandwidth: 1e5}, cuda.Options{Memory: 8 * 2048})
	defer closed(t, a, false)
	h := &host{t: t, a: a}
	x, y := newMatrix(16, 16, 0, 1), newMatrix(16, 16, 0, 2)
	a.Prefetch([]any{y}, 1) // takes 20 ms
	over := make(chan error)
	go func() { over <- a.Flush(1) }()
	time.Sleep(5 * time.Millisecond)
	h.launch((&mix{}).launch(2, x, y), 1)
	if err := <-over; err != nil {
		t.Error(err)
	}
	h.drain()
	h.fetch(y, versions.Reads)
	if err := a.Flush(2); err != nil {
		t.Error(err)
	}
	if err := y.check(); err != nil {
		t.Error(err)
	}
}
