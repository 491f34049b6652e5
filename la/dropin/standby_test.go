package dropin

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestTogether: every part runs once, also when several goroutines and parts of parts ask for helpers at once, and no helper
// stays.
func TestTogether(t *testing.T) {
	before := runtime.NumGoroutine()
	co := new(core)
	var callers sync.WaitGroup
	for caller := range 4 {
		callers.Go(func() {
			for call := range 200 {
				parts := 1 + (caller+call)%5
				ran := make([]atomic.Int32, parts)
				co.together(1+caller, parts, func(i int) {
					co.together(2, 1+call%2, func(int) { ran[i].Add(1) })
				})
				for i := range ran {
					if got, want := int(ran[i].Load()), 1+call%2; got != want {
						t.Errorf("part %d of %d ran %d times, want %d", i, parts, got, want)
					}
				}
			}
		})
	}
	callers.Wait()
	for range 1000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}
