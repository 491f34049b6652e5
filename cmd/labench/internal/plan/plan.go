package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Options says which nodes there are.
type Options struct {
	// Runtime answers what programs ask of a runtime beside the execution of tasks.
	Runtime exec.Runtime
	// Workers is how many all nodes have together, the driver's own with them; 0: as many as
	// the Runtime.
	Workers int
	// Nodes is how many compute: owner k of a layout is node k modulo Nodes.
	Nodes int
	// Apart says that the driver is none of these. Otherwise it is the first.
	Apart bool
	// Cost returns what a task costs, in a unit of the caller's; nil: nothing.
	Cost func(op string, operands []graph.Operand) float64
	// Most is the most tasks of a job: more are not counted, and end it with a
	// *TooManyError. 0 means 1<<23.
	Most int
}

// TooManyError says that a job has too many tasks to be counted one by one.
type TooManyError struct{ Most int }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("more than %d tasks, too many to be counted: take larger tiles", e.Most)
}

// Node is what a node has to do, and what it takes.
type Node struct {
	Tasks   int
	Cost    float64
	In, Out int64 // bytes that it has to get from others, and others from it, who has made them
	// Own is the bytes of the values that it has made and that are still of use, at most, and
	// Peak that with copies of others' until their last reader here has ended.
	Own, Peak int64
	// Least is the most that a task here needs beside the node's own values, and these: with
	// less memory the layout cannot be kept.
	Least int64
}

// Counts is what a program needs.
type Counts struct {
	Nodes  []Node
	Driver Node // if it is apart: what it gives and gets
	Tasks  int
	Most   int64   // bytes of the operands of a task, at most
	Moved  int64   // bytes, from node to node and from and to the driver
	Path   float64 // cost of the critical path, jobs one after the other
	Steps  int     // tasks on it
}

// Runtime is an exec.Keeper that executes nothing. Values that tasks would write keep what
// they have. It is for one goroutine.
type Runtime struct {
	exec.Runtime
	opt    Options
	kept   map[any]*datum
	counts Counts
	now    []use // by node, the driver last
}

// use is the memory that a node uses now.
type use struct{ own, all int64 }

// New returns a Runtime. There has to be a node.
func New(opt Options) *Runtime {
	if opt.Most == 0 {
		opt.Most = 1 << 23
	}
	r := &Runtime{Runtime: opt.Runtime, opt: opt, kept: map[any]*datum{}, now: make([]use, opt.Nodes+1)}
	r.Reset()
	return r
}

// Most returns the most tasks of a job that are counted.
func (r *Runtime) Most() int { return r.opt.Most }

// Reset begins to count anew: what there is stays where it is.
func (r *Runtime) Reset() {
	r.counts = Counts{Nodes: make([]Node, r.opt.Nodes)}
	for i := range r.opt.Nodes {
		r.holds(i, 0, 0)
	}
}

// Counts returns what the jobs need that have ended since the last Reset.
func (r *Runtime) Counts() Counts {
	c := r.counts
	c.Nodes = slices.Clone(c.Nodes)
	return c
}

// Workers implements [exec.Runtime].
func (r *Runtime) Workers() []exec.Worker {
	all := r.Runtime.Workers()
	if r.opt.Workers == 0 {
		return all
	}
	for len(all) < r.opt.Workers {
		w := all[0]
		w.ID = len(all)
		all = append(all, w)
	}
	return all[:r.opt.Workers]
}

// Close implements [exec.Runtime]: it leaves Options.Runtime alone.
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

// Fetch implements [exec.Kept]: there is nothing.
func (s *set) Fetch(context.Context, versions.Shaped, versions.Value) error { return nil }

// Locate implements [exec.Kept].
func (s *set) Locate(values []versions.Shaped) []int {
	at := make([]int, len(values))
	for i, v := range values {
		at[i] = none
		if d := s.r.kept[v]; d != nil {
			at[i] = int(d.home)
		}
	}
	return at
}

// Release implements [exec.Kept].
func (s *set) Release() {
	for _, v := range s.values {
		if d := s.r.kept[v]; d != nil {
			s.r.drop(d)
			delete(s.r.kept, v)
		}
	}
	s.values = nil
}

// NewJob implements [exec.Runtime].
func (r *Runtime) NewJob(ctx context.Context) exec.Job {
	if ctx == nil {
		ctx = context.Background()
	}
	return &job{r: r, ctx: ctx, data: map[*graph.Datum]uint32{}}
}

// job notes tasks, and has them counted when it is waited for: only then is it known who was
// the last to read something.
type job struct {
	r      *Runtime
	ctx    context.Context
	data   map[*graph.Datum]uint32
	values []*datum
	words  []uint32 // of each task the number of operands, and these
	costs  []float64
	nodes  []int32
	tasks  int
	err    error
}

// What a word says of an operand, beside the number of its datum.
const (
	reads  = 1
	writes = 2
	last   = 4 // nobody reads this version later
	shift  = 3
)

// Submit implements [exec.Job].
func (j *job) Submit(s *graph.Spec) (graph.TaskID, error) {
	if j.err == nil && j.ctx.Err() != nil {
		j.err = context.Cause(j.ctx)
	}
	if j.err == nil && len(j.nodes) >= j.r.opt.Most {
		j.err = &TooManyError{j.r.opt.Most}
	}
	if j.err != nil {
		return 0, j.err
	}
	j.tasks++
	node, own := -1, s.Operands[0].Datum
	for _, o := range s.Operands {
		if o.Mode&graph.Out != 0 {
			own = o.Datum
			break
		}
	}
	if op, ok := s.Op.(*versions.Op); ok && op.Bound || s.Constraints != nil {
		node = j.r.driver()
	} else {
		node = int(own.Owner) % j.r.opt.Nodes
	}
	j.nodes = append(j.nodes, int32(node))
	cost := 0.0
	if j.r.opt.Cost != nil {
		cost = j.r.opt.Cost(s.Op.OpName(), s.Operands)
	}
	j.costs = append(j.costs, cost)
	j.words = append(j.words, uint32(len(s.Operands)))
	for _, o := range s.Operands {
		j.words = append(j.words, j.datum(o.Datum)<<shift|uint32(o.Mode&graph.InOut))
	}
	return graph.TaskID(j.tasks), nil
}

// datum returns the number of a datum in the job.
func (j *job) datum(d *graph.Datum) uint32 {
	if k, ok := j.data[d]; ok {
		return k
	}
	x := j.r.kept[d.Value]
	if x == nil { // it is in the program's memory
		x = &datum{bytes: d.Bytes, made: true, home: int32(j.r.driver()), program: true}
	}
	k := uint32(len(j.values))
	j.values = append(j.values, x)
	j.data[d] = k
	return k
}

// Wait implements [exec.Job].
func (j *job) Wait() error {
	if j.err == nil {
		j.r.count(j)
	}
	j.words, j.costs, j.nodes = nil, nil, nil
	return j.err
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
