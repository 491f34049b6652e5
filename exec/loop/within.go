package loop

import (
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/versions"
)

// Within is [For] inside a task: the loop is the task's children, beside the worker that executes
// the task, and Within returns when they have ended. So a task on a node of a cluster, for a
// [Range] of a larger loop say, can use all cores of the node.
//
// The error is For's, or exec.ErrNoTask if call belongs to no task.
func Within(call *versions.Call, n int, opt Options, body func(Chunk) error) error {
	if err := check(n, &opt, body); err != nil {
		return err
	}
	turn, err := exec.TakeTurn(call)
	if err != nil {
		return err
	}
	children, err := exec.NestedHere(call)
	if err != nil {
		return err
	}
	r := begin(call.Ctx, n, 1, turn.Workers(), opt, body)
	if err := r.submit(children); err != nil {
		return r.conclude(err)
	}
	// The task's own worker cannot run children before it waits. If other work wants the worker
	// before the loop is done, a child goes on with the rest.
	r.work(&turn)
	return r.conclude(children.Wait())
}
