package exec

import "github.com/tessera-la/tessera/exec/graph"

// RunReady submits a task that waits for no other one and for which none waits: while it is there
// no other task uses its data, none of which are renamed or reduced. The caller has checked s, and
// orders such tasks itself. RunReady does not wait for room in the job's window, so tasks and
// witnesses of the job may call it if nobody calls Submit, or Wait before the last of them has
// ended. For a job of another runtime than a Local it is Submit, which waits.
func RunReady(in Job, s *graph.Spec) error {
	j, ok := in.(*job)
	if !ok {
		_, err := in.Submit(s)
		return err
	}
	j.submit.Lock()
	defer j.submit.Unlock()
	if err := j.goesOn(); err != nil {
		return err
	}
	if err := j.accept(s); err != nil {
		return err
	}
	j.sched.settle(&j.backlog) // or else a worker may add to the graph, too
	t := j.submit.graph.AddReady(s)
	j.joined(t, true)
	j.enqueue(t)
	return nil
}
