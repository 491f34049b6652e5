package trace

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// DefaultDOTTasks is how many tasks [Recording.WriteDOT] draws one by one by default: graphviz
// takes minutes for more.
const DefaultDOTTasks = 1500

// dotColors are fills under black text: ColorBrewer's Set3, whose neighbours are easy to tell
// apart. Ops get them in the order of their names, and from the first again if there are more ops.
func dotColors() []string {
	return []string{"#8dd3c7", "#ffffb3", "#bebada", "#fb8072", "#80b1d3", "#fdb462", "#b3de69", "#fccde5", "#d9d9d9",
		"#bc80bd"}
}

// WriteDOT writes the graph of tasks in graphviz's language: a node for each
// task, coloured by its op, the critical path in red, anti-dependencies dashed.
// A graph of more than most tasks, DefaultDOTTasks if it is 0, is summarised: a
// node for each op, with its number of tasks and their time, and edges with the
// number of dependencies.
//
// Ops are called by their names, tasks t<job>_<task>.
//
// Reference: "The DOT Language", graphviz.org.
func (r *Recording) WriteDOT(w io.Writer, most int) error {
	if most == 0 {
		most = DefaultDOTTasks
	}
	events := r.byTask()
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "digraph tasks {\n\tnode [style=filled, shape=box, fontname=\"sans-serif\"];\n")
	color := map[string]string{}
	for i := range events {
		color[events[i].Op] = ""
	}
	for i, op := range slices.Sorted(maps.Keys(color)) {
		color[op] = dotColors()[i%len(dotColors())]
	}
	if len(events) > most {
		r.dotSummary(out, events, color)
	} else {
		r.dotTasks(out, events, color)
	}
	fmt.Fprintln(out, "}")
	return out.Flush()
}

// dotTasks writes a node for each task and an edge for each edge, those of the critical path in
// red. It leaves out edges to tasks without an event, which have not run or were dropped.
func (r *Recording) dotTasks(out io.Writer, events []Event, color map[string]string) {
	path := r.CriticalPath()
	critical := make(map[taskKey]taskKey, len(path.Tasks)) // to the next one on the path
	for i := range path.Tasks {
		critical[path.Tasks[i].key()] = taskKey{}
		if i > 0 {
			critical[path.Tasks[i-1].key()] = path.Tasks[i].key()
		}
	}
	node := func(k taskKey) string { return fmt.Sprintf("t%d_%d", k.job, k.task) }
	known := make(map[taskKey]bool, len(events))
	for i := range events {
		e := &events[i]
		known[e.key()] = true
		label := e.Op
		if e.Datum != "" {
			label += fmt.Sprintf("\n%s(%d,%d)", e.Datum, e.I, e.J)
		}
		attrs := fmt.Sprintf("label=%s, fillcolor=%q, tooltip=%s", strconv.Quote(label), color[e.Op],
			strconv.Quote(fmt.Sprintf("task %d, %s, worker %d, %v", e.Task, e.Version, e.Worker, e.End-e.Start)))
		if _, ok := critical[e.key()]; ok {
			attrs += ", color=red, penwidth=3"
		}
		if e.Failed {
			attrs += ", shape=octagon"
		}
		fmt.Fprintf(out, "\t%s [%s];\n", node(e.key()), attrs)
	}
	for _, d := range r.Edges {
		from, to := taskKey{d.Job, d.From}, taskKey{d.Job, d.To}
		if !known[from] || !known[to] {
			continue
		}
		attrs := ""
		switch {
		case critical[from] == to:
			attrs = " [color=red, penwidth=3]"
		case d.Kind != graph.RAW:
			attrs = " [style=dashed, color=gray]"
		}
		fmt.Fprintf(out, "\t%s -> %s%s;\n", node(from), node(to), attrs)
	}
}

// dotSummary writes a node for each op and an edge for each pair of dependent ops, with their
// numbers. Names are sorted, so that the same graph gives the same file.
func (r *Recording) dotSummary(out io.Writer, events []Event, color map[string]string) {
	type arrow struct{ from, to string }
	count, took := map[string]int{}, map[string]time.Duration{}
	op := make(map[taskKey]string, len(events))
	for i := range events {
		e := &events[i]
		op[e.key()] = e.Op
		count[e.Op]++
		took[e.Op] += e.End - e.Start
	}
	arrows := map[arrow]int{}
	for _, d := range r.Edges {
		from, ok := op[taskKey{d.Job, d.From}]
		to, ok2 := op[taskKey{d.Job, d.To}]
		if ok && ok2 {
			arrows[arrow{from, to}]++
		}
	}
	fmt.Fprintf(out, "\tlabel=\"%d tasks, drawn by operation\";\n", len(events))
	for _, name := range slices.Sorted(maps.Keys(count)) {
		fmt.Fprintf(out, "\t%s [label=%s, fillcolor=%q];\n", strconv.Quote(name),
			strconv.Quote(fmt.Sprintf("%s\n%d tasks\n%v", name, count[name], took[name].Round(time.Microsecond))),
			color[name])
	}
	order := slices.SortedFunc(maps.Keys(arrows), func(a, b arrow) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	for _, a := range order {
		fmt.Fprintf(out, "\t%s -> %s [label=\"%d\"];\n", strconv.Quote(a.from), strconv.Quote(a.to), arrows[a])
	}
}
