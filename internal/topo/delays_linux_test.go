package topo_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/tessera-la/tessera/internal/topo"
)

// TestDelays: what others have had of a processor is a delay, and what the thread has waited
// for by itself is none.
func TestDelays(t *testing.T) {
	cpus, err := topo.Affinity()
	if err != nil {
		t.Fatal(err)
	}
	release, err := topo.Lock(cpus[0])
	defer release()
	if err != nil {
		t.Fatal(err)
	}
	d := topo.ThreadDelays()
	if d == nil {
		t.Skip("this kernel does not tell delays")
	}
	defer d.Close()
	done, gone := make(chan struct{}), make(chan struct{})
	go func() { // the other one on the same processor
		defer close(gone)
		release, err := topo.Lock(cpus[0])
		defer release()
		if err != nil {
			t.Error(err)
		}
		for {
			select {
			case <-done:
				return
			default:
			}
		}
	}()
	before, start := d.Now(), time.Now()
	for time.Since(start) < 200*time.Millisecond {
	}
	took := time.Since(start)
	// Half of the time is the other one's, or more.
	if late := d.Now() - before; late < took/4 || late > took {
		t.Errorf("delays of %v in %v", late, took)
	}
	close(done)
	<-gone
	before = d.Now()
	time.Sleep(100 * time.Millisecond)
	if late := d.Now() - before; late > 80*time.Millisecond {
		t.Errorf("delays of %v in a sleep of 100 ms", late)
	}
	memory, err := syscall.Mmap(-1, 0, 1<<16, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	faults := d.Faults()
	memory[5000] = 1
	if n := d.Faults() - faults; n < 1 {
		t.Errorf("%d faults for a page that was touched for the first time", n)
	}
	if err := syscall.Munmap(memory); err != nil {
		t.Error(err)
	}
	if late, faults := (*topo.Delays)(nil).Now(), (*topo.Delays)(nil).Faults(); late != 0 || faults != 0 {
		t.Errorf("nil: %v, %d", late, faults)
	}
}
