package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/exec"
)

// follow calls Options.Progress while job runs, until the caller calls stop. submitted returns
// the number of tasks so far; all is set when no more will follow.
func (e *Engine) follow(job exec.Job, submitted func() int, all *atomic.Bool) (stop func()) {
	done := 0
	report := func() {
		e.reporting.Lock()
		defer e.reporting.Unlock()
		// Tasks that are cancelled count as completed. A job has its error
		// before the first of them ends.
		if n := job.Completed(); job.Err() == nil {
			done = n
		}
		total := submitted()
		if !all.Load() {
			total = max(total, done+1)
		}
		e.opt.Progress(done, total)
	}
	end := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				report()
			case <-end:
				report()
				return
			}
		}
	})
	return func() {
		close(end)
		ended.Wait()
	}
}
