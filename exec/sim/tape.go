package sim

import (
	"context"
	"slices"
	"sync"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// Program is a list of submitted tasks and how long they took, as [Recorder] or [NewProgram] makes
// it. It is plain data.
type Program struct {
	Ops  []string             `json:"ops"` // with their types, and the versions that ran
	Data []graph.ProgramDatum `json:"data"`
	Jobs [][]ProgramTask      `json:"jobs"`
}

// ProgramTask is a task of a Program.
type ProgramTask struct {
	Op       int     `json:"op"` // of Program.Ops
	Priority int64   `json:"priority,omitempty"`
	Work     float64 `json:"work,omitempty"` // like Size and Bound, unknown to recordings
	Size     int     `json:"size,omitempty"` // see [Point]
	Bound    bool    `json:"bound,omitempty"`
	Data     []int   `json:"data"` // of Program.Data, for each operand
	Modes    []int   `json:"modes"`
	// Version ran on Worker in the last attempt and took Took seconds. Began, Submitted and Ready
	// are seconds since the first task of all began. All are zero if they were not recorded.
	Version   string  `json:"version,omitempty"`
	Worker    int     `json:"worker,omitempty"`
	Took      float64 `json:"took,omitempty"`
	Began     float64 `json:"began,omitempty"`
	Submitted float64 `json:"submitted,omitempty"`
	Ready     float64 `json:"ready,omitempty"`
}

// Recorder is an exec.Runtime that passes tasks on to another one and notes them. The times of
// tasks come from the other runtime's trace.Recorder.
type Recorder struct {
	exec.Runtime

	mu   sync.Mutex // a leaf
	p    Program
	ops  map[string]int
	data map[*graph.Datum]int
	jobs []*taped
}

// NewRecorder returns a Recorder of the tasks of rt.
func NewRecorder(rt exec.Runtime) *Recorder {
	return &Recorder{Runtime: rt, ops: map[string]int{}, data: map[*graph.Datum]int{}}
}

// taped is a recorded job.
type taped struct {
	exec.Job
	r     *Recorder
	tasks []ProgramTask
	call  versions.Call
}

// NewJob implements [exec.Runtime].
func (r *Recorder) NewJob(ctx context.Context) exec.Job {
	j := &taped{Job: r.Runtime.NewJob(ctx), r: r}
	r.mu.Lock()
	r.jobs = append(r.jobs, j)
	r.mu.Unlock()
	return j
}

// Submit implements [exec.Job].
func (j *taped) Submit(s *graph.Spec) (graph.TaskID, error) {
	t := j.r.note(s, &j.call)
	id, err := j.Job.Submit(s)
	if err == nil {
		j.r.mu.Lock()
		j.tasks = append(j.tasks, t)
		j.r.mu.Unlock()
	}
	return id, err
}

// note returns the record of a task.
func (r *Recorder) note(s *graph.Spec, c *versions.Call) ProgramTask {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := s.Op.OpName()
	op, known := r.ops[name]
	if !known {
		op = len(r.p.Ops)
		r.ops[name], r.p.Ops = op, append(r.p.Ops, name)
	}
	t := ProgramTask{Op: op, Priority: s.Priority}
	for _, o := range s.Operands {
		d, known := r.data[o.Datum]
		if !known {
			d = len(r.p.Data)
			r.data[o.Datum] = d
			x := o.Datum
			r.p.Data = append(r.p.Data, graph.ProgramDatum{Name: x.Name, Key: x.Key, Owner: x.Owner, Bytes: x.Bytes})
		}
		t.Data, t.Modes = append(t.Data, d), append(t.Modes, int(o.Mode))
	}
	if o, ok := s.Op.(*versions.Op); ok {
		elem := 8
		if o.Type == "f32" {
			elem = 4
		}
		c.Params, c.Args = s.Params, c.Args[:0]
		for _, x := range s.Operands {
			c.Args = append(c.Args, x.Datum.Value)
			t.Size = max(t.Size, sizeOf(x.Datum.Value, elem))
		}
		t.Work, t.Bound = core.WorkOf(o, c), o.Bound
		clear(c.Args)
	}
	return t
}

// Reset forgets all noted tasks. No job may be under way.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.p, r.jobs = Program{}, nil
	r.ops, r.data = map[string]int{}, map[*graph.Datum]int{}
}

// Program returns the noted tasks, with the times of a recording of the same tasks if times is not
// nil.
func (r *Recorder) Program(times *trace.Recording) *Program {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.p
	p.Ops, p.Data = slices.Clone(p.Ops), slices.Clone(p.Data)
	for _, j := range r.jobs {
		if len(j.tasks) > 0 {
			p.Jobs = append(p.Jobs, slices.Clone(j.tasks))
		}
	}
	if times == nil || len(times.Events) == 0 {
		return &p
	}
	var jobs []uint64
	first := times.Events[0].Start
	for i := range times.Events {
		e := &times.Events[i]
		if e.Task != 0 {
			jobs = append(jobs, e.Job)
		}
		first = min(first, e.Start)
	}
	slices.Sort(jobs)
	jobs = slices.Compact(jobs)
	for i := range times.Events {
		e := &times.Events[i]
		k, _ := slices.BinarySearch(jobs, e.Job)
		if e.Task == 0 || k >= len(p.Jobs) || int(e.Task) > len(p.Jobs[k]) {
			continue
		}
		t := &p.Jobs[k][e.Task-1]
		t.Version, t.Worker = e.Version, e.Worker
		t.Took, t.Began, t.Submitted = (e.End - e.Start).Seconds(), (e.Start - first).Seconds(),
			(e.Submitted - first).Seconds()
	}
	return &p
}
