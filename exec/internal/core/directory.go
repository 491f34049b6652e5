package core

import (
	"reflect"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// Entry is a datum, and what the driver knows of its values. The order of tasks makes it
// simple: when a task that writes the datum has begun, nobody reads an older version any
// more, but for tasks that make again what was lost. What is used for each task comes first, so that it
// is in few lines of the cache.
type Entry struct {
	Datum   *graph.Datum  // by which the latest job knows it
	Version uint32        // the latest: how many tasks have written the datum
	freed   uint32        // see made
	Ref     transport.Ref // names the latest version
	Holders []int         // the nodes that have it, the first to have it first
	few     [2]int        // memory for these
	Vains   int           // how often it was asked of holders in vain
	Users   int           // operands of tasks of the job that have not ended
	Set     uint64        // of data that stay on nodes when the job ends; 0: of the program
	// copied, if not nil, is the name under which the holders have it: the first task
	// that writes it does so in a copy.
	Copied *transport.Ref
	spots  []int     // nodes with a cap that were told to keep some version
	Shares []share   // who gives the latest version to others
	Made   []*Record // how versions were made, nil: not known; that of version freed+1 is the first
	CopyOf *Entry    // which this one stands for where something is made again
	Spare  bool      // it is a second copy, which makes room for what tasks need
	Facts

	// home is the version in the program's memory, which is the driver's, if any is. The
	// driver computes elsewhere, so that it stays until the program wants a later one:
	// base is the first that made room for another.
	Home, Base stay
	Second     Second
}

// newEntry returns the entry of a datum of a set that nobody has.
func newEntry(set uint64, r transport.Ref) *Entry {
	e := &Entry{Set: set, Ref: r}
	e.Holders = e.few[:0]
	return e
}

// Second is a version that nodes keep beside the latest one, as a datum of another name:
// what is made again of later ones begins there.
type Second struct {
	Copy    *Entry // nil if there is none
	Version uint32
}

// stay is a version that stays on the driver, if it is there.
type stay struct {
	There   bool
	Version uint32
	ref     transport.Ref
}

// Facts is what other nodes have to know of a datum to make a value for it: the name of
// its type, and its shape. Both stay as they are, and the value may be on its way.
type Facts struct {
	Kind  string
	Shape string
	Known bool // others can make one
	Label Label
}

// FactsOf returns the facts of a datum with that value.
func FactsOf(value any) (f Facts) {
	if s, ok := value.(versions.Shaped); ok {
		f.Shape = string(s.Shape())
	}
	if value != nil {
		f.Kind = reflect.TypeOf(value).String()
	}
	return f
}

// Label is what a datum is to people and to policies.
type Label struct {
	name  string
	key   graph.Key
	Bytes int64
	owner int32
}

// LabelOf returns the label of a datum, and set gives it to another one.
func LabelOf(d *graph.Datum) Label { return Label{d.Name, d.Key, d.Bytes, d.Owner} }

func (l *Label) set(d *graph.Datum) {
	d.Name, d.Key, d.Bytes, d.Owner = l.name, l.key, l.Bytes, l.owner
}

// Called returns what the datum is to people, as "A(3,2)".
func (e *Entry) Called() string {
	var d graph.Datum
	e.Label.set(&d)
	return d.String()
}

// Record is a task that has ended well: what makes its results again.
type Record struct {
	Job         uint64 // the how manieth of the driver
	Id          graph.TaskID
	op          graph.Op
	params      any
	priority    int64
	Retries     int
	Timeout     time.Duration
	constraints any
	Uses        []Use
	few         [3]Use // of most, so that a record is one piece of memory
}

// RecordOf returns the record of a task, without its uses.
func RecordOf(job uint64, t *graph.Task) *Record {
	r := &Record{Job: job, Id: t.ID(), op: t.Op, params: t.Params, priority: t.Priority, constraints: t.Constraints()}
	if f := t.Failure(); f != nil {
		r.Retries, r.Timeout = f.Retries, f.Timeout
	}
	r.Uses = r.few[:0]
	return r
}

// Use is an operand of a record.
type Use struct {
	Of      *Entry
	Version uint32 // that which was there when the task began
	Mode    graph.Mode
}

// Has reports whether a node has the latest version.
func (e *Entry) Has(node int) bool { return slices.Contains(e.Holders, node) }

// Unmade reports whether no task has written the datum, and it is not the program's: then
// it is zero, and made where it is needed.
func (e *Entry) Unmade() bool { return e.Version == 0 && e.Set != 0 }

// Lost reports whether nobody has the latest version.
func (e *Entry) Lost() bool { return len(e.Holders) == 0 && !e.Unmade() }

// Located returns the first node that has the latest version, −1 if there is none. E may be nil.
func (e *Entry) Located() int {
	if e == nil || len(e.Holders) == 0 {
		return -1
	}
	return e.Holders[0]
}

// Show has policies know which nodes have the latest version of d, whose entry this is.
func (e *Entry) Show(d *graph.Datum) {
	var l graph.Locations
	for _, h := range e.Holders {
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

// From returns the nodes from which another one can fetch the latest version: first that
// which can give it the soonest, then the others that have it. Whole, if it is not nil, says
// from whom it can be had at all: here and below.
func (e *Entry) From(whole func(node int) bool) []int {
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
func (e *Entry) fetched(node int, whole func(node int) bool) (from []int, soon bool) {
	first, soon := e.giver(node, whole)
	if first < 0 {
		return nil, false
	}
	return e.behind(first, whole), soon
}

// giver returns the first of those only, −1 if there is none.
func (e *Entry) giver(node int, whole func(node int) bool) (first int, soon bool) {
	if !e.asked(node) {
		return e.takes(node, whole)
	}
	if s := e.first(false, whole); s != nil { // it is on its way
		return s.node, false
	}
	return -1, false
}

// takes has a node that has not been told of the version have a share in spreading it.
func (e *Entry) takes(node int, whole func(node int) bool) (first int, soon bool) {
	s := e.first(e.Label.Bytes >= spreadLeast, whole)
	if s == nil {
		return -1, false
	}
	s.turn++
	first, soon = s.node, !s.has
	e.Shares = append(e.Shares, share{node: node, turn: s.turn})
	return first, soon
}

// first returns the share of the node that can give the version to one more the soonest, of
// those that have it, or also of those that are about to; nil if nobody can.
func (e *Entry) first(soon bool, whole func(node int) bool) (best *share) {
	if len(e.Holders) == 0 {
		return nil
	}
	least, have := 0, 0
	for i, s := range e.Shares {
		if i == 0 || s.turn < least {
			least = s.turn
		}
		if s.has {
			have++
		}
	}
	for _, h := range e.Holders {
		if have == len(e.Holders) {
			break
		}
		i := slices.IndexFunc(e.Shares, func(s share) bool { return s.node == h })
		if i < 0 {
			i, e.Shares = len(e.Shares), append(e.Shares, share{h, least, false})
		}
		if !e.Shares[i].has {
			e.Shares[i].has = true
			have++
		}
	}
	for i := range e.Shares {
		s := &e.Shares[i]
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
func (e *Entry) behind(first int, whole func(node int) bool) []int {
	all := make([]int, 1, min(1+len(e.Holders), giversMost))
	all[0] = first
	for _, h := range e.Holders {
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
func (e *Entry) asked(node int) bool {
	return !e.Has(node) && slices.ContainsFunc(e.Shares, func(s share) bool { return s.node == node })
}

// Leaves notes that a node has no part in spreading the latest version any more.
func (e *Entry) Leaves(node int) {
	e.Shares = slices.DeleteFunc(e.Shares, func(s share) bool { return s.node == node })
}

// Name returns the name under which the holders have the latest version.
func (e *Entry) Name() transport.Ref {
	if e.Copied != nil {
		return *e.Copied
	}
	return e.Ref
}

// Read notes that a node has got the latest version.
func (e *Entry) Read(node int) {
	if e.Has(node) || e.Unmade() {
		return
	}
	e.Holders = append(e.Holders, node)
	for i := range e.Shares {
		if s := &e.Shares[i]; s.node == node {
			s.has = true
		}
	}
}

// At returns where a version is, under which name, if somebody has it.
func (e *Entry) At(version uint32) (r transport.Ref, holders []int) {
	switch {
	case version == e.Version && len(e.Holders) > 0:
		return e.Ref, e.Holders
	case e.Home.There && version == e.Home.Version:
		return e.Home.ref, []int{0}
	case e.Base.There && version == e.Base.Version:
		return e.Base.ref, []int{0}
	case e.Second.Copy != nil && version == e.Second.Version && len(e.Second.Copy.Holders) > 0:
		return e.Second.Copy.Ref, e.Second.Copy.Holders
	}
	return r, nil
}

// Maker returns the task that made a version, nil if that is not known.
func (e *Entry) Maker(version uint32) *Record {
	if version <= e.freed || int(version-e.freed) > len(e.Made) {
		return nil
	}
	return e.Made[version-e.freed-1]
}

// keeps reports whether a version stays where it is, whatever tasks do, on so many nodes
// that others may be lost: in the program's memory, or as second copies on two.
func (e *Entry) keeps(version uint32, nodes int) bool {
	switch {
	case version == 0 && (e.Set != 0 || e.Home.There && e.Home.Version == 0):
		return true
	case e.Base.There && version == e.Base.Version:
		return true
	}
	s := e.Second
	return s.Copy != nil && version == s.Version && len(s.Copy.Holders) >= nodes
}

// Brought notes that the latest version is in the program's memory now, and whether the
// driver keeps what was there.
func (e *Entry) Brought(kept bool) {
	e.Read(0)
	if kept && !e.Base.There && e.Home.There && e.Home.Version != e.Version {
		e.Base = e.Home
	}
	e.Home = stay{true, e.Version, e.Ref}
}

// Vain notes that the latest version was asked of some of its holders in vain, which do not have it,
// also if it is a second copy of what another entry stands for. Only what lies in the program's memory
// is there for sure.
func (e *Entry) Vain(of func(node int) bool) {
	e.gone(of)
	if x := e.CopyOf; x != nil && x.Ref == e.Name() {
		x.gone(of)
	} else if x != nil && x.Second.Copy != nil && x.Second.Copy.Ref == e.Name() {
		x.Second.Copy.gone(of)
	}
}

// gone notes that some of its holders do not have it.
func (e *Entry) gone(of func(node int) bool) {
	e.Shares = slices.DeleteFunc(e.Shares, func(s share) bool { return of(s.node) })
	e.Holders = slices.DeleteFunc(e.Holders, of)
	if e.Home.There && e.Home.Version == e.Version && !e.Has(0) {
		e.Holders = append(e.Holders, 0)
	}
}

// Drop notes that a node has nothing any more.
func (e *Entry) Drop(node int) {
	e.Leaves(node)
	e.Holders = slices.DeleteFunc(e.Holders, func(h int) bool { return h == node })
}

// Lose notes that a node is lost, with second copies.
func (e *Entry) Lose(node int) {
	e.Drop(node)
	if e.Second.Copy != nil {
		e.Second.Copy.Drop(node)
	}
}

// Directory knows which nodes have which version of each datum. Nodes are numbered from 0,
// the driver. It is pure: who uses it holds fleet.placing.
type Directory struct {
	Stale [][]transport.Ref // by node: versions that nobody will read, to be dropped there
	lost  nodeSet           // nodes that are lost, for good
	Paths paths
}

// Lose notes that a node is lost: nothing is to be dropped there any more.
func (d *Directory) Lose(node int) {
	d.lost.set(node, true)
	d.Paths.lose(node)
	d.Drops(node)
}

// Written notes that a node has made the next version of e, as r says unless that is nil.
// What others have of the one before is stale.
func (d *Directory) Written(e *Entry, node int, r *Record) {
	for _, h := range e.Holders {
		if h != node {
			d.Drop(h, e.Ref)
		}
	}
	e.makes(r)
	e.Version++
	e.Ref.Version++
	e.Holders = append(e.Holders[:0], node)
	e.Shares = e.Shares[:0]
}

// makes notes what makes the next version again, nil if nothing does.
func (e *Entry) makes(r *Record) {
	if r == nil && e.freed == e.Version { // nothing is known: as a rule, and made is in another line
		e.freed++
		return
	}
	if len(e.Made) == 0 {
		e.freed = e.Version
		if r == nil {
			e.freed++
			return
		}
	}
	for len(e.Made) < int(e.Version-e.freed) {
		e.Made = append(e.Made, nil)
	}
	e.Made = append(e.Made[:e.Version-e.freed], r)
}

// Drop notes that a node need not keep a version.
func (d *Directory) Drop(node int, r transport.Ref) {
	if d.lost.has(node) {
		return
	}
	for len(d.Stale) <= node {
		d.Stale = append(d.Stale, nil)
	}
	d.Stale[node] = append(d.Stale[node], r)
}

// Drops returns what a node is to drop, once.
func (d *Directory) Drops(node int) (all []transport.Ref) {
	if node < len(d.Stale) {
		all, d.Stale[node] = d.Stale[node], nil
	}
	return all
}

// again has the memory of what drops has returned be used again.
func (d *Directory) again(node int, all []transport.Ref) {
	if node < len(d.Stale) && d.Stale[node] == nil {
		d.Stale[node] = all[:0]
	}
}

// Over forgets what a node was to drop of a job that is over: it drops all of it.
func (d *Directory) Over(node int, job uint64) {
	if node < len(d.Stale) {
		d.Stale[node] = slices.DeleteFunc(d.Stale[node], func(r transport.Ref) bool { return r.Job == job })
	}
}

// Foremost returns the first operand of t of the same datum as operand k.
func Foremost(t *graph.Task, k int) int {
	for i := range k {
		if t.Operand(i).Datum == t.Operand(k).Datum {
			return i
		}
	}
	return k
}

// First reports whether operand k is the first with its datum that t writes.
func First(t *graph.Task, k int) bool {
	for i := range k {
		if o := t.Operand(i); o.Datum == t.Operand(k).Datum && o.Mode&graph.Out != 0 {
			return false
		}
	}
	return true
}
