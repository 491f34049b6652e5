package dispatch_test

import (
	"slices"
	"testing"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
)

// TestQueue: tasks for one worker only go there, what an accelerator refuses goes to
// hosts only and before the policy's, and each task comes out once.
func TestQueue(t *testing.T) {
	q := dispatch.NewQueue(dispatch.New(dispatch.FIFO, dispatch.Machine{}), 2, 3)
	name := map[*graph.Task]string{}
	task := func(s string) *graph.Task {
		t := new(graph.Task)
		name[t] = s
		return t
	}
	q.Push([]*graph.Task{task("a"), task("b"), task("c")}, -1)
	q.Direct(task("own"), 1)
	q.Direct(task("device"), 2)
	q.Refuse(task("refused"), 2)
	if q.Len() != 6 || q.Common() != 3 || q.Reserves() {
		t.Errorf("%d tasks, %d of them the policy's", q.Len(), q.Common())
	}
	if q.Own(0) != nil {
		t.Error("worker 0 has a task of its own")
	}
	for i, want := range []string{"own", "refused", "a"} {
		if got := name[q.Pop(1)]; got != want {
			t.Errorf("host 1 gets %q as number %d, want %q", got, i, want)
		}
	}
	q.Refuse(task("again"), 2)
	if !q.Wants(0) || !q.Any(2) {
		t.Error("nobody is to ask for what the policy has")
	}
	var device []string
	for x := q.Pop(2); x != nil; x = q.Pop(2) {
		device = append(device, name[x])
	}
	if !slices.Equal(device, []string{"device", "b", "c"}) {
		t.Errorf("the accelerator gets %v", device)
	}
	if q.Wants(0) || q.Any(2) || q.Len() != 1 || name[q.Pop(0)] != "again" || q.Len() != 0 {
		t.Errorf("%d tasks are left", q.Len())
	}
}
