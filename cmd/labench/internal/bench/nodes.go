package bench

import (
	"context"
	"slices"
	"strings"
)

// Node is what a node of a cluster (the driver or an agent) did. Times are in seconds.
type Node struct {
	Name    string         `json:"name"`
	Workers int            `json:"workers"`
	Lost    bool           `json:"lost,omitempty"`        // it had left at the end …
	Gone    bool           `json:"lost_before,omitempty"` // … and already when the timed runs began
	Late    bool           `json:"joined_later,omitempty"`
	Tasks   map[string]int `json:"tasks"`     // by op …
	Ran     []Ran          `json:"ran"`       // … and by version
	In      int64          `json:"bytes_in"`  // of operands that it fetched; for the driver also of results
	Out     int64          `json:"bytes_out"` // that other nodes fetched from it
	Flows   []Flow         `json:"flows"`
	// Busy is the time that its workers spent in tasks, Starving the time that they spent without a task while
	// tasks waited for operands.
	Busy     float64 `json:"seconds_in_tasks"`
	Starving float64 `json:"seconds_waiting"`
	Memory   int64   `json:"memory_cap,omitempty"`
	Peak     int64   `json:"memory_peak"` // largest number of bytes of operands since it joined
	// Share is the part of the work that the layout of distributed matrices gives it.
	Share float64 `json:"share_owned,omitempty"`
}

// Ran is the tasks of an op that one of its versions executed.
type Ran struct {
	Op      string  `json:"op"`
	Version string  `json:"version"`
	Tasks   int     `json:"tasks"`
	Seconds float64 `json:"seconds"`
}

// Flow is the values of a matrix that a node fetched from another node.
type Flow struct {
	From    string  `json:"from"`
	Matrix  string  `json:"matrix"`
	Values  int64   `json:"values"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"` // sum over fetches, which may overlap
	Waiting float64 `json:"seconds_waiting"`
}

// Cluster is what the nodes did together in the timed runs.
type Cluster struct {
	Moved int64 `json:"bytes_moved"` // between any two nodes
	// For distributed matrices, Least is the least number of bytes that had to move for the layout: each version
	// of a tile once to each other node that reads it. Path is the critical path of a run, with tasks that take
	// the mean time of their op. Uncounted says why both, or Least alone, are missing.
	Least     int64   `json:"bytes_least,omitempty"`
	Path      float64 `json:"critical_path_seconds,omitempty"`
	PathTasks int     `json:"critical_path_tasks,omitempty"`
	Uncounted string  `json:"uncounted,omitempty"`
	// Losses is how the workers' time outside of tasks was spent, and Why the same in words.
	Losses []Loss   `json:"losses"`
	Why    []string `json:"why"`
}

// Loss is workers' time outside of tasks.
type Loss struct {
	Kind    string  `json:"kind"`
	Share   float64 `json:"share"` // of the workers' time
	Seconds float64 `json:"seconds"`
}

// tallied returns a function that calls once, and a function that returns what the nodes did in all of these
// calls.
func tallied(once func(context.Context) error, nodes func() []Node) (func(context.Context) error, func() []Node) {
	if nodes == nil {
		return once, func() []Node { return nil }
	}
	var sum, first []Node
	return func(ctx context.Context) error {
		before := nodes()
		if first == nil {
			first = before
		}
		err := once(ctx)
		for i, n := range nodes() {
			if i < len(before) {
				n.add(before[i], -1)
			}
			if i < len(sum) {
				n.add(sum[i], 1)
			} else {
				sum = append(sum, n)
			}
			n.Gone, n.Late = i < len(first) && first[i].Lost, i >= len(first)
			sum[i] = n
		}
		return err
	}, func() []Node { return sum }
}

// add adds m to n, or subtracts it if sign is -1.
func (n *Node) add(m Node, sign int) {
	n.In, n.Out = n.In+int64(sign)*m.In, n.Out+int64(sign)*m.Out
	n.Busy, n.Starving = n.Busy+float64(sign)*m.Busy, n.Starving+float64(sign)*m.Starving
	for op, k := range m.Tasks {
		if n.Tasks[op] += sign * k; n.Tasks[op] == 0 {
			delete(n.Tasks, op)
		}
	}
	for _, x := range m.Ran {
		i := slices.IndexFunc(n.Ran, func(y Ran) bool { return x.Op == y.Op && x.Version == y.Version })
		if i < 0 {
			n.Ran, i = append(n.Ran, Ran{Op: x.Op, Version: x.Version}), len(n.Ran)
		}
		n.Ran[i].Tasks += sign * x.Tasks
		n.Ran[i].Seconds += float64(sign) * x.Seconds
	}
	for _, x := range m.Flows {
		i := slices.IndexFunc(n.Flows, func(y Flow) bool { return x.From == y.From && x.Matrix == y.Matrix })
		if i < 0 {
			n.Flows, i = append(n.Flows, Flow{From: x.From, Matrix: x.Matrix}), len(n.Flows)
		}
		f := &n.Flows[i]
		f.Values, f.Bytes = f.Values+int64(sign)*x.Values, f.Bytes+int64(sign)*x.Bytes
		f.Seconds, f.Waiting = f.Seconds+float64(sign)*x.Seconds, f.Waiting+float64(sign)*x.Waiting
	}
	n.Ran = slices.DeleteFunc(n.Ran, func(x Ran) bool { return x.Tasks == 0 })
	n.Flows = slices.DeleteFunc(n.Flows, func(x Flow) bool { return x.Values == 0 && x.Bytes == 0 })
}

// changed says which node was lost, or joined, during the timed runs. It returns "" if none.
func changed(nodes []Node) string {
	var lost, came []string
	for _, n := range nodes {
		if n.Lost && !n.Gone {
			lost = append(lost, n.Name)
		}
		if n.Late {
			came = append(came, n.Name)
		}
	}
	switch {
	case lost != nil:
		return strings.Join(lost, ", ") + " was lost meanwhile, and others had its tiles"
	case came != nil:
		return strings.Join(came, ", ") + " came meanwhile"
	}
	return ""
}

// means returns the mean time of a task of each op over all nodes.
func means(nodes []Node) map[string]float64 {
	sum, tasks := map[string]float64{}, map[string]int{}
	for _, n := range nodes {
		for _, x := range n.Ran {
			sum[x.Op] += x.Seconds
			tasks[x.Op] += x.Tasks
		}
	}
	for op, k := range tasks {
		sum[op] /= float64(k)
	}
	return sum
}
