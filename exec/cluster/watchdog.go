package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/internal/core"
)

// watchdog reports tasks and jobs of a driver that are stuck. It asks nodes for their status and
// watches how many tasks of each job have ended.
type watchdog struct {
	*fleet
	activeJobs func() map[uint64]*job
	opt        *exec.Watchdog
	stop       func() // waits for a report that is being made

	late map[lateKey]bool // tasks that were reported and are still at the same stage
	jobs map[uint64]*progress
}

// lateKey is a task at a stage on a node.
type lateKey struct {
	node    int
	job, id uint64
	stage   stage
}

// progress is when a job last got on, and with how many ended tasks.
type progress struct {
	done     int
	since    time.Time
	reported bool
}

// newWatchdog returns a watchdog that runs until stop.
func newWatchdog(f *fleet, alive func() map[uint64]*job, opt *exec.Watchdog) *watchdog {
	x := &watchdog{fleet: f, activeJobs: alive, opt: opt, late: map[lateKey]bool{}, jobs: map[uint64]*progress{}}
	x.stop = opt.Watch(x.check)
	return x
}

// shiftPause moves the noted times by a pause of this process, in which its tasks did not run, and in which it
// handled no answer of an agent. It does not change the times that agents have reported of their own tasks.
func (x *watchdog) shiftPause(pause time.Duration, now time.Time) {
	x.exec.shiftPause(pause, now)
	for _, p := range x.jobs {
		p.since = p.since.Add(pause)
	}
	nodes := x.allNodes()
	x.placing.Lock()
	defer x.placing.Unlock()
	for _, n := range nodes {
		if n.statusAt.Before(n.queriedAt) { // a query is open
			n.queriedAt = n.queriedAt.Add(min(pause, now.Sub(n.queriedAt)))
		}
	}
}

// check returns the tasks and jobs that have become stuck, and queries the nodes for the next check. pause is the
// time before this check in which the process could not run.
func (x *watchdog) check(pause time.Duration, now time.Time) (found []exec.Stuck) {
	if pause > 0 {
		x.shiftPause(pause, now)
	}
	nodes, own, jobs := x.allNodes(), x.exec.status(), x.activeJobs()
	defer x.queryNodes(nodes[1:], now, 0)
	x.placing.Lock()
	defer x.placing.Unlock()
	nodes[0].status, nodes[0].statusAt = own, now
	late, runs := x.lateTasks(nodes, jobs)
	for number := range x.jobs {
		if jobs[number] == nil {
			delete(x.jobs, number)
		}
	}
	for _, number := range slices.Sorted(maps.Keys(jobs)) {
		j := jobs[number]
		if j.number == 0 {
			continue
		}
		stuck := exec.Stuck{Job: j.order, Tasks: late[number], Completed: int64(j.done), Submitted: int64(j.count)}
		last := x.jobs[number]
		switch {
		case last == nil || last.done != j.done || j.done == j.count || runs[number]:
			x.jobs[number] = &progress{done: j.done, since: now}
		case now.Sub(last.since) > x.opt.After && !last.reported && x.heard(j, nodes, last.since, now):
			last.reported = true
			stuck.Waits = x.waitLines(j, nodes, now)
		}
		if len(stuck.Tasks) > 0 || len(stuck.Waits) > 0 {
			found = append(found, stuck)
		}
	}
	return found
}

// lateTasks returns, by job, the tasks that are newly late, and whether a task of the job runs. The
// caller holds placing.
func (x *watchdog) lateTasks(nodes []*node, jobs map[uint64]*job) (
	late map[uint64][]exec.StuckTask, runs map[uint64]bool,
) {
	late, runs = map[uint64][]exec.StuckTask{}, map[uint64]bool{}
	seen := map[lateKey]bool{}
	for _, n := range nodes {
		if x.unavailable(n) != nil {
			continue
		}
		for _, t := range n.status.Tasks {
			j := jobs[t.Job]
			if j == nil {
				continue
			}
			f := j.flight(n, t.ID)
			if f == nil {
				continue
			}
			runs[t.Job] = runs[t.Job] || t.Stage == stageRuns
			if t.Stage == stageReady || t.For <= x.opt.After {
				continue
			}
			key := lateKey{n.index, t.Job, t.ID, t.Stage}
			if seen[key] = true; !x.late[key] {
				late[t.Job] = append(late[t.Job], stuckTask(j, f, n, &t))
			}
		}
	}
	x.late = seen
	return late, runs
}

// stuckTask describes a task that is late on a node. The caller holds placing.
func stuckTask(j *job, f *core.Flight, n *node, t *taskStatus) exec.StuckTask {
	s := exec.StuckTask{Task: f.Task.ID(), Op: f.Task.Op.OpName(), Node: n.name, Worker: -1, For: t.For}
	for k := range f.Task.Len() {
		o := f.Task.Operand(k)
		s.Operands = append(s.Operands, o.Mode.String()+" "+o.Datum.String())
	}
	if t.Stage == stageWaits {
		s.Waits = j.describeWants(f, t.Wants)
	}
	return s
}

// heard reports whether each node with tasks of a job has reported its status since the job got on,
// or is silent.
func (x *watchdog) heard(j *job, nodes []*node, since, now time.Time) bool {
	for _, n := range nodes {
		if x.unavailable(n) == nil && j.tasksOn(n) > 0 && !n.statusAt.After(since) && !x.silent(n, now) {
			return false
		}
	}
	return true
}

// silent reports whether a node has not answered a query for long.
func (x *watchdog) silent(n *node, now time.Time) bool {
	return n.statusAt.Before(n.queriedAt) && now.Sub(n.queriedAt) > x.opt.After
}

// waitLines says what each node of a job waits for.
func (x *watchdog) waitLines(j *job, nodes []*node, now time.Time) (lines []string) {
	for _, n := range nodes {
		if j.index(n) < 0 || n.workers == 0 {
			continue
		}
		if x.unavailable(n) != nil {
			lines = append(lines, n.name+" is lost")
			continue
		}
		what := strings.Join(waitReasons(map[uint64]*job{j.number: j}, n), "; ")
		has := j.tasksOn(n)
		switch {
		case x.silent(n, now):
			lines = append(lines, fmt.Sprintf("%s has %s, and has not said for %v what it is at",
				n.name, core.TaskCount(has), now.Sub(n.queriedAt).Round(time.Millisecond)))
		case what != "":
			lines = append(lines, n.name+" waits for "+what)
		case has > 0:
			lines = append(lines, fmt.Sprintf("%s has %s, of which none runs", n.name, core.TaskCount(has)))
		default:
			lines = append(lines, n.name+" has no tasks")
		}
	}
	return lines
}
