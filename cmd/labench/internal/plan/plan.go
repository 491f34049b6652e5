package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Options describes the nodes.
type Options struct {
	// Runtime answers the queries of programs that are not about executing tasks.
	Runtime exec.Runtime
	// Nodes is the number of nodes that compute. Owner k of a layout is node k modulo Nodes.
	Nodes int
	// Apart says that the driver does not compute. Otherwise it is node 0.
	Apart bool
	// Cost returns the cost of a task, in any unit. Nil means 0.
	Cost func(op string) float64
	// Most is the largest number of tasks of a job. A job with more ends with a *TooManyError. 0 means no limit.
	Most int
}

// TooManyError says that a job has more tasks than Options.Most.
type TooManyError struct{ Most int }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("more than %d tasks, too many to be counted: take larger tiles", e.Most)
}

// Node is the work of a node.
type Node struct {
	Tasks int
	Cost  float64
	In    int64 // bytes that it receives from the nodes that wrote the values
}

// Counts are the needs of a program.
type Counts struct {
	Nodes  []Node
	Driver Node // the driver, if it is apart
	Tasks  int
	Moved  int64   // bytes between nodes, including the driver
	Path   float64 // cost of the critical path; jobs run one after the other
	Steps  int     // tasks on the critical path
}

// none is the home of a value that no node has.
const none = -1

// datum records which nodes have the latest version of a value.
type datum struct {
	bytes   int64
	kept    bool    // it stays on its node when the job ends
	program bool    // it is in the program's memory, and no task has written it
	made    bool    // false while it is the zeros that it was made with
	home    int     // the node that wrote it
	copies  []int   // other nodes with a copy
	path    float64 // cost of the critical path up to its last write …
	steps   int     // … and the number of tasks on that path
}

// Runtime is an exec.Keeper that executes nothing, so values do not change. It must be used by one goroutine.
type Runtime struct {
	exec.Runtime
	opt    Options
	kept   map[any]*datum
	counts Counts
}

// New returns a Runtime. opt.Nodes must be positive.
func New(opt Options) *Runtime {
	r := &Runtime{Runtime: opt.Runtime, opt: opt, kept: map[any]*datum{}}
	r.Reset()
	return r
}

// Reset sets the counts to zero. Values stay where they are.
func (r *Runtime) Reset() { r.counts = Counts{Nodes: make([]Node, r.opt.Nodes)} }

// Counts returns the needs of the jobs that ended since the last Reset.
func (r *Runtime) Counts() Counts {
	c := r.counts
	c.Nodes = slices.Clone(c.Nodes)
	return c
}

// driver returns the node number of the driver.
func (r *Runtime) driver() int {
	if r.opt.Apart {
		return r.opt.Nodes
	}
	return 0
}

// node returns the counts of a node.
func (r *Runtime) node(i int) *Node {
	if i == r.opt.Nodes {
		return &r.counts.Driver
	}
	return &r.counts.Nodes[i]
}

// fetch counts the transfer of d to a node, unless the node has it.
func (r *Runtime) fetch(d *datum, to int) {
	if d.home == to || slices.Contains(d.copies, to) {
		return
	}
	r.node(to).In += d.bytes
	r.counts.Moved += d.bytes
	d.copies = append(d.copies, to)
}

// Close implements [exec.Runtime]. It does not close Options.Runtime.
func (r *Runtime) Close() error { return nil }

// Keep implements [exec.Keeper].
func (r *Runtime) Keep(values []versions.Shaped) (exec.Kept, error) {
	for _, v := range values {
		r.kept[v] = &datum{bytes: v.Bytes(), kept: true, home: none}
	}
	return &set{r, values}, nil
}

// set is an [exec.Kept].
type set struct {
	r      *Runtime
	values []versions.Shaped
}

// Fetch implements [exec.Kept]. There is nothing to fetch.
func (s *set) Fetch(context.Context, versions.Shaped, versions.Value) error { return nil }

// Locate implements [exec.Kept].
func (s *set) Locate(values []versions.Shaped) []int {
	at := make([]int, len(values))
	for i, v := range values {
		at[i] = none
		if d := s.r.kept[v]; d != nil {
			at[i] = d.home
		}
	}
	return at
}

// Release implements [exec.Kept].
func (s *set) Release() {
	for _, v := range s.values {
		delete(s.r.kept, v)
	}
	s.values = nil
}

// NewJob implements [exec.Runtime].
func (r *Runtime) NewJob(ctx context.Context) exec.Job {
	if ctx == nil {
		ctx = context.Background()
	}
	return &job{r: r, ctx: ctx, data: map[*graph.Datum]*datum{}}
}

// job counts tasks when they are submitted.
type job struct {
	r     *Runtime
	ctx   context.Context
	data  map[*graph.Datum]*datum
	tasks int
	path  float64 // longest path, and the number of its tasks
	steps int
	err   error
}

// Submit implements [exec.Job].
func (j *job) Submit(s *graph.Spec) (graph.TaskID, error) {
	if j.err == nil && j.ctx.Err() != nil {
		j.err = context.Cause(j.ctx)
	}
	if most := j.r.opt.Most; j.err == nil && most > 0 && j.tasks >= most {
		j.err = &TooManyError{most}
	}
	if j.err != nil {
		return 0, j.err
	}
	j.tasks++
	own := s.Operands[0].Datum
	for _, o := range s.Operands {
		if o.Mode&graph.Out != 0 {
			own = o.Datum
			break
		}
	}
	at := int(own.Owner) % j.r.opt.Nodes
	if op, ok := s.Op.(*versions.Op); ok && op.Bound || s.Constraints != nil {
		at = j.r.driver()
	}
	n, cost := j.r.node(at), 0.0
	if j.r.opt.Cost != nil {
		cost = j.r.opt.Cost(s.Op.OpName())
	}
	n.Tasks++
	n.Cost += cost
	path, steps := 0.0, 0
	for _, o := range s.Operands {
		if d := j.datum(o.Datum); o.Mode&graph.In != 0 && d.made {
			j.r.fetch(d, at)
			if d.path > path || d.steps > steps && d.path == path {
				path, steps = d.path, d.steps
			}
		}
	}
	path, steps = path+cost, steps+1
	if path > j.path || path == j.path && steps > j.steps {
		j.path, j.steps = path, steps
	}
	for _, o := range s.Operands {
		if o.Mode&graph.Out != 0 { // a new version
			d := j.datum(o.Datum)
			d.home, d.copies, d.program, d.made, d.path, d.steps = at, d.copies[:0], false, true, path, steps
		}
	}
	return graph.TaskID(j.tasks), nil
}

// datum returns a datum of the job.
func (j *job) datum(d *graph.Datum) *datum {
	x := j.data[d]
	if x == nil {
		if x = j.r.kept[d.Value]; x == nil { // it is in the program's memory
			x = &datum{bytes: d.Bytes, made: true, home: j.r.driver(), program: true}
		}
		j.data[d] = x
	}
	return x
}

// Wait implements [exec.Job]. Values that are not kept move to the program's memory, on the driver.
func (j *job) Wait() error {
	if j.err != nil {
		return j.err
	}
	r := j.r
	r.counts.Tasks += j.tasks
	r.counts.Path += j.path
	r.counts.Steps += j.steps
	home := r.driver()
	for _, d := range j.data {
		d.path, d.steps = 0, 0
		if !d.kept && !d.program {
			r.fetch(d, home)
			d.home, d.program = home, true
		}
		d.copies = slices.DeleteFunc(d.copies, func(i int) bool { return i != home })
	}
	clear(j.data)
	j.path, j.steps = 0, 0
	return nil
}

// WaitOn implements [exec.Job].
func (j *job) WaitOn(*graph.Datum) error { return j.err }

// Notify implements [exec.Job].
func (j *job) Notify(_ *graph.Datum, done func(error)) { done(j.err) }

// Err implements [exec.Job].
func (j *job) Err() error { return j.err }

// Completed implements [exec.Job].
func (j *job) Completed() int { return j.tasks }

// Ignored implements [exec.Job].
func (j *job) Ignored() int { return 0 }

// Copies implements [exec.Job].
func (j *job) Copies() graph.Copies { return graph.Copies{} }

// Story implements [exec.Job].
func (j *job) Story(id graph.TaskID) (exec.Story, error) {
	return exec.Story{}, &exec.NoStoryError{Task: id}
}
