package sim

import (
	"slices"

	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/exec/trace"
)

// isAsked reports whether a fetch waits for its source to get the value.
func (v *value) isAsked(f *fetch) bool {
	return slices.ContainsFunc(v.askers, func(x coming) bool { return x.by == f })
}

// takeLent reports whether a node has the value as another datum, and removes that entry.
func (v *value) takeLent(n *node) bool {
	i := slices.Index(v.lent, int32(n.id))
	if i >= 0 {
		v.lent = slices.Delete(v.lent, i, i+1)
	}
	return i >= 0
}

// maxWait is the seconds for which a node waits for a fetch's source to get the value, as nodes of
// package cluster do.
const maxWait = 2

// boundWait bounds the time for which a fetch waits for its source.
func (f *fetch) boundWait(giver *node) {
	s := f.n.driver
	at := s.now + maxWait
	if giver.lost {
		at = s.now
	}
	s.calendar.schedule(at, f, waitedEnough)
}

// reroute fetches a value from another node. If no node has it, the tasks that wait for it go back
// to the driver.
func (d *driver) reroute(v *value, f *fetch) {
	n := f.n
	v.askers = slices.DeleteFunc(v.askers, func(x coming) bool { return x.by == f })
	if v.version == f.need.Version && len(v.nodes) > 0 {
		if f.cut {
			g := &fetch{n: n, need: f.need, then: f.then, waits: f.waits, since: f.since, begun: true}
			v.removeComing(n.id)
			v.coming = append(v.coming, coming{n.id, g})
			f = g
		}
		if f.need.From = int(v.nodes[0]); f.begun {
			f.ask()
		}
		return
	}
	v.removeComing(n.id)
	f.cut = true
	if f.begun {
		n.fetching--
		n.beginNext()
	} else {
		n.queue = slices.DeleteFunc(n.queue, func(x *fetch) bool { return x == f })
	}
	for _, x := range slices.Clone(v.askers) {
		if x.node == n.id {
			d.reroute(v, x.by)
		}
	}
	if f.then != nil {
		f.then()
	}
	for _, e := range f.waits {
		e.lacks = append(e.lacks, f.need)
		n.arrived(e)
	}
}

// maxFetches is how many values a node fetches at once, as nodes of package cluster do.
const maxFetches = 8

// has reports whether a node has the version.
func (v *value) has(node, version int) bool {
	return v.version == version && slices.Contains(v.nodes, int32(node))
}

// addBytes adds by, which may be negative, to the node's bytes.
func (n *node) addBytes(by int64) {
	n.crew.held += by
	n.crew.tally.Peak = max(n.crew.tally.Peak, n.crew.held)
}

// fetch returns the fetch of a value, which it starts or queues if there is none.
func (n *node) fetch(v *value, x core.Need) *fetch {
	for i := range v.coming {
		if v.coming[i].node == n.id {
			return v.coming[i].by
		}
	}
	s := n.driver
	f := s.spareFetch
	if f == nil {
		f = &fetch{}
	} else {
		s.spareFetch = f.next
	}
	*f = fetch{n: n, need: x, waits: f.waits[:0]}
	v.coming = append(v.coming, coming{n.id, f})
	if n.fetching < maxFetches {
		f.begin()
	} else {
		n.queue = append(n.queue, f)
	}
	return f
}

// begin asks the source for the value. If the source has yet to get it, the request waits there.
func (f *fetch) begin() {
	s := f.n.driver
	f.n.fetching++
	f.since, f.begun = s.now, true
	if v := &s.values[f.need.Datum]; !v.has(f.need.From, f.need.Version) {
		v.askers = append(v.askers, coming{f.need.From, f})
		if s.lossy {
			f.boundWait(s.nodes[f.need.From])
		}
		return
	}
	f.ask()
}

// ask sends the request to the source.
func (f *fetch) ask() {
	s := f.n.driver
	if !s.m.Network.measured() {
		f.give(s.now + s.m.Network.Latency)
		return
	}
	s.calendar.schedule(s.now+s.m.Network.Latency, f, requestArrives)
}

// give sends the value from its source, not before a time and after earlier values.
func (f *fetch) give(at float64) {
	s := f.n.driver
	if f.cut {
		return
	}
	w := &s.m.Network
	giver := s.nodes[f.need.From]
	start := max(at, giver.crew.out, giver.crew.bring(s.values[f.need.Datum].of))
	giver.crew.out = start + w.Value + float64(f.need.Bytes)/w.Bandwidth
	giver.crew.tally.Out += f.need.Bytes
	f.still = 1
	f.useCore(giver.crew.shares[0], w.Message)
	s.calendar.schedule(start+w.Value+w.Latency, f, firstByte)
}

// useCore makes a core handle the bytes of the value, after so many seconds for something else.
func (f *fetch) useCore(p *coreShare, before float64) {
	if core := before + f.n.driver.m.Network.Core*float64(f.need.Bytes); core > 0 {
		f.still++
		p.use(core, f.endStep)
	}
}

// Events of a fetch.
const (
	requestArrives = iota // the request arrives at the source
	firstByte             // the first byte arrives
	lastByte              // the last byte arrives
	waitedEnough          // it has waited long enough for its source to get the value
)

// fire implements [handler].
func (f *fetch) fire(what uint64) {
	s, n := f.n.driver, f.n
	w := &s.m.Network
	if f.cut {
		return
	}
	switch what {
	case requestArrives:
		s.nodes[f.need.From].crew.shares[0].receive(0, func() { f.give(s.now) })
	case firstByte:
		n.crew.in = max(s.now, n.crew.in) + float64(f.need.Bytes)/w.Bandwidth
		s.calendar.schedule(n.crew.in, f, lastByte)
		if w.measured() {
			f.still++
			n.crew.shares[0].receive(w.Message, func() {
				f.useCore(n.crew.shares[0], 0)
				f.endStep()
			})
		}
	case lastByte:
		f.endStep()
	case waitedEnough:
		if v := &s.values[f.need.Datum]; v.isAsked(f) {
			s.reroute(v, f)
		}
	}
}

// endStep counts a finished step. After the last one the value is there.
func (f *fetch) endStep() {
	if f.still--; f.still > 0 || f.cut {
		return
	}
	n := f.n
	s := n.driver
	v := &s.values[f.need.Datum]
	v.removeComing(n.id)
	v.nodes = append(v.nodes, int32(n.id))
	n.crew.forget(v.of)
	n.addBytes(v.bytes)
	n.fetching--
	n.crew.tally.In += f.need.Bytes
	n.flows = append(n.flows, flow{f.need.From, f.need.Bytes, s.now - f.since})
	if s.rec != nil {
		giver := s.nodes[f.need.From]
		s.rec.copies = append(s.rec.copies, trace.Copy{Worker: n.crew.first, Bytes: f.need.Bytes,
			Start: duration(f.since), End: duration(s.now), Node: name(giver.crew.node), From: giver.crew.first})
	}
	n.beginNext()
	v.askers = slices.DeleteFunc(v.askers, func(x coming) bool {
		if x.node != n.id {
			return false
		}
		x.by.ask()
		return true
	})
	if f.then != nil {
		f.then()
	}
	for i, e := range f.waits {
		f.waits[i] = nil
		n.arrived(e)
	}
	if !s.lossy { // else a waiting event may still refer to f
		f.next, s.spareFetch = s.spareFetch, f
	}
}

// removeComing removes the transfer to a node.
func (v *value) removeComing(node int) {
	for i, last := 0, len(v.coming)-1; i <= last; i++ {
		if v.coming[i].node == node {
			v.coming[i], v.coming[last] = v.coming[last], coming{}
			v.coming = v.coming[:last]
			break
		}
	}
}

// beginNext starts the next queued fetch.
func (n *node) beginNext() {
	if len(n.queue) > 0 {
		next := n.queue[0]
		n.queue[0] = nil
		n.queue = n.queue[1:]
		next.begin()
	}
}
