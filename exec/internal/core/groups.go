package core

import (
	"cmp"
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
)

// Group is a task of several ranks: a task of the graph for each rank. They begin together, each on a node of its
// own.
//
//	aside ─► ready, all ─► sent, each to a node, where it waits for its operands ─► arrived, all ─► begun ─► ended
//	  ▲        ▲             └─► one cannot go on: the others are called back ─┐
//	  └────────┴───────────────────────────────────────────────────────────────┘
//
// A node has at most one rank at a time, of any group. So ranks wait only for tasks of no group, which end, and not
// for one another. Groups that are ready get nodes in the order in which they were submitted.
type Group struct {
	Number uint64       // of this choice of nodes
	Nodes  []int        // by rank, once they are chosen
	Fault  *graph.Fault // of the first rank that failed
	Begun  bool
	Called bool // ranks that were sent are called back, or to stop
	ranks  []rank
	counts [ended + 1]int // ranks by state
}

type rank struct {
	task  *graph.Task // nil once it has ended
	state rankState
}

// rankState is where a rank is.
type rankState uint8

const (
	aside rankState = iota // it waits for tasks before it, or for what it reads
	ready
	sent
	arrived // it waits on its node for the others
	ended
)

// Groups is the groups of a job, as far as they have not ended. It is pure.
type Groups struct {
	Open []*Group // in the order of submission
	Busy map[int]bool
	News bool // a rank has become ready since the caller has set it to false
	of   map[graph.TaskID]place
}

type place struct {
	group *Group
	rank  int
}

// Add adds a group of some tasks, by rank, none of which is ready.
func (x *Groups) Add(tasks []*graph.Task) {
	g := &Group{}
	for i, t := range tasks {
		g.ranks = append(g.ranks, rank{task: t})
		if x.of == nil {
			x.of = map[graph.TaskID]place{}
		}
		x.of[t.ID()] = place{g, i}
	}
	g.counts[aside] = len(tasks)
	x.Open = append(x.Open, g)
}

// Of returns the group of a task and its rank, nil if it has none.
func (x *Groups) Of(t *graph.Task) (*Group, int) {
	p := x.of[t.ID()]
	return p.group, p.rank
}

// set notes that a rank is in another state. A rank that is on no node any more frees the node.
func (x *Groups) set(g *Group, i int, s rankState) {
	r := &g.ranks[i]
	was := r.state == sent || r.state == arrived
	is := s == sent || s == arrived
	switch {
	case is && !was:
		x.Busy[g.Nodes[i]] = true
	case was && !is:
		delete(x.Busy, g.Nodes[i])
	}
	g.counts[r.state]--
	g.counts[s]++
	r.state = s
}

// Ready notes that a task is ready, and reports whether it has a group.
func (x *Groups) Ready(t *graph.Task) bool {
	g, i := x.Of(t)
	if g == nil {
		return false
	}
	x.set(g, i, ready)
	x.News = true
	return true
}

// Aside notes that a ready task is about to be sent to its node. It is aside if that fails.
func (x *Groups) Aside(g *Group, i int) { x.set(g, i, aside) }

// Sent notes that a node has a task.
func (x *Groups) Sent(g *Group, i int) { x.set(g, i, sent) }

// Arrived notes that a task can begin on the node to which the group of a number has sent it. The report may come after
// the task has gone back.
func (x *Groups) Arrived(id graph.TaskID, number uint64) {
	if p := x.of[id]; p.group != nil && p.group.ranks[p.rank].state == sent && p.group.Number == number {
		x.set(p.group, p.rank, arrived)
	}
}

// End notes that a task has ended, with a fault if there is one.
func (x *Groups) End(t *graph.Task, f *graph.Fault) {
	g, i := x.Of(t)
	if g == nil {
		return
	}
	if g.Fault == nil && f != nil {
		g.Fault, x.News = f, true
	}
	x.set(g, i, ended)
	g.ranks[i].task = nil
	delete(x.of, t.ID())
	if g.counts[ended] == len(g.ranks) {
		x.Open = slices.DeleteFunc(x.Open, func(o *Group) bool { return o == g })
	}
}

// Complete reports whether all ranks that have not ended are ready.
func (g *Group) Complete() bool {
	return g.counts[ready] > 0 && g.counts[ready]+g.counts[ended] == len(g.ranks)
}

// Gathered reports whether all ranks can begin on their nodes.
func (g *Group) Gathered() bool { return !g.Begun && g.counts[arrived] == len(g.ranks) }

// Torn reports whether some ranks are on nodes, and wait in vain for others.
func (g *Group) Torn() bool {
	n := g.Away()
	return n > 0 && (g.Fault != nil || !g.Begun && n < len(g.ranks))
}

// Away returns the number of ranks that are on nodes.
func (g *Group) Away() int { return g.counts[sent] + g.counts[arrived] }

// Tasks returns the tasks that have not ended.
func (g *Group) Tasks() (all []*graph.Task) {
	for _, r := range g.ranks {
		if r.task != nil {
			all = append(all, r.task)
		}
	}
	return all
}

// There yields the ranks that are on nodes.
func (g *Group) There(yield func(node int, id graph.TaskID) bool) {
	for i, r := range g.ranks {
		if (r.state == sent || r.state == arrived) && !yield(g.Nodes[i], r.task.ID()) {
			return
		}
	}
}

// NodesFor returns a node for each of some tasks, no two of them the same, from those that takes allows and, if
// room is set, have memory for the task. The node that has most of what a task reads comes first, then the one
// with the fewest tasks. It returns nil if there are no such nodes.
func (s *Scheduler) NodesFor(tasks []*graph.Task, takes func(node int) bool, room bool) []int {
	held := make([]map[int]int64, len(tasks))
	for k, t := range tasks {
		held[k] = map[int]int64{}
		s.heldBytes(t, func(node int, bytes int64) { held[k][node] += bytes })
	}
	can := func(k, i int) bool {
		return !s.Nodes[i].lost && takes(i) && s.Fit.can(tasks[k], i) && (!room || s.fitsMemory(tasks[k], i))
	}
	return matchRanks(len(tasks), len(s.Nodes), can, func(k, a, b int) int {
		return cmp.Or(cmp.Compare(held[k][b], held[k][a]), cmp.Compare(s.Nodes[a].Tasks, s.Nodes[b].Tasks))
	})
}

// Queued returns the number of tasks that are ready and no node's.
func (s *Scheduler) Queued() int { return s.queue.Len() + s.waiting }

// HasNodesFor reports whether tasks with these questions could run at once, each on a node of its own.
func (s *Scheduler) HasNodesFor(all []Question) bool {
	can := func(k, i int) bool {
		a := s.Fit.AskFor(all[k])
		return !s.Nodes[i].lost && (a.Nodes[i] || i == 0 && a.DriverOnly)
	}
	return matchRanks(len(all), len(s.Nodes), can, func(int, int, int) int { return 0 }) != nil
}

// matchRanks returns for each of k ranks a node below n, no two of them the same, nil if there are none. It prefers
// for each rank the nodes that are first in its order. Ranks that find their node taken have others move on, by
// augmenting paths.
func matchRanks(k, n int, can func(rank, node int) bool, order func(rank, a, b int) int) []int {
	of, owner := make([]int, k), make([]int, n)
	for i := range owner {
		owner[i] = -1
	}
	nodes := make([][]int, k)
	var seen []bool
	var find func(r int) bool
	find = func(r int) bool {
		if nodes[r] == nil {
			for i := range n {
				if can(r, i) {
					nodes[r] = append(nodes[r], i)
				}
			}
			slices.SortStableFunc(nodes[r], func(a, b int) int { return order(r, a, b) })
		}
		for _, i := range nodes[r] { // a free one first
			if owner[i] < 0 {
				owner[i], of[r] = r, i
				return true
			}
		}
		for _, i := range nodes[r] {
			if seen[i] {
				continue
			}
			seen[i] = true
			if find(owner[i]) {
				owner[i], of[r] = r, i
				return true
			}
		}
		return false
	}
	for r := range k {
		seen = make([]bool, n)
		if !find(r) {
			return nil
		}
	}
	return of
}
