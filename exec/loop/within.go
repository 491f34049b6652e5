package loop

import (
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/versions"
)

// Within is [For] inside a task: the loop is the task's children, beside the worker that
// executes the task, and Within returns when they have ended. So a task that a node of a
// cluster gets, a [Range] of a larger loop say, can use all cores of its node.
//
// The error is For's, or exec.ErrNoTask if call is not that of a task.
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
	// Children cannot have the task's own worker before it waits. If others want it before
	// all is done, a child goes on with the rest.
	r.work(&turn)
	return r.conclude(children.Wait())
}
