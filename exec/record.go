package exec

import "github.com/tessera-la/tessera/exec/trace"

// recordPause records, if there is a recorder, that the submission of a job stands still
// until the function that it returns is called: the window is full. A trace shows by that
// whether workers were idle for want of tasks that were not submitted yet.
func recordPause(r *trace.Recorder, job uint64) (resume func()) {
	if r == nil {
		return func() {}
	}
	start := r.Now()
	return func() { r.Pause(trace.Pause{Job: job, Start: start, End: r.Now()}) }
}
