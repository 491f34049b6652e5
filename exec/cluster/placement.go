package cluster

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// placement is where the tasks of a job are: in the graph, with the policy, on their way
// to a node or there.
//
// All of it is under one lock: who submits adds to the graph, and each message of ends
// takes tasks out of it, hands what they have freed to the policy, and gives nodes that
// have room new ones. Messages are put together under the lock when their turn to be sent
// comes, so that they hold all that has been given by then.
//
// Node i of the job is location i and worker i of the policy. That a node may begin a task
// is the graph's word; so no node ever waits for a task of another one, only for values,
// which are there.
type placement struct {
	*fleet
	ctx     context.Context
	outcome graph.Outcome

	mu      sync.Mutex // guards what follows; the locks of outboxes are taken under it
	news    sync.Cond  // a task has ended
	number  uint64     // 0 while the job has no tasks in flight
	nodes   []*node
	lost    []bool // by node
	room    []int  // by node: how many more tasks it is given
	graph   graph.Graph
	queue   *dispatch.Queue
	where   *directory
	data    map[*graph.Datum]int // numbers in the directory
	facts   []facts              // by number
	names   map[transport.Ref]bool
	flying  map[graph.TaskID]*flight
	batches [][]task // by node: to be sent
	count   int      // tasks submitted
	done    int      // of these, ended
	watches int      // that bring a datum
	work    *work    // of this node
}

// ahead is how many tasks a node is given for each of its workers: one that it executes,
// and others whose operands it fetches meanwhile. Not measured.
const ahead = 3

// facts is what other nodes have to know of a datum to make a value for it: the name of
// its type, and its shape. Both stay as they are, and the value may be on its way.
type facts struct {
	name  string
	shape []byte
}

// flight is a task that a node has been given.
type flight struct {
	task *graph.Task
	node *node
}

// datum returns the number of a datum. The first time it comes, what it holds is put where
// others can fetch it.
func (p *placement) datum(d *graph.Datum) int {
	k, ok := p.data[d]
	if ok {
		return k
	}
	key := d.Key
	if r := (transport.Ref{Job: p.number, Matrix: key.Matrix, I: key.I, J: key.J}); key.Matrix == 0 || p.names[r] {
		key = graph.Key{I: int32(len(p.data)), J: -1} // a name that no matrix has
	}
	k = p.where.add(key.Matrix, key.I, key.J)
	r := p.where.data[k].ref
	p.data[d], p.names[r] = k, true
	var f facts
	if s, ok := d.Value.(versions.Shaped); ok {
		f.shape = s.Shape()
	}
	if d.Value != nil {
		f.name = reflect.TypeOf(d.Value).String()
	}
	p.facts = append(p.facts, f)
	d.SetAt(1)
	p.work.store.adopt(r, d.Value)
	return k
}

// sendable reports whether other nodes can execute t: whether its op is bound to no
// process, its parameter plain, and its operands of types that others know.
func (p *placement) sendable(t *graph.Task) bool {
	op, ok := t.Op.(*versions.Op)
	if !ok || op.Bound || t.Shadowed() || t.Constraints() != nil {
		return false
	}
	for i := range t.Len() {
		if !p.known.names(p.facts[p.data[t.Operand(i).Datum]].name) {
			return false
		}
	}
	return true
}

// arrived hands tasks that have become ready to the policy, and notifies the watches among
// them. The caller holds mu.
func (p *placement) arrived(ready []*graph.Task) {
	for i := 0; i < len(ready); i++ {
		t := ready[i]
		switch w := t.Watch(); {
		case w != nil:
			p.watched(t, w)
		case p.sendable(t):
			p.queue.Push(ready[i:i+1:i+1], -1)
		default:
			p.queue.Direct(t, 0)
		}
	}
}

// watched tells who watches a datum that it is there, on the driver, and ends the watch
// then: who writes the datum next waits for that. The caller holds mu.
func (p *placement) watched(t *graph.Task, w *graph.Watch) {
	k := p.data[t.Operand(0).Datum]
	tell := func(f *graph.Fault) {
		w.Done(f)
		p.mu.Lock()
		defer p.mu.Unlock()
		if f == nil {
			p.where.read(k, 0)
		}
		p.watches--
		p.arrived(p.graph.End(t, graph.Done, nil, nil))
		p.place()
		p.news.Broadcast()
	}
	f := t.Tainted()
	p.watches++
	if f != nil || p.where.has(k, 0) {
		go tell(f)
		return
	}
	p.work.store.want(p.where.data[k].ref, true, p.holders(k), nil, func(err error) {
		if err != nil {
			f = &graph.Fault{Err: err}
		}
		go tell(f)
	})
}

// holders returns the names of the nodes that have a datum.
func (p *placement) holders(k int) (names []string) {
	for _, h := range p.where.holders(k) {
		names = append(names, p.nodes[h].name)
	}
	return names
}

// place gives nodes tasks as long as they have room, one node after the other, so that
// none gets all that is ready. The caller holds mu.
func (p *placement) place() {
	for given := true; given && p.queue.Len() > 0; {
		given = false
		for i := range p.nodes {
			if p.lost[i] || p.room[i] == 0 {
				continue
			}
			var t *graph.Task
			if i == 0 && p.opt.Idle && len(p.nodes) > 1 {
				t = p.queue.Own(0)
			} else {
				t = p.queue.Pop(i)
			}
			if t != nil {
				given = true
				p.give(t, i)
			}
		}
	}
	for i, batch := range p.batches {
		if len(batch) > 0 {
			p.send(i)
		}
	}
}

// give gives a node a task, or cancels it. It says of each operand which version the task
// reads, and from whom the node can have it: of those that the directory knows now. The
// caller holds mu.
func (p *placement) give(t *graph.Task, i int) {
	if f := p.cancelled(t); f != nil {
		p.end(t, graph.Cancelled, f)
		return
	}
	x := task{ID: uint64(t.ID()), Op: t.Op.OpName(), Priority: t.Priority}
	if f := t.Failure(); f != nil {
		x.Retries, x.Timeout = f.Retries, f.Timeout
	}
	if i == 0 {
		x.spec = &graph.Spec{Op: t.Op, Params: t.Params, Local: t.Local(), Constraints: t.Constraints()}
	} else {
		var err error
		if x.Params, err = versions.EncodeParams(nil, t.Params); err != nil {
			p.fail(t, p.nodes[0], newFault(err, nil))
			return
		}
	}
	for k := range t.Len() {
		o := t.Operand(k)
		n := p.data[o.Datum]
		y := operand{Ref: p.where.data[n].ref, Mode: o.Mode}
		has := p.where.has(n, i)
		if o.Mode&graph.In != 0 && !has {
			y.From = p.holders(n)
		}
		if i > 0 && !has {
			y.Type, y.Shape = p.facts[n].name, p.facts[n].shape
		}
		x.Operands = append(x.Operands, y)
	}
	t.SetState(graph.Running)
	p.flying[t.ID()] = &flight{t, p.nodes[i]}
	p.room[i]--
	p.batches[i] = append(p.batches[i], x)
}

// send has the tasks that a node was given sent, with those that it gets until the
// message is made. The driver's own go the same way, so that nothing of them is executed
// under the lock. The caller holds mu.
func (p *placement) send(i int) {
	work, number := p.work, p.number
	p.nodes[i].out.add(func() []byte {
		p.mu.Lock()
		var drops []transport.Ref
		if number != p.number { // all have ended meanwhile
			p.mu.Unlock()
			return nil
		}
		tasks := p.batches[i]
		p.batches[i] = nil
		if i > 0 {
			drops = p.where.drops(i)
		}
		p.mu.Unlock()
		switch {
		case len(tasks) == 0:
			return nil
		case i > 0:
			return encode(kindRun, run{Job: number, Drops: drops, Tasks: tasks})
		}
		for k := range tasks {
			work.run(&tasks[k])
		}
		return nil
	})
}

// cancelled returns why t must not run, nil if it may.
func (p *placement) cancelled(t *graph.Task) *graph.Fault {
	if f := t.Tainted(); f != nil {
		p.outcome.Inherit(f)
		return f
	}
	if p.outcome.GoesOn(t.ID()) {
		return nil
	}
	return p.outcome.Why()
}

// ended takes the ends of tasks that a node has executed. What comes late, from a node
// that was given up, is no matter.
func (p *placement) ended(n *node, ends []end) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range ends {
		f := p.flying[graph.TaskID(e.ID)]
		if f == nil || f.node != n {
			continue
		}
		delete(p.flying, graph.TaskID(e.ID))
		i := p.index(n)
		p.room[i]++
		if len(e.Missing) > 0 {
			p.again(f.task, e)
			continue
		}
		// What a failed task has written is a version as well: its policy may be that
		// the failure does not matter.
		for k := range f.task.Len() {
			o := f.task.Operand(k)
			switch m := p.data[o.Datum]; {
			case o.Mode&graph.Out == 0 && e.Fault == nil:
				p.where.read(m, i)
			case o.Mode&graph.Out != 0 && first(f.task, k):
				p.where.written(m, i)
			}
		}
		f.task.Used(i, 0)
		if e.Fault != nil {
			p.fail(f.task, n, e.Fault)
		} else {
			p.end(f.task, graph.Done, nil)
		}
	}
	p.place()
}

// again sees to a task that a node could not begin because nobody gave it what the task
// reads. What the driver has itself, it can work with itself; the rest is lost, with the
// nodes that were to have it.
func (p *placement) again(t *graph.Task, e end) {
	for i := range t.Len() {
		o := t.Operand(i)
		k := p.data[o.Datum]
		if o.Mode&graph.In == 0 || !slices.Contains(e.Missing, p.where.data[k].ref) {
			continue
		}
		of := strings.Join(p.holders(k), ", ")
		if !p.where.absent(k) {
			p.outcome.Abort(&NodeLostError{Node: of, Err: errors.New(e.Why)})
		}
	}
	t.SetState(graph.Ready)
	p.queue.Direct(t, 0)
}

// first reports whether operand k is the first with its datum that t writes.
func first(t *graph.Task, k int) bool {
	for i := range k {
		if o := t.Operand(i); o.Datum == t.Operand(k).Datum && o.Mode&graph.Out != 0 {
			return false
		}
	}
	return true
}

// index returns the number of a node in the job.
func (p *placement) index(n *node) int {
	for i, x := range p.nodes {
		if x == n {
			return i
		}
	}
	return -1
}

// fail does what the policy of a task says that has failed on a node, for good: its
// retries were the node's. The caller holds mu.
func (p *placement) fail(t *graph.Task, n *node, why *fault) {
	action := graph.Fail
	if f := t.Failure(); f != nil {
		action = f.Then
	}
	if action == graph.Ignore {
		p.outcome.Ignore()
		p.end(t, graph.Done, nil)
		return
	}
	err := why.err(n.name, p.known.errs)
	e := &exec.TaskError{Task: t.ID(), Op: t.Op.OpName(), Version: why.Version, Worker: why.Worker, Attempts: why.Attempts, Err: err}
	if n.index > 0 {
		e.Node = n.name
	}
	// A task that heeds the end of the context fails with it, as one that has not begun.
	end := p.ctx.Err()
	late := end != nil && (why.Text == end.Error() || why.Text == context.Cause(p.ctx).Error())
	if late {
		p.outcome.Abort(context.Cause(p.ctx))
	}
	p.end(t, graph.Failed, p.outcome.Fail(&graph.Fault{Task: t.ID(), Err: e}, late, action == graph.Fail))
}

// end takes a task out of the graph, with the fault that those get who read what it was
// to write. The caller holds mu.
func (p *placement) end(t *graph.Task, s graph.State, f *graph.Fault) {
	freed := p.graph.End(t, s, f, nil)
	p.done++
	p.arrived(freed)
	p.news.Broadcast()
}

// lose sees to what a node has of the job that has gone: its tasks go to others if all
// that they need is elsewhere, too, or else the job fails.
func (p *placement) lose(n *node) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := p.index(n)
	if i < 0 || p.number == 0 || p.lost[i] {
		return
	}
	p.lost[i], p.batches[i] = true, nil
	gone := p.where.lost(i)
	if gone {
		p.outcome.Abort(p.gone(n))
	}
	for id, f := range p.flying {
		if f.node == n {
			delete(p.flying, id)
			f.task.SetState(graph.Ready)
			p.arrived([]*graph.Task{f.task})
		}
	}
	p.place()
}
