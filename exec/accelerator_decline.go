package exec

import (
	"github.com/tessera-la/tessera/exec/graph"
)

// unstarted concludes an attempt whose call the accelerator has not started. If it
// has found out meanwhile that it never can, because there is less memory than it
// had thought, others do the task, and that was no attempt of it.
func (d *device) unstarted(f *flight, err error) {
	t := f.task
	if d.acc.Lost() != nil || d.accepts(t) == nil {
		d.finish(f, err)
		return
	}
	j := jobOf(t)
	err = f.ends(err)
	j.tell(t, graph.Ready, d.info.ID, f.choice.Version.Name, err)
	t.SetState(graph.Ready)
	d.land(f)
	d.refuse(t)
}
