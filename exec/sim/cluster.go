package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// Cluster is an exec.Keeper on several nodes in virtual time, as cluster.Driver is in real time.
// It is for one goroutine.
//
//	Submit ─► driver: graph, core ─► Run, in a batch ─► node: values from others ─► gate ─► crew
//	          driver: graph, core ◄─ Ended, in a batch ◄──────────────────────────── ends ◄──┘
//
// The driver does one thing at a time; what comes meanwhile waits.
type Cluster struct {
	*world
	core       *cluster.Core
	nodes      []*node
	values     []value // by their numbers
	inbox      []ended
	due        bool // the inbox is going to be looked at
	needs      []cluster.Need
	dirty      []int // nodes that have got something to be sent
	freed      []*graph.Task
	spare      *execution
	spareFetch *fetch
}

// ended is a message of a node to the driver.
type ended struct {
	node  *node
	ends  []end
	flows []flow
}

// end is the end of a task.
type end struct {
	task graph.TaskID
	took float64
	back bool
}

// flow is a value that has come.
type flow struct {
	from  int
	bytes int64
	took  float64
}

// NewCluster returns a runtime on the nodes of a machine, the driver's the first. The error is
// a *MachineError.
func NewCluster(opt Options) (*Cluster, error) {
	w, err := newWorld(opt)
	if err != nil {
		return nil, err
	}
	o := opt.Nodes
	o.Idle = w.m.Apart
	s := &Cluster{world: w, core: cluster.NewCore(o)}
	hosts := map[string]*host{}
	of := map[*Kind]*speeds{}
	for _, g := range w.m.Nodes {
		k := w.m.kind(g.Kind)
		if of[k] == nil {
			of[k] = newSpeeds(k)
		}
		for range g.Count {
			h := hosts[g.Host]
			if h == nil {
				if h = newHost(w, k); g.Host != "" {
					hosts[g.Host] = h
				}
			}
			s.nodes = append(s.nodes, s.newNode(of[k], h))
		}
	}
	for i, n := range s.nodes {
		k := n.crew.speeds.kind
		s.core.Enter(i, k.Memory, []cluster.Kind{{Workers: k.Tasks(), Target: *n.crew.speeds.target}}, w.selector)
	}
	s.core.Renew()
	return s, nil
}

// Keep implements [exec.Keeper].
func (s *Cluster) Keep(values []versions.Shaped) (exec.Kept, error) {
	if s.closed {
		return nil, exec.ErrClosed
	}
	for _, v := range values {
		s.core.Keep(v)
	}
	return &kept{s, values}, nil
}

// kept is an [exec.Kept].
type kept struct {
	s      *Cluster
	values []versions.Shaped
}

// Fetch implements [exec.Kept]: there is nothing.
func (*kept) Fetch(context.Context, versions.Shaped, versions.Value) error { return nil }

// Locate implements [exec.Kept].
func (k *kept) Locate(values []versions.Shaped) []int {
	at := make([]int, len(values))
	for i, v := range values {
		at[i] = k.s.core.Locate(v)
	}
	return at
}

// Release implements [exec.Kept].
func (k *kept) Release() {
	for _, v := range k.values {
		k.s.core.Release(v)
	}
	k.values = nil
	k.s.dropAll()
}

// dropAll has all nodes drop what they are to drop.
func (s *Cluster) dropAll() {
	for _, n := range s.nodes {
		n.drop()
	}
}

// datum returns the number of a datum.
func (s *Cluster) datum(d *graph.Datum) int {
	k := s.core.Datum(d)
	if k == len(s.values) {
		v := value{bytes: d.Bytes}
		if !s.core.Unmade(k) {
			v.nodes = append(v.nodes, 0)
		}
		s.values = append(s.values, v)
	}
	return k
}

// place has nodes given tasks as long as they have room.
func (s *Cluster) place() {
	cost := s.m.Costs.Give
	for t, i := range s.core.Gives() {
		s.needs = s.core.Give(t, i, s.needs[:0])
		cost := cost
		if s.opt.Decided != nil {
			cost += s.opt.Decided()
		}
		s.worked += cost
		s.free += cost
		n, e := s.nodes[i], s.spare
		if e == nil {
			e = &execution{}
		} else {
			s.spare = e.next
		}
		*e = execution{task: t, needs: append(e.needs[:0], s.needs...)}
		if len(n.batch) == 0 {
			s.dirty = append(s.dirty, i)
		}
		n.batch = append(n.batch, e)
	}
	for _, t := range s.core.Unfit() {
		s.fail(fmt.Errorf("sim: no node can execute task %d, %s, or has the memory for it", t.ID(), t.Op.OpName()))
	}
	for _, i := range s.dirty {
		s.nodes[i].send()
	}
	s.dirty = s.dirty[:0]
}

// hears has the driver take a message when it comes to it.
func (s *Cluster) hears(m ended) {
	s.inbox = append(s.inbox, m)
	s.look()
}

// look has the driver look at its inbox as soon as it can.
func (s *Cluster) look() {
	if !s.due && len(s.inbox) > 0 {
		s.due = true
		s.calendar.note(max(s.now, s.free), s, 0)
	}
}

// happens implements [handler]: the driver looks at its inbox.
func (s *Cluster) happens(uint64) {
	s.due = false
	if s.free > s.now { // the program was faster
		s.look()
		return
	}
	m := s.inbox[0]
	s.inbox = s.inbox[1:]
	s.take(m)
	s.look()
}

// take takes the ends of tasks.
func (s *Cluster) take(m ended) {
	s.works(s.m.Costs.Message + float64(len(m.ends))*s.m.Costs.End)
	id := m.node.id
	s.core.Heard(id, len(m.ends), duration(s.now))
	for _, f := range m.flows {
		s.core.Moved(f.from, id, f.bytes, duration(f.took))
	}
	for _, e := range m.ends {
		if e.back {
			if e.task == 0 {
				s.core.Answered(id)
			} else {
				s.core.Back(id, e.task)
			}
			continue
		}
		t := s.core.Ended(id, e.task, max(duration(e.took), time.Nanosecond))
		if t == nil {
			continue
		}
		j := t.Graph().Owner.(*job)
		s.freed = j.end(t, s.freed[:0])
		s.core.Ready(s.freed, id)
		clear(s.freed)
	}
	m.node.old = m
	s.place()
	s.core.Recalls(func(i int, tasks []uint64, most int) {
		n := s.nodes[i]
		s.calendar.note(s.free+n.latency(), &recall{n, tasks, most}, 0)
	})
}

// recall is a message that asks a node for tasks.
type recall struct {
	n     *node
	tasks []uint64
	most  int
}

// happens implements [handler].
func (r *recall) happens(uint64) { r.n.giveBack(r.tasks, r.most) }

// NewJob implements [exec.Runtime]. There is one job at a time.
func (s *Cluster) NewJob(ctx context.Context) exec.Job {
	j := &clusterJob{s: s}
	j.begin(s.world, ctx)
	j.ready = func(tasks []*graph.Task) {
		s.core.Ready(tasks, -1)
		s.place()
	}
	return j
}

// clusterJob is an [exec.Job] on several nodes.
type clusterJob struct {
	job
	s *Cluster
}

// Submit implements [exec.Job].
func (j *clusterJob) Submit(spec *graph.Spec) (graph.TaskID, error) {
	spec.Check()
	s := j.s
	if err := j.admit(); err != nil {
		return 0, err
	}
	s.until(max(s.now, s.free))
	for i := range spec.Operands {
		s.datum(spec.Operands[i].Datum)
	}
	s.works(s.m.Costs.Driver)
	s.core.Unseal()
	s.core.Submitted(spec)
	t, ready := j.graph.Add(spec)
	j.count++
	id := t.ID()
	if ready {
		j.one[0] = t
		j.ready(j.one[:])
	}
	return id, j.Err()
}

// Wait implements [exec.Job]: it brings what lies in the program's memory there.
func (j *clusterJob) Wait() error {
	s := j.s
	s.core.Seal()
	j.finish()
	if j.Err() != nil {
		return j.Err()
	}
	home, left := s.nodes[0], 0
	for x := range s.core.Late() {
		if v := &s.values[x.Datum]; !v.has(0, x.Version) {
			left++
			home.fetch(v, x).then = func() { left-- }
		}
	}
	for left > 0 && j.Err() == nil && s.step() {
	}
	s.core.Over()
	s.dropAll()
	return j.Err()
}

// Recording returns what was recorded so far.
func (s *Cluster) Recording() *trace.Recording {
	r := s.world.Recording()
	for i, n := range s.nodes {
		r.Nodes = append(r.Nodes, trace.NodeRows{Name: name(i), First: n.crew.first, Workers: len(n.crew.workers)})
	}
	return r
}
