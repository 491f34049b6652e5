package exec

import "github.com/tessera-la/tessera/exec/trace"

// recordPause records, if there is a recorder, that the full window stops the submission of a job
// until the returned function is called. In a trace this shows whether idle workers lacked tasks
// that were not submitted yet.
func recordPause(r *trace.Recorder, job uint64) (resume func()) {
	if r == nil {
		return func() {}
	}
	start := r.Now()
	return func() { r.Pause(trace.Pause{Job: job, Start: start, End: r.Now()}) }
}
