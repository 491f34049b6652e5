package core

import (
	"reflect"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// Entry is a datum with what the driver knows of its values. Tasks on a datum are ordered: when a
// task that writes it has begun, no task reads an older version any more, except tasks that compute
// lost data again. The fields of every task come first, so that they share few cache lines.
type Entry struct {
	Datum         *graph.Datum  // the datum in the latest job
	Version       uint32        // the latest: the number of tasks that have written the datum
	forgotten     uint32        // versions up to this one have no record in Makers
	Ref           transport.Ref // names the latest version
	Holders       []int         // nodes that have it, in the order in which they got it
	few           [2]int        // first memory of Holders
	FailedFetches int           // how often its holders could not give it
	Users         int           // operands of tasks of the job that have not ended
	Set           uint64        // the set of a kept datum; 0: the datum is the program's
	// CopiedFrom, if not nil, is the name of the version at the holders. The first task that writes
	// this datum does so in a copy.
	CopiedFrom *transport.Ref
	cappedAt   []int      // nodes with a cap on memory that keep some version
	Spreaders  []spreader // nodes that give the latest version to others
	Makers     []*Record  // Makers[i] made version forgotten+1+i; nil if that is not known
	StandsFor  *Entry     // the lost datum for which this is a stand-in
	Evictable  bool       // a replica, which makes room for tasks
	Facts

	// Home is the version in the program's memory. The driver computes elsewhere, so it stays until
	// the program needs a later one. Base is a copy of the first version that Home held.
	Home, Base homeVersion
	Replica    Replica
}

// newEntry returns the entry of a datum that no node has.
func newEntry(set uint64, r transport.Ref) *Entry {
	e := &Entry{Set: set, Ref: r}
	e.Holders = e.few[:0]
	return e
}

// Replica is a version that nodes keep in addition to the latest one, under a name of its own.
// Later versions that are lost are computed from it.
type Replica struct {
	Entry   *Entry // nil if there is no replica
	Version uint32
}

// homeVersion is a version that stays on the driver, if Present.
type homeVersion struct {
	Present bool
	Version uint32
	ref     transport.Ref
}

// Facts is what a node needs to make a value for a datum: the name of its type and its shape. Both
// stay the same.
type Facts struct {
	Kind     string
	Shape    string
	Sendable bool // other nodes can make such a value
	Label    Label
}

// FactsOf returns the facts of a value.
func FactsOf(value any) (f Facts) {
	if s, ok := value.(versions.Shaped); ok {
		f.Shape = string(s.Shape())
	}
	if value != nil {
		f.Kind = reflect.TypeOf(value).String()
	}
	return f
}

// Label identifies a datum to people and to policies.
type Label struct {
	name  string
	key   graph.Key
	Bytes int64
	owner int32
}

// LabelOf returns the label of a datum.
func LabelOf(d *graph.Datum) Label { return Label{d.Name, d.Key, d.Bytes, d.Owner} }

func (l *Label) set(d *graph.Datum) {
	d.Name, d.Key, d.Bytes, d.Owner = l.name, l.key, l.Bytes, l.owner
}

// Title returns the datum's name for people, as "A(3,2)".
func (e *Entry) Title() string {
	var d graph.Datum
	e.Label.set(&d)
	return d.String()
}

// Record is a task that has ended well. Executing it again computes its results again.
type Record struct {
	Job         uint64 // number of the job among the driver's
	ID          graph.TaskID
	op          graph.Op
	params      any
	priority    int64
	Retries     int
	Timeout     time.Duration
	constraints any
	Uses        []Use
	few         [3]Use // first memory of Uses
}

// RecordOf returns the record of a task, without its uses.
func RecordOf(job uint64, t *graph.Task) *Record {
	r := &Record{Job: job, ID: t.ID(), op: t.Op, params: t.Params, priority: t.Priority, constraints: t.Constraints()}
	if f := t.Failure(); f != nil {
		r.Retries, r.Timeout = f.Retries, f.Timeout
	}
	r.Uses = r.few[:0]
	return r
}

// Use is an operand of a Record.
type Use struct {
	Of      *Entry
	Version uint32 // the latest when the task began
	Mode    graph.Mode
}

// Has reports whether a node has the latest version.
func (e *Entry) Has(node int) bool { return slices.Contains(e.Holders, node) }

// Unwritten reports whether the datum is zero because no task has written it and it is not the
// program's. Nodes make such a value themselves.
func (e *Entry) Unwritten() bool { return e.Version == 0 && e.Set != 0 }

// Lost reports whether no node has the latest version.
func (e *Entry) Lost() bool { return len(e.Holders) == 0 && !e.Unwritten() }

// FirstHolder returns the first node that has the latest version, −1 if none has or e is nil.
func (e *Entry) FirstHolder() int {
	if e == nil || len(e.Holders) == 0 {
		return -1
	}
	return e.Holders[0]
}

// ShowHolders tells policies which nodes have the latest version. D is the entry's datum in some
// job.
func (e *Entry) ShowHolders(d *graph.Datum) {
	var l graph.Locations
	for _, h := range e.Holders {
		l |= 1 << uint(h)
	}
	d.SetAt(l)
}

// spreader is a node in the tree along which the latest version spreads. It holds the version or
// fetches it.
type spreader struct {
	node int
	// turn is when the node can give the version to one more node, in units of the time of a copy.
	// A node gives one copy after the other, and begins when it has its own.
	turn  int
	holds bool // it is a holder
}

// CancelFetch removes a node from the tree along which the latest version spreads.
func (e *Entry) CancelFetch(node int) {
	e.Spreaders = slices.DeleteFunc(e.Spreaders, func(s spreader) bool { return s.node == node })
}

// HeldAs returns the name under which the holders have the latest version.
func (e *Entry) HeldAs() transport.Ref {
	if e.CopiedFrom != nil {
		return *e.CopiedFrom
	}
	return e.Ref
}

// AddHolder notes that a node has got the latest version.
func (e *Entry) AddHolder(node int) {
	if e.Has(node) || e.Unwritten() {
		return
	}
	e.Holders = append(e.Holders, node)
	for i := range e.Spreaders {
		if s := &e.Spreaders[i]; s.node == node {
			s.holds = true
		}
	}
}

// Locate returns the nodes that have a version, and its name there. Holders is nil if no node has
// it.
func (e *Entry) Locate(version uint32) (r transport.Ref, holders []int) {
	switch {
	case version == e.Version && len(e.Holders) > 0:
		return e.Ref, e.Holders
	case e.Home.Present && version == e.Home.Version:
		return e.Home.ref, []int{0}
	case e.Base.Present && version == e.Base.Version:
		return e.Base.ref, []int{0}
	case e.Replica.Entry != nil && version == e.Replica.Version && len(e.Replica.Entry.Holders) > 0:
		return e.Replica.Entry.Ref, e.Replica.Entry.Holders
	}
	return r, nil
}

// Maker returns the task that made a version, nil if that is not known.
func (e *Entry) Maker(version uint32) *Record {
	if version <= e.forgotten || int(version-e.forgotten) > len(e.Makers) {
		return nil
	}
	return e.Makers[version-e.forgotten-1]
}

// isSafe reports whether a version stays available whatever tasks write: in the program's memory,
// or as a replica on at least so many nodes.
func (e *Entry) isSafe(version uint32, nodes int) bool {
	switch {
	case version == 0 && (e.Set != 0 || e.Home.Present && e.Home.Version == 0):
		return true
	case e.Base.Present && version == e.Base.Version:
		return true
	}
	s := e.Replica
	return s.Entry != nil && version == s.Version && len(s.Entry.Holders) >= nodes
}

// NoteHome notes that the latest version is in the program's memory. KeepBase says that the driver
// keeps what was there.
func (e *Entry) NoteHome(keepBase bool) {
	e.AddHolder(0)
	if keepBase && !e.Base.Present && e.Home.Present && e.Home.Version != e.Version {
		e.Base = e.Home
	}
	e.Home = homeVersion{true, e.Version, e.Ref}
}

// DropHolders notes that some holders could not give the latest version. If e stands in for a lost
// datum, or is its replica, that entry loses these holders, too. A version in the program's memory
// is always there.
func (e *Entry) DropHolders(of func(node int) bool) {
	e.removeHolders(of)
	if x := e.StandsFor; x != nil && x.Ref == e.HeldAs() {
		x.removeHolders(of)
	} else if x != nil && x.Replica.Entry != nil && x.Replica.Entry.Ref == e.HeldAs() {
		x.Replica.Entry.removeHolders(of)
	}
}

// removeHolders removes some holders.
func (e *Entry) removeHolders(of func(node int) bool) {
	e.Spreaders = slices.DeleteFunc(e.Spreaders, func(s spreader) bool { return of(s.node) })
	e.Holders = slices.DeleteFunc(e.Holders, of)
	if e.Home.Present && e.Home.Version == e.Version && !e.Has(0) {
		e.Holders = append(e.Holders, 0)
	}
}

// RemoveHolder notes that a node does not have the latest version any more, nor fetches it.
func (e *Entry) RemoveHolder(node int) {
	e.CancelFetch(node)
	e.Holders = slices.DeleteFunc(e.Holders, func(h int) bool { return h == node })
}

// LoseNode notes that a node is lost, with its replicas.
func (e *Entry) LoseNode(node int) {
	e.RemoveHolder(node)
	if e.Replica.Entry != nil {
		e.Replica.Entry.RemoveHolder(node)
	}
}

// Directory knows which nodes have which version of each datum, and which versions they can drop.
// It is pure. In exec/cluster fleet.placing guards it.
type Directory struct {
	Stale [][]transport.Ref // by node: versions to be dropped there
	lost  nodeSet           // lost nodes; they never return under the same number
	Paths paths
}

// LoseNode notes that a node is lost. Nothing is dropped there any more.
func (d *Directory) LoseNode(node int) {
	d.lost.set(node, true)
	d.Paths.removeNode(node)
	d.TakeStale(node)
}

// RecordWrite notes that a node has made the next version of e. R is how, nil if that is not known.
// Copies of the version before become stale.
func (d *Directory) RecordWrite(e *Entry, node int, r *Record) {
	for _, h := range e.Holders {
		if h != node {
			d.MarkStale(h, e.Ref)
		}
	}
	e.recordMaker(r)
	e.Version++
	e.Ref.Version++
	e.Holders = append(e.Holders[:0], node)
	e.Spreaders = e.Spreaders[:0]
}

// recordMaker appends the record of the next version, nil if it cannot be made again.
func (e *Entry) recordMaker(r *Record) {
	if r == nil && e.forgotten == e.Version { // the usual case without records, which does not touch Makers' cache line
		e.forgotten++
		return
	}
	if len(e.Makers) == 0 {
		e.forgotten = e.Version
		if r == nil {
			e.forgotten++
			return
		}
	}
	for len(e.Makers) < int(e.Version-e.forgotten) {
		e.Makers = append(e.Makers, nil)
	}
	e.Makers = append(e.Makers[:e.Version-e.forgotten], r)
}

// MarkStale notes that a node can drop a version.
func (d *Directory) MarkStale(node int, r transport.Ref) {
	if d.lost.has(node) {
		return
	}
	for len(d.Stale) <= node {
		d.Stale = append(d.Stale, nil)
	}
	d.Stale[node] = append(d.Stale[node], r)
}

// TakeStale returns, once, what a node is to drop.
func (d *Directory) TakeStale(node int) (all []transport.Ref) {
	if node < len(d.Stale) {
		all, d.Stale[node] = d.Stale[node], nil
	}
	return all
}

// reuseStale takes back the slice that TakeStale has returned.
func (d *Directory) reuseStale(node int, all []transport.Ref) {
	if node < len(d.Stale) && d.Stale[node] == nil {
		d.Stale[node] = all[:0]
	}
}

// ForgetJob forgets stale versions of a job that has ended. The node drops all data of the job.
func (d *Directory) ForgetJob(node int, job uint64) {
	if node < len(d.Stale) {
		d.Stale[node] = slices.DeleteFunc(d.Stale[node], func(r transport.Ref) bool { return r.Job == job })
	}
}

// FirstUse returns the first operand of t with the datum of operand k.
func FirstUse(t *graph.Task, k int) int {
	for i := range k {
		if t.Operand(i).Datum == t.Operand(k).Datum {
			return i
		}
	}
	return k
}

// IsFirstWrite reports whether operand k is the first with its datum that t writes.
func IsFirstWrite(t *graph.Task, k int) bool {
	for i := range k {
		if o := t.Operand(i); o.Datum == t.Operand(k).Datum && o.Mode&graph.Out != 0 {
			return false
		}
	}
	return true
}
