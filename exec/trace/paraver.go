package trace

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// paraverEvents is the first of Tessera's event types.
const paraverEvents = 60000001

// The states of a worker in a Paraver trace, among those defined by Paraver.
const (
	paraverIdle    = 0
	paraverRunning = 1
	paraverWaiting = 3 // for data on an accelerator
)

// paraver has the numbers that Paraver wants instead of names. The rows of the trace, each a CPU
// and a thread of its own, are node by node
//
//	workers
//	the first node's memory, if there are copies from it to accelerators, and back
//	channels of accelerators, and copies from other nodes
//
// The CPU of a row is its number plus 1, and its thread is counted within its node.
type paraver struct {
	*Recording
	ops, versions map[string]int
	nodes         []NodeRows // First and Workers count rows here
	lines         []line     // the rows
	workers       []int      // the row of each worker …
	host          int        // … of the memory …
	channels      []channel
	copies        []int // … and of each channel
}

// line is a row of the trace.
type line struct {
	name string
	node int
}

// paraver numbers ops and versions from 1 in the order of their names, and the rows.
func (r *Recording) paraver() *paraver {
	p := &paraver{Recording: r, ops: map[string]int{}, versions: map[string]int{}, channels: r.channels()}
	p.place(max(1, r.workers()))
	for e := range r.all() {
		p.ops[e.Op], p.versions[e.Version] = 0, 0
	}
	for _, m := range []map[string]int{p.ops, p.versions} {
		for i, name := range slices.Sorted(maps.Keys(m)) {
			m[name] = i + 1
		}
	}
	return p
}

// place assigns rows to workers and channels, those of a node side by side.
func (p *paraver) place(workers int) {
	nodes := p.Nodes
	if nodes == nil {
		nodes = []NodeRows{{Name: "node 0", Workers: workers}}
	}
	of := make([]int, workers) // the node of each worker; unknown ones are the first's
	for i, n := range nodes {
		for w := n.First; w < min(n.First+n.Workers, workers); w++ {
			of[w] = i
		}
	}
	p.workers, p.copies = make([]int, workers), make([]int, len(p.channels))
	for i, n := range nodes {
		first := len(p.lines)
		add := func(name string) int {
			p.lines = append(p.lines, line{name, i})
			return len(p.lines) - 1
		}
		for w, at := range of {
			if at == i {
				p.workers[w] = add(p.name(w))
			}
		}
		if i == 0 && slices.ContainsFunc(p.Copies, func(c Copy) bool { return c.Node == "" }) {
			p.host = add("host memory")
		}
		for k, c := range p.channels {
			if of[c.worker] == i {
				p.copies[k] = add(c.title)
			}
		}
		p.nodes = append(p.nodes, NodeRows{n.Name, first, len(p.lines) - first})
	}
}

// at returns the numbers of a row in a record: CPU, application, process and thread.
func (p *paraver) at(row int) string {
	node := p.lines[row].node
	return fmt.Sprintf("%d:1:%d:%d", row+1, node+1, row-p.nodes[node].First+1)
}

// WriteParaver writes the recording for Paraver: the trace itself (.prv), what its numbers mean
// (.pcf) and the names of its rows (.row). The three belong into files of the same name beside one
// another. Every worker is a thread, on a CPU of its own; each has a state record for the time in a
// task and between tasks, and event records with the op, the version, the number of the task and of
// its job, and whether it is a share in a task that another worker leads. They become 0 when the
// task ends, or what they are for the task that waits underneath. Communication records, with the
// bytes that move, are the edges along which data flow, and the copies between the host's memory, a
// row of its own, and the accelerators. Of several nodes, each with its name, CPUs and a process,
// they are the copies from node to node instead of the edges.
//
// The lines of a .prv are
//
//	#Paraver (dd/mm/yy at hh:mm):length_ns:nodes(cpus):applications:tasks(threads:node)
//	1:cpu:application:task:thread:begin:end:state
//	2:cpu:application:task:thread:time:type:value:type:value…
//	3:cpu:application:task:thread:logical send:physical send:
//	  cpu:application:task:thread:logical receive:physical receive:bytes:tag
//
// with times in nanoseconds and numbers from 1; "task" is a process there: each node has one. The
// tag is the number of the job. Both ends of a communication have one time each: we know of no time
// between.
//
// Reference: "Paraver: Parallel Program Visualization and Analysis tool, trace file description",
// Barcelona Supercomputing Center.
func (r *Recording) WriteParaver(prv, pcf, row io.Writer) error {
	p := r.paraver()
	for _, err := range []error{p.trace(prv), p.config(pcf), p.rows(row)} {
		if err != nil {
			return err
		}
	}
	return nil
}

// during is the state of a worker in an interval.
type during struct {
	interval
	state int
}

// states returns the times in which workers were inside tasks or waited for data, and channels
// copied, in the order of their starts.
func (p *paraver) states() [][]during {
	all := make([][]during, len(p.lines))
	put := func(row int, from, to time.Duration, state int) {
		all[row] = append(all[row], during{interval{from, to}, state})
	}
	for w, intervals := range p.busy() {
		for _, t := range intervals {
			put(p.workers[w], t.from, t.to, paraverRunning)
		}
	}
	for _, x := range p.Waits {
		put(p.workers[x.Worker], x.Start, x.End, paraverWaiting)
	}
	for i, c := range p.channels {
		for _, x := range c.copies {
			put(p.copies[i], x.Start, x.End, paraverRunning)
		}
	}
	for _, states := range all {
		slices.SortStableFunc(states, func(a, b during) int { return cmp.Compare(a.from, b.from) })
	}
	return all
}

// record is a line of the trace.
type record struct {
	at   time.Duration
	kind int // 1 state, 2 event, 3 communication
	line string
}

// records are the lines of the trace after its header. They must be in the order of time, so all of
// them are in memory at once.
type records []record

func (l *records) put(at time.Duration, kind int, format string, args ...any) {
	*l = append(*l, record{at, kind, fmt.Sprintf(format, args...)})
}

// trace writes the .prv.
func (p *paraver) trace(w io.Writer) error {
	_, last := p.span()
	for _, x := range p.Copies {
		last = max(last, x.End)
	}
	var cpus, threads []string
	for i, n := range p.nodes {
		cpus = append(cpus, fmt.Sprint(n.Workers))
		threads = append(threads, fmt.Sprintf("%d:%d", n.Workers, i+1))
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "#Paraver (%s):%d_ns:%d(%s):1:%d(%s)\n", p.Began.Format("02/01/06 at 15:04"), last.Nanoseconds(),
		len(cpus), strings.Join(cpus, ","), len(threads), strings.Join(threads, ","))
	var all records
	p.putStates(&all, last)
	p.putCopies(&all)
	p.putEvents(&all)
	p.putEdges(&all)
	// At one time states come before events, and what ends before what begins, which is the order in
	// which they were put.
	slices.SortStableFunc(all, func(a, b record) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.kind, b.kind))
	})
	for _, l := range all {
		out.WriteString(l.line)
		out.WriteByte('\n')
	}
	return out.Flush()
}

// putStates puts the states of all rows up to the time last. Those of a row follow one another
// without gaps or overlaps: one that begins before the last one has ended is shortened.
func (p *paraver) putStates(all *records, last time.Duration) {
	for row, states := range p.states() {
		until := time.Duration(0)
		put := func(from, to time.Duration, state int) {
			if to > from {
				all.put(from, 1, "1:%s:%d:%d:%d", p.at(row), from.Nanoseconds(), to.Nanoseconds(), state)
			}
		}
		for _, t := range states {
			put(until, t.from, paraverIdle)
			put(max(until, t.from), t.to, t.state)
			until = max(until, t.to)
		}
		put(until, last, paraverIdle)
	}
}

// putMessage puts a communication between two rows.
func (p *paraver) putMessage(all *records, from int, sent time.Duration, to int, received time.Duration, bytes int64,
	job uint64) {
	all.put(sent, 3, "3:%s:%d:%d:%s:%d:%d:%d:%d", p.at(from), sent.Nanoseconds(), sent.Nanoseconds(),
		p.at(to), received.Nanoseconds(), received.Nanoseconds(), bytes, job)
}

func (p *paraver) putCopies(all *records) {
	for _, x := range p.Copies {
		from, to := p.host, p.workers[x.Worker]
		if x.Node != "" {
			from = p.workers[x.From]
		}
		if x.Out {
			from, to = to, from
		}
		p.putMessage(all, from, x.Start, to, x.End, x.Bytes, x.Job)
	}
}

// putEvents puts, for each change of a worker's task, the values of all event types from then on.
func (p *paraver) putEvents(all *records) {
	types := p.eventTypes()
	for w, row := range p.byWorker() {
		for _, c := range row.changes() {
			var values strings.Builder
			for i, t := range types {
				var v uint64
				if c.now != nil {
					v = t.of(c.now)
				}
				fmt.Fprintf(&values, ":%d:%d", paraverEvents+i, v)
			}
			all.put(c.at, 2, "2:%s:%d%s", p.at(p.workers[w]), c.at.Nanoseconds(), &values)
		}
	}
}

// putEdges puts the edges along which data flow within a node; between nodes there are the copies.
// It leaves out the edges of operands that were released early, whose reader began before the writer
// ended: Paraver would see messages that arrive before they are sent.
func (p *paraver) putEdges(all *records) {
	tasks := p.lastAttempts()
	for _, d := range p.Edges {
		from, ok := tasks[taskKey{d.Job, d.From}]
		to, ok2 := tasks[taskKey{d.Job, d.To}]
		if !ok || !ok2 || d.Kind != graph.RAW || from.End > to.Start {
			continue
		}
		if a, b := p.workers[from.Worker], p.workers[to.Worker]; p.lines[a].node == p.lines[b].node {
			p.putMessage(all, a, from.End, b, to.Start, d.Bytes, d.Job)
		}
	}
}

// eventType is one thing that an event record says of a worker: 0 between tasks.
type eventType struct {
	name   string
	values map[string]int // what they mean; nil: numbers
	of     func(o *occupation) uint64
}

// eventTypes returns all of them, in the order of their numbers.
func (p *paraver) eventTypes() []eventType {
	flag := func(set bool) uint64 {
		if set {
			return 1
		}
		return 0
	}
	return []eventType{
		{"Operation", p.ops, func(o *occupation) uint64 { return uint64(p.ops[o.Op]) }},
		{"Version", p.versions, func(o *occupation) uint64 { return uint64(p.versions[o.Version]) }},
		{"Task", nil, func(o *occupation) uint64 { return o.Task }},
		{"Job", nil, func(o *occupation) uint64 { return o.Job }},
		{"Failed attempt", map[string]int{"Failed": 1}, func(o *occupation) uint64 { return flag(o.Failed) }},
		{"Member of a gang", map[string]int{"Share of a task that another worker leads": 1},
			func(o *occupation) uint64 { return flag(o.share) }},
	}
}

// config writes the .pcf: defaults of the display, and the names of states, event types
// and their values. Value 0 is the end of what was before.
func (p *paraver) config(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, `DEFAULT_OPTIONS

LEVEL               THREAD
UNITS               NANOSEC
LOOK_BACK           100
SPEED               1
FLAG_ICONS          ENABLED
NUM_OF_STATE_COLORS 1000
YMAX_SCALE          37

DEFAULT_SEMANTIC

THREAD_FUNC         State As Is

STATES
0    Idle
1    Running
3    Waiting for data

STATES_COLOR
0    {117,195,255}
1    {0,0,255}
3    {255,0,0}
`)
	for i, t := range p.eventTypes() {
		fmt.Fprintf(out, "\nEVENT_TYPE\n0    %d    %s\n", paraverEvents+i, t.name)
		if t.values == nil {
			continue
		}
		fmt.Fprintf(out, "VALUES\n0      End\n")
		for _, n := range slices.SortedFunc(maps.Keys(t.values),
			func(a, b string) int { return cmp.Compare(t.values[a], t.values[b]) }) {
			fmt.Fprintf(out, "%d      %s\n", t.values[n], cmp.Or(n, "unnamed"))
		}
	}
	return out.Flush()
}

// rows writes the .row: the names of CPUs, nodes and threads.
func (p *paraver) rows(w io.Writer) error {
	out := bufio.NewWriter(w)
	level := func(kind string, names ...string) {
		fmt.Fprintf(out, "LEVEL %s SIZE %d\n", kind, len(names))
		for _, n := range names {
			fmt.Fprintln(out, n)
		}
		fmt.Fprintln(out)
	}
	var rows, nodes []string
	for _, l := range p.lines {
		rows = append(rows, l.name)
	}
	for _, n := range p.nodes {
		nodes = append(nodes, n.Name)
	}
	level("CPU", rows...)
	level("NODE", nodes...)
	level("THREAD", rows...)
	return out.Flush()
}
