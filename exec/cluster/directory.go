package cluster

import (
	"slices"

	"github.com/tessera-la/tessera/transport"
)

// directory knows which nodes have which version of each datum of a job. Nodes are
// numbered from 0, the driver. It is pure: who uses it holds the job's lock.
type directory struct {
	job   uint64
	data  []entry
	stale [][]transport.Ref // by node: versions that nobody will read, to be dropped there
}

// entry is a datum. Only its latest version counts: by the order of tasks, nobody reads
// an older one any more when a task that writes it has begun.
type entry struct {
	ref     transport.Ref // of the latest version
	holders []int         // the nodes that have it, the first to have it first
	serving int           // how often holders were named, to take turns
}

// newDirectory returns the directory of a job without data.
func newDirectory(job uint64) *directory { return &directory{job: job} }

// add returns the number of a new datum, whose first version is on the driver.
func (d *directory) add(matrix uint32, i, j int32) int {
	d.data = append(d.data, entry{ref: transport.Ref{Job: d.job, Matrix: matrix, I: i, J: j}, holders: []int{0}})
	return len(d.data) - 1
}

// has reports whether a node has the latest version of datum k.
func (d *directory) has(k, node int) bool { return slices.Contains(d.data[k].holders, node) }

// holders returns the nodes from which another one can fetch datum k, that which should
// be asked first to begin with: they take turns, so that of many that want a tile the
// first to have it serve the others.
func (d *directory) holders(k int) []int {
	e := &d.data[k]
	n := len(e.holders)
	if n == 0 {
		return nil
	}
	at := e.serving % n
	e.serving++
	return append(slices.Clone(e.holders[at:]), e.holders[:at]...)
}

// read notes that a node has got the latest version of datum k.
func (d *directory) read(k, node int) {
	if !d.has(k, node) {
		d.data[k].holders = append(d.data[k].holders, node)
	}
}

// written notes that a node has made the next version of datum k. What others have of
// the one before is stale.
func (d *directory) written(k, node int) {
	e := &d.data[k]
	for _, h := range e.holders {
		if h != node && h != 0 { // the driver's lies in the program's memory
			d.drop(h, e.ref)
		}
	}
	e.ref.Version++
	e.holders = append(e.holders[:0], node)
	e.serving = 0
}

// drop notes that a node need not keep a version.
func (d *directory) drop(node int, r transport.Ref) {
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

// absent notes that datum k was asked of all its holders in vain, and reports whether the
// driver has it, at least.
func (d *directory) absent(k int) (driver bool) {
	driver = d.has(k, 0)
	d.data[k].holders = d.data[k].holders[:0]
	if driver {
		d.data[k].holders = append(d.data[k].holders, 0)
	}
	return driver
}

// lost notes that a node has nothing any more, and reports whether that leaves some datum
// with no holder.
func (d *directory) lost(node int) (gone bool) {
	for k := range d.data {
		e := &d.data[k]
		e.holders = slices.DeleteFunc(e.holders, func(h int) bool { return h == node })
		gone = gone || len(e.holders) == 0
	}
	d.drops(node)
	return gone
}
