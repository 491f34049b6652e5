//go:build cgo && mkl && !openblas && linux

package cpu

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestShareBLAS: a thread of the library runs on the core that a part lends to it, and only there.
func TestShareBLAS(t *testing.T) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	var cores []int
	for i := 0; len(cores) < 2 && i < 8*len(all)*8; i++ {
		if all.IsSet(i) {
			cores = append(cores, i)
		}
	}
	if len(cores) == 1 { // both parts have it, and the calls end all the same
		cores = append(cores, cores[0])
	}
	var pinned [2]int // the threads of the parts
	var ready, wg sync.WaitGroup
	ready.Add(2)
	ShareBLAS(2, func(parts int, part func(int)) {
		for i := range parts {
			wg.Go(func() {
				runtime.LockOSThread() // and so the thread ends with the goroutine
				var one unix.CPUSet
				one.Set(cores[i])
				if err := unix.SchedSetaffinity(0, &one); err != nil {
					t.Error(err)
				}
				pinned[i] = unix.Gettid()
				ready.Done()
				part(i)
			})
		}
		wg.Wait()
	}, func() {
		ready.Wait()
		for until := time.Now().Add(time.Minute); !lent(t, cores[1], pinned[:]); runtime.Gosched() {
			if time.Now().After(until) {
				t.Error("no thread of the library is bound to the second core")
				return
			}
		}
	})
	// Parts one after the other: nobody lends a core.
	ran := 0
	ShareBLAS(3, func(parts int, part func(int)) {
		for i := range parts {
			part(i)
		}
	}, func() { ran++ })
	if ran != 1 {
		t.Errorf("f ran %d times", ran)
	}
}

// lent reports whether a thread of this process other than those known may run on core alone.
func lent(t *testing.T, core int, known []int) bool {
	all, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		tid, _ := strconv.Atoi(strings.Split(name, "/")[4])
		text, err := os.ReadFile(name)
		if err == nil && tid != known[0] && tid != known[1] && strings.Contains(string(text), "\nCpus_allowed_list:\t"+strconv.Itoa(core)+"\n") {
			return true
		}
	}
	return false
}
