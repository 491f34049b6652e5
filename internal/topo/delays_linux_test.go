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
	begun, done, gone := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() { // the other one on the same processor
		defer close(gone)
		release, err := topo.Lock(cpus[0])
		defer release()
		if err != nil {
			t.Error(err)
		}
		close(begun)
		for {
			select {
			case <-done:
				return
			default:
			}
		}
	}()
	<-begun
	outer, before := time.Now(), d.Now()
	inner := time.Now()
	for time.Since(inner) < 200*time.Millisecond {
	}
	took := time.Since(inner)
	late := d.Now() - before
	// Half of the time is the other one's, or more: nobody knows how many others there are.
	if all := time.Since(outer); late < took/4 || late > all {
		t.Errorf("delays of %v in %v", late, all)
	}
	close(done)
	<-gone
	// However late the thread goes on, what it has slept for is no part of its delays. It may have
	// waited for the processor before it fell asleep, but not each time.
	const sleep = 10 * time.Millisecond
	nap := syscall.NsecToTimespec(int64(sleep))
	for k := 0; ; k++ {
		outer, before = time.Now(), d.Now()
		if err := syscall.Nanosleep(&nap, nil); err != nil && err != syscall.EINTR {
			t.Fatal(err)
		} else if err != nil {
			continue
		}
		late, all := d.Now()-before, time.Since(outer)
		if late <= all-sleep {
			break
		}
		if k >= 100 {
			t.Fatalf("delays of %v in %v, of which %v are sleep", late, all, sleep)
		}
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
