package sim

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// ProgramError says what is wrong with a Program, or why a recording is none.
type ProgramError struct{ Reason string }

func (e *ProgramError) Error() string { return "sim: program: " + e.Reason }

// NewProgram returns the tasks of a recording with Graphs, with the times of their last attempts.
// Jobs that ran at the same time become one, in the order in which their tasks were submitted. The
// error is a *ProgramError.
func NewProgram(r *trace.Recording) (*Program, error) {
	last, first := lastAttempts(r)
	p := &Program{}
	ops := map[string]int{}
	for i := range r.Graphs {
		g := &r.Graphs[i]
		base := len(p.Data)
		p.Data = append(p.Data, g.Data...)
		var tasks []ProgramTask
		for k := range g.Tasks {
			x := &g.Tasks[k]
			e := last[taskKey{g.Job, uint64(x.Task)}]
			if e == nil || e.Failed {
				return nil, &ProgramError{fmt.Sprintf("task %d of job %d has not ended well, or that was not recorded",
					x.Task, g.Job)}
			}
			op, known := ops[e.Op]
			if !known {
				op = len(p.Ops)
				ops[e.Op], p.Ops = op, append(p.Ops, e.Op)
			}
			t := ProgramTask{Op: op, Priority: x.Priority, Version: e.Version, Worker: e.Worker,
				Took: (e.End - e.Start).Seconds(), Began: (e.Start - first).Seconds(),
				Submitted: (e.Submitted - first).Seconds(), Ready: (e.Ready - first).Seconds()}
			for _, o := range x.Operands {
				t.Data, t.Modes = append(t.Data, base+o.Datum), append(t.Modes, int(o.Mode))
			}
			tasks = append(tasks, t)
		}
		if len(tasks) > 0 {
			p.Jobs = append(p.Jobs, tasks)
		}
	}
	if len(p.Jobs) == 0 {
		return nil, &ProgramError{"there are no tasks"}
	}
	p.join()
	return p, nil
}

// taskKey identifies a task of a recording.
type taskKey struct{ job, task uint64 }

// lastAttempts returns the last attempt at each task of a recording, and when the first of all began.
func lastAttempts(r *trace.Recording) (last map[taskKey]*trace.Event, first time.Duration) {
	last, first = map[taskKey]*trace.Event{}, math.MaxInt64
	for i := range r.Events {
		e := &r.Events[i]
		if e.Task == 0 {
			continue
		}
		k := taskKey{e.Job, e.Task}
		if x := last[k]; x == nil || x.Start < e.Start {
			last[k] = e
		}
		first = min(first, e.Start)
	}
	return last, first
}

// join merges jobs that ran at the same time.
func (p *Program) join() {
	slices.SortStableFunc(p.Jobs, func(a, b []ProgramTask) int { return cmp.Compare(a[0].Submitted, b[0].Submitted) })
	jobs := p.Jobs[:1]
	_, end := span(jobs[0])
	for _, j := range p.Jobs[1:] {
		first, until := span(j)
		if first >= end {
			jobs = append(jobs, j)
		} else {
			l := append(jobs[len(jobs)-1], j...)
			slices.SortStableFunc(l, func(a, b ProgramTask) int { return cmp.Compare(a.Submitted, b.Submitted) })
			jobs[len(jobs)-1] = l
		}
		end = max(end, until)
	}
	p.Jobs = jobs
}

// span returns when the first task of a job was submitted, and the last one ended.
func span(j []ProgramTask) (first, last float64) {
	first, last = math.Inf(1), math.Inf(-1)
	for i := range j {
		first, last = min(first, j[i].Submitted, j[i].Began), max(last, j[i].Began+j[i].Took)
	}
	return first, last
}

// Validate returns a *ProgramError if p makes no sense, or nil.
func (p *Program) Validate() error {
	bad := func(format string, args ...any) error { return &ProgramError{fmt.Sprintf(format, args...)} }
	for i, d := range p.Data {
		if d.Bytes < 0 {
			return bad("datum %d has %d bytes", i, d.Bytes)
		}
	}
	tasks := 0
	for k, j := range p.Jobs {
		for i := range j {
			t := &j[i]
			at := fmt.Sprintf("task %d of job %d", i+1, k+1)
			switch {
			case t.Op < 0 || t.Op >= len(p.Ops):
				return bad("%s: op %d of %d", at, t.Op, len(p.Ops))
			case len(t.Data) != len(t.Modes):
				return bad("%s: %d operands with %d modes", at, len(t.Data), len(t.Modes))
			case !(t.Took >= 0 && t.Took <= most && math.Abs(t.Began) <= most && math.Abs(t.Submitted) <= most &&
				math.Abs(t.Ready) <= most):
				return bad("%s: it took %g s, was submitted at %g, ready at %g and began at %g, want no more than %g, and at least 0 s", at, t.Took, t.Submitted, t.Ready, t.Began, most)
			case t.Worker < 0:
				return bad("%s: worker %d", at, t.Worker)
			}
			for n, d := range t.Data {
				if d < 0 || d >= len(p.Data) {
					return bad("%s: datum %d of %d", at, d, len(p.Data))
				}
				switch m := graph.Mode(t.Modes[n]); {
				case t.Modes[n] != int(m), m != graph.In && m != graph.Out && m != graph.InOut && m != graph.Commute &&
					m != graph.Reduce:
					return bad("%s: mode %d", at, t.Modes[n])
				case slices.Contains(t.Data[:n], d):
					return bad("%s: datum %d twice", at, d)
				}
			}
			tasks++
		}
	}
	if tasks == 0 {
		return bad("there are no tasks")
	}
	return nil
}

// most is the longest run in seconds.
const most = 1e9

// Measured summarizes a recorded Program.
type Measured struct {
	Tasks   int
	Seconds float64 // from the first submission of each job to its last end, over all jobs
	Busy    float64 // seconds of all workers in tasks
	// Costs are the medians of the overhead beside tasks.
	Costs Costs
}

// Measured returns the summary of p as it was recorded.
func (p *Program) Measured() Measured {
	var m Measured
	var submit, gaps, wakes []float64
	for _, j := range p.Jobs {
		first, last := span(j)
		m.Seconds += last - first
		m.Tasks += len(j)
		ran := make([]*ProgramTask, len(j))
		for i := range j {
			ran[i] = &j[i]
			m.Busy += j[i].Took
			if i > 0 && j[i].Submitted > j[i-1].Submitted {
				submit = append(submit, j[i].Submitted-j[i-1].Submitted)
			}
		}
		slices.SortStableFunc(ran, func(a, b *ProgramTask) int {
			return cmp.Or(cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Began, b.Began))
		})
		for i := 1; i < len(ran); i++ {
			a, b := ran[i-1], ran[i]
			end := a.Began + a.Took
			switch {
			case a.Worker != b.Worker || b.Began < end:
			case b.Ready <= end:
				gaps = append(gaps, b.Began-end)
			default: // the worker waited for the task
				wakes = append(wakes, max(b.Began-b.Ready, 0))
			}
		}
	}
	m.Costs = Costs{Submit: median(submit), Task: median(gaps), Wake: median(wakes)}
	return m
}

// median returns the median, 0 for an empty list.
func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	return x[len(x)/2]
}

// Machine returns a machine with workers as fast as those of the recording, with the recorded
// overhead.
func (p *Program) Machine(workers int) *Machine {
	k := Kind{Name: "recorded", Cores: workers, Rate: 1}
	return &Machine{Name: k.Name, Kinds: []Kind{k}, Nodes: []Nodes{{Kind: k.Name, Count: 1}}, Costs: p.Measured().Costs}
}

// Replay executes the tasks of p once more in virtual time, on opt.Machine, each as long as it
// took, divided by speed. The graph is the recorded one; the policies decide anew. Jobs follow one
// another.
//
// On several nodes the data are in the driver's memory when a job begins, and are brought there
// when it ends, as for a program whose matrices are not distributed. Any node executes any task.
//
// A task takes its recorded time: more workers do not disturb one another more. For a task that
// several workers shared, the time of the worker that took it counts, and all its operands are
// there for others when it ends.
//
// The recording is nil unless opt.Record. The error is a *ProgramError, a *MachineError or the
// cause of the end of ctx.
func (p *Program) Replay(ctx context.Context, opt Options, speed float64) (*Prediction, *trace.Recording, error) {
	if err := p.Validate(); err != nil {
		return nil, nil, err
	}
	if !(speed > 0) || math.IsInf(speed, 0) {
		return nil, nil, &ProgramError{fmt.Sprintf("speed is %g, want more than 0", speed)}
	}
	rt, err := newReplay(opt)
	if err != nil {
		return nil, nil, err
	}
	ops := make([]*versions.Op, len(p.Ops))
	for i, name := range p.Ops {
		// Nodes only get tasks whose op has a version.
		ops[i] = &versions.Op{Versions: []versions.Version{{Name: "recorded"}}}
		ops[i].Name, ops[i].Type, _ = strings.Cut(name, "/")
	}
	expected := p.expected()
	data := p.data()
	var spec graph.Spec
	for _, tasks := range p.Jobs {
		j := rt.NewJob(ctx)
		for i := range tasks {
			t := &tasks[i]
			spec = graph.Spec{Op: ops[t.Op], Priority: t.Priority, Operands: spec.Operands[:0],
				Params: &took{t.Version, t.Took / speed, expected[p.similar(t)].mean() / speed}}
			for n, d := range t.Data {
				spec.Operands = append(spec.Operands, graph.Operand{Datum: data[d], Mode: graph.Mode(t.Modes[n])})
			}
			if _, err := j.Submit(&spec); err != nil {
				return nil, nil, err
			}
		}
		if err := j.Wait(); err != nil {
			return nil, nil, err
		}
	}
	x := rt.Prediction()
	if !opt.Record {
		return x, nil, nil
	}
	return x, rt.Recording(), nil
}

// replaying is a [Runtime] or a [Cluster].
type replaying interface {
	exec.Runtime
	Prediction() *Prediction
	Recording() *trace.Recording
}

// newReplay returns a runtime on the nodes of a machine.
func newReplay(opt Options) (replaying, error) {
	if opt.Machine.Count() > 1 {
		return NewCluster(opt)
	}
	return New(opt)
}

// data returns data like those of p, without values.
func (p *Program) data() []*graph.Datum {
	nothing := func() any { return nil }
	reduced := make([]bool, len(p.Data))
	for _, j := range p.Jobs {
		for i := range j {
			for n, d := range j[i].Data {
				if graph.Mode(j[i].Modes[n]) == graph.Reduce {
					reduced[d] = true
				}
			}
		}
	}
	data := make([]*graph.Datum, len(p.Data))
	for i, d := range p.Data {
		x := &graph.Datum{Name: d.Name, Key: graph.Key{Matrix: d.Matrix, I: d.I, J: d.J}, Owner: d.Owner,
			Bytes: d.Bytes}
		if d.Renamed {
			x.SetRenaming(nothing)
		}
		if reduced[i] {
			x.SetReduction(graph.Reduction{New: nothing, Combine: func(any, any) {}})
		}
		data[i] = x
	}
	return data
}

// similar identifies tasks that are expected to last equally long.
type similar struct {
	op    int
	bytes int64
}

func (p *Program) similar(t *ProgramTask) similar {
	a := similar{op: t.Op}
	for _, d := range t.Data {
		a.bytes += p.Data[d].Bytes
	}
	return a
}

// total is the seconds of a number of tasks.
type total struct {
	seconds float64
	tasks   int
}

func (t total) mean() float64 { return t.seconds / float64(t.tasks) }

// expected returns the times of similar tasks.
func (p *Program) expected() map[similar]total {
	all := map[similar]total{}
	for _, j := range p.Jobs {
		for i := range j {
			x := all[p.similar(&j[i])]
			all[p.similar(&j[i])] = total{x.seconds + j[i].Took, x.tasks + 1}
		}
	}
	return all
}

// CriticalPath returns the longest chain of dependent tasks of p, over all jobs: its seconds, each
// task as long as it took, and its number of tasks. The errors are those of Replay.
func (p *Program) CriticalPath(ctx context.Context) (seconds float64, tasks int, err error) {
	m := p.Machine(1)
	m.Costs = Costs{}
	_, r, err := p.Replay(ctx, Options{Machine: m, Record: true}, 1)
	if err != nil {
		return 0, 0, err
	}
	jobs := map[uint64]*trace.Recording{}
	of := func(job uint64) *trace.Recording {
		if jobs[job] == nil {
			jobs[job] = &trace.Recording{}
		}
		return jobs[job]
	}
	for _, e := range r.Events {
		of(e.Job).Events = append(of(e.Job).Events, e)
	}
	for _, e := range r.Edges {
		of(e.Job).Edges = append(of(e.Job).Edges, e)
	}
	for _, j := range jobs {
		path := j.CriticalPath()
		seconds, tasks = seconds+path.Length.Seconds(), tasks+len(path.Tasks)
	}
	return seconds, tasks, nil
}
