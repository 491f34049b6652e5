package cluster

import (
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// catalog is the data of a job: what the driver knows about each datum, and the name that nodes have for it.
// fleet.placing guards it.
type catalog struct {
	*fleet
	routes
	number       uint64  // of the job; 0 while it has no tasks in flight
	nodes        []*node // of the job, the driver first
	hasAgents    bool    // there are nodes that may be lost
	work         *work   // the job's work on this node
	data         *core.DataIndex
	entries      map[*core.Entry]bool
	homes        map[*core.Entry]*home  // of data that lie in the program's memory
	names        map[transport.Ref]bool // names in use
	earlyFetches int                    // fetches of fetchEarly in progress
	emptyRounds  int                    // rounds of fetchAllEarly in a row in which nothing came
	titles       map[[2]uint64]string   // names of matrices, by titleOf
}

// routes says how values of a job get from node to node if some pairs of nodes cannot talk to each
// other (routes.go). Callers hold fleet.placing.
type routes interface {
	// routeHome reports whether there is a route for a value to the driver, and if not how long to wait.
	// blocked puts a task aside if a node has no route to a value that the task reads.
	routeHome(e *core.Entry) (wait time.Duration, ok bool)
	blocked(t *graph.Task, node int) bool
	putAside(t *graph.Task, wait time.Duration)
	retryAside()
	// sourcesHome and sourcesFor return the nodes from which the driver, or another node, fetches a value.
	// noteHome and noteSuccess note that the value has come; fetchFailed and noteFailures note that it has
	// not.
	sourcesHome(e *core.Entry) givers
	sourcesFor(e *core.Entry, reader int, spreads bool) givers
	noteHome(from givers)
	noteSuccess(reader, giver int)
	fetchFailed(e *core.Entry, reader int, m missing, why error)
	noteFailures(e *core.Entry, reader int, givers []string, why error)
	whyLost(t *graph.Task) *NodeLostError
	// endRelayTask and loseRelays end the tasks of relays.
	endRelayTask(node int, m *end) bool
	loseRelays(node int)
}

// ensureEntry returns the entry of a datum. At the first use of the datum it makes the entry and publishes
// the value. The entry of a kept datum exists already: earlier jobs have left the datum on nodes.
func (c *catalog) ensureEntry(d *graph.Datum) *core.Entry {
	if e := c.data.Of(d); e != nil {
		return e
	}
	if e := c.kept[d.Value]; e != nil {
		c.data.Put(d, e)
		c.entries[e], e.Label, e.Datum = true, core.LabelOf(d), d
		c.titles[titleOf(e.Ref)] = d.Name
		e.ShowHolders(d)
		return e
	}
	r := transport.Ref{Job: c.number, Matrix: d.Key.Matrix, I: d.Key.I, J: d.Key.J}
	if r.Matrix == 0 || c.names[r] {
		r = c.newName(c.number)
	}
	e := &core.Entry{Ref: r, Facts: core.FactsOf(d.Value), Datum: d}
	e.Label, e.Sendable = core.LabelOf(d), c.known.canSend(e.Kind)
	c.titles[titleOf(r)] = d.Name
	h := &home{value: d.Value, retained: c.hasAgents, facts: e.Facts}
	c.data.Put(d, e)
	c.entries[e], c.homes[e], c.names[r] = true, h, true
	e.NoteHome(false)
	e.ShowHolders(d)
	c.work.store.adopt(r, h)
	return e
}

// invented is the least number of a matrix in a name that a driver invents.
const invented = 1 << 31

// newName returns an unused name of a job or a set, which no matrix has.
func (c *catalog) newName(of uint64) transport.Ref {
	c.lastName++
	return transport.Ref{Job: of, Matrix: invented | c.lastName>>31, I: int32(c.lastName & (1<<31 - 1)), J: -1}
}

// indexNamed returns the index of the last node of the job with a name, −1 if there is none.
func (c *catalog) indexNamed(name string) int {
	for i, n := range slices.Backward(c.nodes) {
		if n.name == name {
			return i
		}
	}
	return -1
}

// sendable reports whether other nodes can execute t: its op is not bound to a process, its
// parameter is plain, and other nodes know the types of its operands.
func (c *catalog) sendable(t *graph.Task) bool {
	op, ok := t.Op.(*versions.Op)
	if !ok || op.Bound || t.Shadowed() {
		return false
	}
	for i := range t.Len() {
		if !c.data.Of(t.Operand(i).Datum).Sendable {
			return false
		}
	}
	return true
}

// noNode returns the error of a task that none of some nodes can execute.
func (c *catalog) noNode(op *versions.Op, asks *versions.Constraints, nodes []*node) *NoNodeError {
	err := &NoNodeError{Op: op.OpName()}
	for _, n := range nodes {
		if c.unavailable(n) == nil {
			err.Nodes = append(err.Nodes, Unmet{n.name, n.offer.Unmet(op, asks)})
		}
	}
	return err
}

// nodeNames returns the names of nodes.
func (c *catalog) nodeNames(nodes []int) (names []string) {
	for _, i := range nodes {
		names = append(names, c.nodes[i].name)
	}
	return names
}

// index returns the number of a node in the job, −1 if the job does not have it.
func (c *catalog) index(n *node) int {
	if n.index < len(c.nodes) && c.nodes[n.index] == n {
		return n.index
	}
	return -1
}

// titleOf returns the key of a matrix in catalog.titles.
func titleOf(r transport.Ref) [2]uint64 { return [2]uint64{r.Job, uint64(r.Matrix)} }
