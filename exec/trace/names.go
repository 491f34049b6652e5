package trace

import (
	"cmp"
	"fmt"
	"maps"
)

// Name gives a worker a name, as "cuda0". From then on it has a row, even without events.
func (r *Recorder) Name(worker int, name string) {
	r.buffer(worker)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.names == nil {
		r.names = map[int]string{}
	}
	r.names[worker] = name
}

// Names returns the names of workers that have one.
func (r *Recorder) Names() map[int]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.names)
}

// Node makes workers those of a node, and gives them its name.
func (r *Recorder) Node(n NodeRows) {
	for i := range n.Workers {
		r.Name(n.First+i, fmt.Sprintf("%s %d", n.Name, i))
	}
	note(r, &r.nodes, n)
}

// name returns the name of a worker.
func (r *Recording) name(worker int) string {
	return cmp.Or(r.Names[worker], fmt.Sprintf("worker %d", worker))
}

// label is the name of a worker in a table: its number, if it has no other.
func (r *Recording) label(worker int) string { return cmp.Or(r.Names[worker], fmt.Sprint(worker)) }
