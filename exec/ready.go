package exec

import "github.com/tessera-la/tessera/exec/graph"

// RunReady submits a task that neither waits for another one nor is waited for: while it is in
// flight no other task uses its data, none of which are renamed or reduced. The caller has checked
// s, and orders such tasks itself. RunReady does not wait for the job's window, so tasks and
// witnesses of the job may call it if no goroutine calls Submit, or Wait before the last of them
// has ended. For a job of another runtime than a Local it is Submit, which waits.
func RunReady(in Job, s *graph.Spec) error {
	j, ok := in.(*job)
	if !ok {
		_, err := in.Submit(s)
		return err
	}
	j.submit.Lock()
	defer j.submit.Unlock()
	if err := j.checkOpen(); err != nil {
		return err
	}
	if err := j.checkRunnable(s); err != nil {
		return err
	}
	t := j.submit.graph.AddReady(s)
	j.noteAdded(t, true)
	j.enqueue(t)
	return nil
}
