package core

import "slices"

// minSpreadBytes is the size of the smallest data that spread along a tree. Fetching smaller ones
// takes no longer than waiting until another node has them.
const minSpreadBytes = 64 << 10

// Sources returns the nodes from which another node can fetch the latest version. The one that is
// free the soonest comes first. Here and below, isOpen says from which nodes the reader can fetch; nil
// means from all.
func (e *Entry) Sources(isOpen func(node int) bool) []int {
	s := e.soonestSpreader(false, isOpen)
	if s == nil {
		return nil
	}
	s.turn++
	return e.withHolders(s.node, isOpen)
}

// sourcesFor returns the same for a node that will fetch the version and give it to later readers.
// Soon says that the first source is still fetching it. So a version that many nodes need spreads
// along a tree:
//
//	turn  0: made
//	      1: made ─► a
//	      2: made ─► b, a ─► c
//	      3: made ─► d, a ─► e, b ─► f, c ─► g
//
// Within a job these waits have no cycle: a reader waits only for a fetch that was assigned before
// its own, and a node begins its fetches in the order of assignment. Between jobs or drivers that
// share a node's fetches there may be a cycle. It ends when a wait exceeds cluster's maxSoonWait;
// the reader then asks a holder.
func (e *Entry) sourcesFor(node int, isOpen func(node int) bool) (from []int, soon bool) {
	first, soon := e.sourceFor(node, isOpen)
	if first < 0 {
		return nil, false
	}
	return e.withHolders(first, isOpen), soon
}

// sourceFor returns only the first of these sources, −1 if there is none.
func (e *Entry) sourceFor(node int, isOpen func(node int) bool) (first int, soon bool) {
	if !e.isFetching(node) {
		return e.joinSpread(node, isOpen)
	}
	if s := e.soonestSpreader(false, isOpen); s != nil { // the node is fetching already
		return s.node, false
	}
	return -1, false
}

// joinSpread adds a node to the tree and returns its source.
func (e *Entry) joinSpread(node int, isOpen func(node int) bool) (first int, soon bool) {
	s := e.soonestSpreader(e.Label.Bytes >= minSpreadBytes, isOpen)
	if s == nil {
		return -1, false
	}
	s.turn++
	first, soon = s.node, !s.holds
	e.Spreaders = append(e.Spreaders, spreader{node: node, turn: s.turn})
	return first, soon
}

// soonestSpreader returns the node that can give the version to one more node the soonest, nil if
// there is none. With soon, nodes that are still fetching count, too.
func (e *Entry) soonestSpreader(soon bool, isOpen func(node int) bool) (best *spreader) {
	if len(e.Holders) == 0 {
		return nil
	}
	least, have := 0, 0
	for i, s := range e.Spreaders {
		if i == 0 || s.turn < least {
			least = s.turn
		}
		if s.holds {
			have++
		}
	}
	for _, h := range e.Holders {
		if have == len(e.Holders) {
			break
		}
		i := slices.IndexFunc(e.Spreaders, func(s spreader) bool { return s.node == h })
		if i < 0 {
			i, e.Spreaders = len(e.Spreaders), append(e.Spreaders, spreader{h, least, false})
		}
		if !e.Spreaders[i].holds {
			e.Spreaders[i].holds = true
			have++
		}
	}
	for i := range e.Spreaders {
		s := &e.Spreaders[i]
		if !s.holds && !soon || isOpen != nil && !isOpen(s.node) {
			continue
		}
		if best == nil || s.turn < best.turn || s.turn == best.turn && s.holds && !best.holds {
			best = s
		}
	}
	return best
}

// maxSources bounds the number of sources that a reader is told.
const maxSources = 8

// withHolders returns first and other holders of the latest version.
func (e *Entry) withHolders(first int, isOpen func(node int) bool) []int {
	all := make([]int, 1, min(1+len(e.Holders), maxSources))
	all[0] = first
	for _, h := range e.Holders {
		if len(all) == maxSources {
			break
		}
		if h != first && (isOpen == nil || isOpen(h)) {
			all = append(all, h)
		}
	}
	return all
}

// isFetching reports whether a node is about to fetch the latest version.
func (e *Entry) isFetching(node int) bool {
	return !e.Has(node) && slices.ContainsFunc(e.Spreaders, func(s spreader) bool { return s.node == node })
}
