package cluster

import (
	"reflect"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// entry is a datum, and what the driver knows of its values. The order of tasks makes it
// simple: when a task that writes the datum has begun, nobody reads an older version any
// more, but for who makes again what was lost. What is used for each task comes first, so that it
// is in few lines of the cache.
type entry struct {
	datum   *graph.Datum  // by which the latest job knows it
	version uint32        // the latest: how many tasks have written the datum
	freed   uint32        // see made
	ref     transport.Ref // names the latest version
	holders []int         // the nodes that have it, the first to have it first
	few     [2]int        // memory for these
	vains   int           // how often it was asked of holders in vain
	users   int           // operands of tasks of the job that have not ended
	set     uint64        // of data that stay on nodes when the job ends; 0: of the program
	// copied, if not nil, is the name under which the holders have it: the first task
	// that writes it does so in a copy.
	copied *transport.Ref
	spots  []int     // nodes with a cap that were told to keep some version
	shares []share   // who gives the latest version to others
	made   []*record // how versions were made, nil: not known; that of version freed+1 is the first
	copyOf *entry    // which this one stands for where something is made again
	spare  bool      // it is a second copy, which makes room for what tasks need
	facts

	// home is the version in the program's memory, which is the driver's, if any is. The
	// driver computes elsewhere, so that it stays until the program wants a later one:
	// base is the first that made room for another.
	home, base stay
	second     second
}

// newEntry returns the entry of a datum of a set that nobody has.
func newEntry(set uint64, r transport.Ref) *entry {
	e := &entry{set: set, ref: r}
	e.holders = e.few[:0]
	return e
}

// second is a version that nodes keep beside the latest one, as a datum of another name:
// what is made again of later ones begins there.
type second struct {
	copy    *entry // nil if there is none
	version uint32
}

// stay is a version that stays on the driver, if it is there.
type stay struct {
	there   bool
	version uint32
	ref     transport.Ref
}

// facts is what other nodes have to know of a datum to make a value for it: the name of
// its type, and its shape. Both stay as they are, and the value may be on its way.
type facts struct {
	kind  string
	shape string
	known bool // others can make one
	label label
}

// factsOf returns the facts of a datum with that value.
func factsOf(value any) (f facts) {
	if s, ok := value.(versions.Shaped); ok {
		f.shape = string(s.Shape())
	}
	if value != nil {
		f.kind = reflect.TypeOf(value).String()
	}
	return f
}

// label is what a datum is to people and to policies.
type label struct {
	name  string
	key   graph.Key
	bytes int64
	owner int32
}

// labelOf returns the label of a datum, and set gives it to another one.
func labelOf(d *graph.Datum) label { return label{d.Name, d.Key, d.Bytes, d.Owner} }

func (l *label) set(d *graph.Datum) {
	d.Name, d.Key, d.Bytes, d.Owner = l.name, l.key, l.bytes, l.owner
}

// called returns what the datum is to people, as "A(3,2)".
func (e *entry) called() string {
	var d graph.Datum
	e.label.set(&d)
	return d.String()
}

// record is a task that has ended well: what makes its results again.
type record struct {
	job         uint64 // the how manieth of the driver
	id          graph.TaskID
	op          graph.Op
	params      any
	priority    int64
	retries     int
	timeout     time.Duration
	constraints any
	uses        []use
	few         [3]use // of most, so that a record is one piece of memory
}

// recordOf returns the record of a task, without its uses.
func recordOf(job uint64, t *graph.Task) *record {
	r := &record{job: job, id: t.ID(), op: t.Op, params: t.Params, priority: t.Priority, constraints: t.Constraints()}
	if f := t.Failure(); f != nil {
		r.retries, r.timeout = f.Retries, f.Timeout
	}
	r.uses = r.few[:0]
	return r
}

// use is an operand of a record.
type use struct {
	of      *entry
	version uint32 // that which was there when the task began
	mode    graph.Mode
}

// has reports whether a node has the latest version.
func (e *entry) has(node int) bool { return slices.Contains(e.holders, node) }

// unmade reports whether no task has written the datum, and it is not the program's: then
// it is zero, and made where it is needed.
func (e *entry) unmade() bool { return e.version == 0 && e.set != 0 }

// lost reports whether nobody has the latest version.
func (e *entry) lost() bool { return len(e.holders) == 0 && !e.unmade() }

// located returns the first node that has the latest version, −1 if there is none. E may be nil.
func (e *entry) located() int {
	if e == nil || len(e.holders) == 0 {
		return -1
	}
	return e.holders[0]
}

// show has policies know which nodes have the latest version of d, whose entry this is.
func (e *entry) show(d *graph.Datum) {
	var l graph.Locations
	for _, h := range e.holders {
		l |= 1 << uint(h)
	}
	d.SetAt(l)
}

// share is the part of a node that has the latest version of a datum, or is about to fetch it, in
// spreading it.
type share struct {
	node int
	// turn is when it can give the version to one more node, in times that a copy takes:
	// it gives one after the other, and begins when it has its own.
	turn int
	has  bool // it is a holder
}

// spreadLeast is the bytes of the smallest data that spread as a tree. To fetch smaller ones
// takes no longer than to wait for somebody else to do so.
const spreadLeast = 64 << 10

// from returns the nodes from which another one can fetch the latest version: first that
// which can give it the soonest, then the others that have it. Whole, if it is not nil, says
// from whom it can be had at all: here and below.
func (e *entry) from(whole func(node int) bool) []int {
	s := e.first(false, whole)
	if s == nil {
		return nil
	}
	s.turn++
	return e.behind(s.node, whole)
}

// fetched returns the same for a node that is going to fetch the version, and to give it to
// those that ask later. Soon says that the first has yet to get it. So a version that many
// want at once spreads as a tree, of which the node that made it serves the first few.
//
//	turn  0: made
//	      1: made ─► a
//	      2: made ─► b, a ─► c
//	      3: made ─► d, a ─► e, b ─► f, c ─► g
//
// Who waits for another one's fetch waits for one that was named before its own. A node
// begins its fetches in the order in which it is told of them, and what it is told of a job
// comes in the order in which it was named. So of the fetches of a job that have not ended
// the first to be named waits for none: there is no circle. Between jobs and drivers, which
// share the fetches that a node does at once, there may be one: it ends, as all such waits,
// after the time soonMost, and then a node is asked that has the version.
func (e *entry) fetched(node int, whole func(node int) bool) (from []int, soon bool) {
	first, soon := e.giver(node, whole)
	if first < 0 {
		return nil, false
	}
	return e.behind(first, whole), soon
}

// giver returns the first of those only, −1 if there is none.
func (e *entry) giver(node int, whole func(node int) bool) (first int, soon bool) {
	if !e.asked(node) {
		return e.takes(node, whole)
	}
	if s := e.first(false, whole); s != nil { // it is on its way
		return s.node, false
	}
	return -1, false
}

// takes has a node that has not been told of the version have a share in spreading it.
func (e *entry) takes(node int, whole func(node int) bool) (first int, soon bool) {
	s := e.first(e.label.bytes >= spreadLeast, whole)
	if s == nil {
		return -1, false
	}
	s.turn++
	first, soon = s.node, !s.has
	e.shares = append(e.shares, share{node: node, turn: s.turn})
	return first, soon
}

// first returns the share of the node that can give the version to one more the soonest, of
// those that have it, or also of those that are about to; nil if nobody can.
func (e *entry) first(soon bool, whole func(node int) bool) (best *share) {
	if len(e.holders) == 0 {
		return nil
	}
	least, have := 0, 0
	for i, s := range e.shares {
		if i == 0 || s.turn < least {
			least = s.turn
		}
		if s.has {
			have++
		}
	}
	for _, h := range e.holders {
		if have == len(e.holders) {
			break
		}
		i := slices.IndexFunc(e.shares, func(s share) bool { return s.node == h })
		if i < 0 {
			i, e.shares = len(e.shares), append(e.shares, share{h, least, false})
		}
		if !e.shares[i].has {
			e.shares[i].has = true
			have++
		}
	}
	for i := range e.shares {
		s := &e.shares[i]
		if !s.has && !soon || whole != nil && !whole(s.node) {
			continue
		}
		if best == nil || s.turn < best.turn || s.turn == best.turn && s.has && !best.has {
			best = s
		}
	}
	return best
}

// giversMost is how many nodes are named from which a version can be had.
const giversMost = 8

// behind returns a node, and others that have the latest version.
func (e *entry) behind(first int, whole func(node int) bool) []int {
	all := make([]int, 1, min(1+len(e.holders), giversMost))
	all[0] = first
	for _, h := range e.holders {
		if len(all) == giversMost {
			break
		}
		if h != first && (whole == nil || whole(h)) {
			all = append(all, h)
		}
	}
	return all
}

// asked reports whether a node is about to fetch the latest version.
func (e *entry) asked(node int) bool {
	return !e.has(node) && slices.ContainsFunc(e.shares, func(s share) bool { return s.node == node })
}

// leaves notes that a node has no part in spreading the latest version any more.
func (e *entry) leaves(node int) {
	e.shares = slices.DeleteFunc(e.shares, func(s share) bool { return s.node == node })
}

// name returns the name under which the holders have the latest version.
func (e *entry) name() transport.Ref {
	if e.copied != nil {
		return *e.copied
	}
	return e.ref
}

// read notes that a node has got the latest version.
func (e *entry) read(node int) {
	if e.has(node) || e.unmade() {
		return
	}
	e.holders = append(e.holders, node)
	for i := range e.shares {
		if s := &e.shares[i]; s.node == node {
			s.has = true
		}
	}
}

// at returns where a version is, under which name, if somebody has it.
func (e *entry) at(version uint32) (r transport.Ref, holders []int) {
	switch {
	case version == e.version && len(e.holders) > 0:
		return e.ref, e.holders
	case e.home.there && version == e.home.version:
		return e.home.ref, []int{0}
	case e.base.there && version == e.base.version:
		return e.base.ref, []int{0}
	case e.second.copy != nil && version == e.second.version && len(e.second.copy.holders) > 0:
		return e.second.copy.ref, e.second.copy.holders
	}
	return r, nil
}

// maker returns the task that made a version, nil if that is not known.
func (e *entry) maker(version uint32) *record {
	if version <= e.freed || int(version-e.freed) > len(e.made) {
		return nil
	}
	return e.made[version-e.freed-1]
}

// keeps reports whether a version stays where it is, whatever tasks do, on so many nodes
// that others may be lost: in the program's memory, or as second copies on two.
func (e *entry) keeps(version uint32, nodes int) bool {
	switch {
	case version == 0 && (e.set != 0 || e.home.there && e.home.version == 0):
		return true
	case e.base.there && version == e.base.version:
		return true
	}
	s := e.second
	return s.copy != nil && version == s.version && len(s.copy.holders) >= nodes
}

// brought notes that the latest version is in the program's memory now, and whether the
// driver keeps what was there.
func (e *entry) brought(kept bool) {
	e.read(0)
	if kept && !e.base.there && e.home.there && e.home.version != e.version {
		e.base = e.home
	}
	e.home = stay{true, e.version, e.ref}
}

// vain notes that the latest version was asked of some of its holders in vain, which do not have it,
// also if it is a second copy of what another entry stands for. Only what lies in the program's memory
// is there for sure.
func (e *entry) vain(of func(node int) bool) {
	e.gone(of)
	if x := e.copyOf; x != nil && x.ref == e.name() {
		x.gone(of)
	} else if x != nil && x.second.copy != nil && x.second.copy.ref == e.name() {
		x.second.copy.gone(of)
	}
}

// gone notes that some of its holders do not have it.
func (e *entry) gone(of func(node int) bool) {
	e.shares = slices.DeleteFunc(e.shares, func(s share) bool { return of(s.node) })
	e.holders = slices.DeleteFunc(e.holders, of)
	if e.home.there && e.home.version == e.version && !e.has(0) {
		e.holders = append(e.holders, 0)
	}
}

// drop notes that a node has nothing any more.
func (e *entry) drop(node int) {
	e.leaves(node)
	e.holders = slices.DeleteFunc(e.holders, func(h int) bool { return h == node })
}

// lose notes that a node is lost, with second copies.
func (e *entry) lose(node int) {
	e.drop(node)
	if e.second.copy != nil {
		e.second.copy.drop(node)
	}
}

// directory knows which nodes have which version of each datum. Nodes are numbered from 0,
// the driver. It is pure: who uses it holds fleet.placing.
type directory struct {
	stale [][]transport.Ref // by node: versions that nobody will read, to be dropped there
	lost  nodeSet           // nodes that are lost, for good
	paths paths
}

// lose notes that a node is lost: nothing is to be dropped there any more.
func (d *directory) lose(node int) {
	d.lost.set(node, true)
	d.paths.lose(node)
	d.drops(node)
}

// written notes that a node has made the next version of e, as r says unless that is nil.
// What others have of the one before is stale.
func (d *directory) written(e *entry, node int, r *record) {
	for _, h := range e.holders {
		if h != node {
			d.drop(h, e.ref)
		}
	}
	e.makes(r)
	e.version++
	e.ref.Version++
	e.holders = append(e.holders[:0], node)
	e.shares = e.shares[:0]
}

// makes notes what makes the next version again, nil if nothing does.
func (e *entry) makes(r *record) {
	if r == nil && e.freed == e.version { // nothing is known: as a rule, and made is in another line
		e.freed++
		return
	}
	if len(e.made) == 0 {
		e.freed = e.version
		if r == nil {
			e.freed++
			return
		}
	}
	for len(e.made) < int(e.version-e.freed) {
		e.made = append(e.made, nil)
	}
	e.made = append(e.made[:e.version-e.freed], r)
}

// drop notes that a node need not keep a version.
func (d *directory) drop(node int, r transport.Ref) {
	if d.lost.has(node) {
		return
	}
	for len(d.stale) <= node {
		d.stale = append(d.stale, nil)
	}
	d.stale[node] = append(d.stale[node], r)
}

// drops returns what a node is to drop, once.
func (d *directory) drops(node int) (all []transport.Ref) {
	if node < len(d.stale) {
		all, d.stale[node] = d.stale[node], nil
	}
	return all
}

// again has the memory of what drops has returned be used again.
func (d *directory) again(node int, all []transport.Ref) {
	if node < len(d.stale) && d.stale[node] == nil {
		d.stale[node] = all[:0]
	}
}

// over forgets what a node was to drop of a job that is over: it drops all of it.
func (d *directory) over(node int, job uint64) {
	if node < len(d.stale) {
		d.stale[node] = slices.DeleteFunc(d.stale[node], func(r transport.Ref) bool { return r.Job == job })
	}
}

// foremost returns the first operand of t of the same datum as operand k.
func foremost(t *graph.Task, k int) int {
	for i := range k {
		if t.Operand(i).Datum == t.Operand(k).Datum {
			return i
		}
	}
	return k
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
