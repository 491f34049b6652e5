package cuda_test

import (
	"testing"

	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
)

// TestAcceleratorRetain: a retained value is valid on both sides after Flush, is not copied again
// for the next job, goes when the host writes it, and is forgotten after as many calls of Discard.
func TestAcceleratorRetain(t *testing.T) {
	a, _ := newAccelerator(t, cuda.SimOptions{Memory: 4 << 20}, cuda.Options{Memory: 8 * 2048})
	defer closed(t, a, false)
	h := &host{t: t, a: a}
	x, y, z := newMatrix(16, 16, 0, 1), newMatrix(16, 16, 0, 2), newMatrix(16, 16, 0, 3)
	a.Retain([]any{y, 3.5})
	a.Retain([]any{y})
	job := func(id uint64, copies int64, from, to *matrix) {
		t.Helper()
		before := a.Stats().Ins
		h.launch((&mix{}).launch(id, from, to), 1)
		h.drain()
		if err := a.Flush(id); err != nil {
			t.Fatal(err)
		}
		if got := a.Stats().Ins - before; got != copies {
			t.Errorf("job %d copied %d values to the device, want %d", id, got, copies)
		}
		for _, m := range []*matrix{x, y, z} {
			if err := m.check(); err != nil {
				t.Error(err)
			}
		}
	}
	job(1, 2, x, y)
	job(2, 1, y, z) // y is there
	if n := a.Stats().Values; n != 1 {
		t.Errorf("%d values are on the device, want y alone", n)
	}
	h.fetch(y, versions.Writes)
	y.write(7)
	job(3, 2, y, z)
	job(4, 1, x, y) // y is there again, and x is not
	a.Discard([]any{y})
	job(5, 1, y, z)
	a.Discard([]any{y, z})
	if n := a.Stats().Values; n != 0 {
		t.Errorf("%d values are on the device after Discard", n)
	}
	job(6, 2, y, z)
}

// TestAcceleratorRetainEvicted: retained values give way to others, and come back.
func TestAcceleratorRetainEvicted(t *testing.T) {
	a, _ := newAccelerator(t, cuda.SimOptions{Memory: 4 << 20}, cuda.Options{Memory: 4 * 2048})
	defer closed(t, a, false)
	h := &host{t: t, a: a}
	var all []*matrix
	var values []any
	for i := range 9 {
		m := newMatrix(16, 16, 0, float64(i+1))
		all, values = append(all, m), append(values, m)
	}
	a.Retain(values)
	for job := range uint64(3) {
		for i := range len(all) - 1 {
			h.launch((&mix{}).launch(job, all[i], all[i+1]), 1)
		}
		h.drain()
		if err := a.Flush(job); err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			if err := m.check(); err != nil {
				t.Error(err)
			}
		}
	}
	if a.Stats().Evictions == 0 {
		t.Error("nothing was evicted")
	}
	a.Discard(values)
	if n := a.Stats().Values; n != 0 {
		t.Errorf("%d values are on the device after Discard", n)
	}
}
