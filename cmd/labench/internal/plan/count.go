package plan

import "slices"

// none is the home of what nobody has.
const none = -1

// datum is who has the latest version of something.
type datum struct {
	bytes   int64
	kept    bool    // it stays on its node when the job ends
	program bool    // it lies in the program's memory, and no task has written it
	made    bool    // it is not as it was made, of zeros
	home    int32   // the node that has made it
	copies  []int32 // others that have it
	path    float64 // cost of the critical path that ends with it …
	steps   int     // … and the tasks on that
}

// driver returns the number of the driver.
func (r *Runtime) driver() int {
	if r.opt.Apart {
		return r.opt.Nodes
	}
	return 0
}

// node returns the figures of a node.
func (r *Runtime) node(i int) *Node {
	if i == r.opt.Nodes {
		return &r.counts.Driver
	}
	return &r.counts.Nodes[i]
}

// holds notes that a node has more bytes than before, or fewer: of its own and in all.
func (r *Runtime) holds(i int, own, all int64) {
	u, n := &r.now[i], r.node(i)
	u.own += own
	u.all += all
	n.Own, n.Peak, n.Least = max(n.Own, u.own), max(n.Peak, u.all), max(n.Least, u.own)
}

// has reports whether a node has the latest version.
func (d *datum) has(i int32) bool { return d.home == i || slices.Contains(d.copies, i) }

// drop has all nodes forget d.
func (r *Runtime) drop(d *datum) {
	for _, i := range d.copies {
		r.holds(int(i), 0, -d.bytes)
	}
	d.copies = d.copies[:0]
	if d.home >= 0 && !d.program {
		r.holds(int(d.home), -d.bytes, -d.bytes)
	}
	d.home = none
}

// shed has those who have copies forget them, but for the driver.
func (r *Runtime) shed(d *datum) {
	d.copies = slices.DeleteFunc(d.copies, func(i int32) bool {
		if int(i) == r.driver() {
			return false
		}
		r.holds(int(i), 0, -d.bytes)
		return true
	})
}

// fetch has a node get d from where it was made.
func (r *Runtime) fetch(d *datum, to int32) {
	r.node(int(to)).In += d.bytes
	r.node(int(d.home)).Out += d.bytes
	r.counts.Moved += d.bytes
	d.copies = append(d.copies, to)
	r.holds(int(to), 0, d.bytes)
}

// count counts the tasks that a job has noted since the last time.
func (r *Runtime) count(j *job) {
	mark(j.words, len(j.nodes), len(j.values))
	at := 0
	longest, steps := 0.0, 0
	for t, node := range j.nodes {
		operands := j.words[at+1 : at+1+int(j.words[at])]
		at += 1 + len(operands)
		n := r.node(int(node))
		n.Tasks++
		n.Cost += j.costs[t]
		path, on := 0.0, 0
		var all, beside int64 // bytes of operands, and of those that are not the node's own
		for k, w := range operands {
			d := j.values[w>>shift]
			if w&reads != 0 && d.made {
				if !d.has(node) {
					r.fetch(d, node)
				}
				if d.path > path || d.steps > on && d.path == path {
					path, on = d.path, d.steps
				}
			}
			if slices.ContainsFunc(operands[:k], func(x uint32) bool { return x>>shift == w>>shift }) {
				continue
			}
			if all += d.bytes; d.home != node || d.program {
				beside += d.bytes
			}
		}
		r.counts.Most = max(r.counts.Most, all)
		n.Least = max(n.Least, r.now[node].own+beside)
		path, on = path+j.costs[t], on+1
		if path > longest || path == longest && on > steps {
			longest, steps = path, on
		}
		for _, w := range operands {
			d := j.values[w>>shift]
			if w&writes != 0 {
				r.writes(d, node)
				d.path, d.steps = path, on
			}
			if w&last != 0 {
				r.shed(d)
			}
		}
	}
	r.counts.Tasks += len(j.nodes)
	r.counts.Path += longest
	r.counts.Steps += steps
	r.over(j)
}

// writes has a node make the next version of d.
func (r *Runtime) writes(d *datum, node int32) {
	r.drop(d)
	d.home, d.program, d.made = node, false, true
	r.holds(int(node), d.bytes, d.bytes)
}

// over ends a job: what is not kept goes to the program's memory, on the driver.
func (r *Runtime) over(j *job) {
	home := int32(r.driver())
	for _, d := range j.values {
		d.path, d.steps = 0, 0
		if d.kept || d.program {
			r.shed(d)
			continue
		}
		if !d.has(home) {
			r.fetch(d, home)
		}
		r.drop(d)
		d.home, d.program = home, true
	}
}

// mark notes of each operand whether it is the last one of its version.
func mark(words []uint32, tasks, data int) {
	starts := make([]int, 0, tasks)
	for at := 0; at < len(words); at += 1 + int(words[at]) {
		starts = append(starts, at)
	}
	later := make([]bool, data) // somebody reads the version later
	for _, at := range slices.Backward(starts) {
		operands := words[at+1 : at+1+int(words[at])]
		for k := range operands {
			if d := operands[k] >> shift; !later[d] {
				operands[k] |= last
			}
		}
		for _, w := range operands {
			later[w>>shift] = w&reads != 0
		}
	}
}
