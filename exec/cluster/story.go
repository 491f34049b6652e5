package cluster

import (
	"fmt"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
)

// telling adds steps to the stories of a job's tasks, if Options.Stories is set.
type telling struct {
	stories *exec.Stories // nil if there are none
	// retellsTask, of a recovery, maps its tasks to the tasks whose results they compute again.
	// Steps go into the stories of those.
	retellsTask map[graph.TaskID]graph.TaskID
}

// tell adds a step to the story of a task.
func (p *telling) tell(t *graph.Task, s exec.Step) { p.tellAt(t, s, time.Time{}) }

// tellAt adds a step at some time.
func (p *telling) tellAt(t *graph.Task, s exec.Step, at time.Time) {
	if p.stories == nil {
		return
	}
	if s.Version == "" {
		s.Worker = -1
	}
	id := t.ID()
	if p.retellsTask != nil {
		if id = p.retellsTask[id]; id == 0 {
			return
		}
		if s.Note == "" {
			s.Note = s.State.String()
		}
		s.Note = "made again: " + s.Note
	}
	p.stories.Add(id, s, at)
}

// tellSent tells to which node a task goes, and why. bound says that only the driver can execute
// it.
func (p *telling) tellSent(t *graph.Task, to *node, s *core.Scheduler, bound bool) {
	if p.stories != nil {
		note := fmt.Sprintf("sent to %s: %s", to.name, s.WhyChosen(t, to.index, bound))
		p.tell(t, exec.Step{State: graph.Ready, Note: note})
	}
}

// tellBack tells that a node has given a task back, for another node if to is not nil.
func (p *telling) tellBack(t *graph.Task, from, to *node) {
	note := "given back"
	if to != nil {
		note += ", as " + to.name + " is expected to end it sooner,"
	}
	p.tell(t, exec.Step{State: graph.Ready, Note: note, Node: from.name})
}

// tellEnd tells what a node reports of a task that has ended: arrivals, attempts and the end.
func (p *telling) tellEnd(t *graph.Task, of *catalog, n *node, e *end) {
	if p.stories == nil {
		return
	}
	when := func(clock int64) time.Time {
		return of.exec.meter.began.Add(time.Duration(clock + n.clock.offset))
	}
	for _, c := range e.Fetched {
		what := "an operand"
		for k := range t.Len() {
			if d := t.Operand(k).Datum; of.data.Of(d).Ref == c.Ref {
				what = d.String()
				break
			}
		}
		note := fmt.Sprintf("%s has come from %s, %d bytes in %v", what, c.From, c.Bytes, c.Took)
		p.tellAt(t, exec.Step{State: graph.Ready, Note: note, Node: n.name}, when(c.Began).Add(c.Took))
	}
	for _, a := range e.Before {
		p.tellAt(t, exec.Step{State: graph.Running, Node: n.name, Worker: a.Worker, Version: a.Version}, when(a.Began))
		p.tellAt(t, exec.Step{
			State: graph.Ready, Note: "failed, and is tried again", Node: n.name, Worker: a.Worker, Version: a.Version,
		}, when(a.Began).Add(a.Took))
	}
	last := exec.Step{State: graph.Done, Node: n.name, Worker: e.Worker, Version: e.Version}
	at := time.Time{}
	if e.Version != "" {
		run := last
		run.State = graph.Running
		p.tellAt(t, run, when(e.Began))
		at = when(e.Began).Add(e.Took)
	}
	if e.Fault != nil {
		last.State, last.Err = graph.Failed, e.Fault.err(n.name, of.known.errs)
	}
	p.tellAt(t, last, at)
}
