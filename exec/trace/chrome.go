package trace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// chromeEvent is an event of the Trace Event Format. Its phase, ph, decides which other fields it
// has:
//
//	X      a slice on row tid of process pid: ts and dur in µs
//	M      metadata: the name of the process, the name and place of a row
//	s, f   the two ends of an arrow, which have the id in common; with bp "e" the
//	       head binds to the slice that is around ts, not to the next one
//
// cname is one of the colours that Chrome knows by name; Perfetto chooses its own.
type chromeEvent struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	Time  float64        `json:"ts"` // µs
	Dur   *float64       `json:"dur,omitempty"`
	Pid   int            `json:"pid"`
	Tid   int            `json:"tid"`
	ID    int            `json:"id,omitempty"`
	Bind  string         `json:"bp,omitempty"`
	Color string         `json:"cname,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// WriteChrome writes the recording as JSON in the Trace Event Format, which
// Perfetto (ui.perfetto.dev) and Chrome (chrome://tracing) show: a row for each
// worker, a slice for each attempt at a task and for each share of a gang's member
// in one, an arrow for each edge along which data flow, and a row for the times in
// which the window was full. An accelerator has two rows more, for the copies in
// and out; the time that a worker on cores waited for such a copy is a slice of
// its own before the task's. Slices on a row nest: a task that ran while another
// one waited, and went on longer than that, is on a further row below its
// worker's.
//
// Reference: "Trace Event Format", Google, 2016.
func (r *Recording) WriteChrome(w io.Writer) error {
	rows := r.byWorker()
	c := &chrome{Recording: r, out: bufio.NewWriter(w), tasks: r.lastAttempts(), tids: map[taskKey]int{},
		submission: len(rows), next: len(rows) + 1}
	fmt.Fprintf(c.out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"began\":%q},\"traceEvents\":[",
		r.Began.UTC().Format(time.RFC3339Nano))
	c.describe("process_name", 0, "name", "tessera")
	for worker, row := range rows {
		c.putWorker(worker, row)
	}
	c.putCopies()
	for _, x := range r.Waits {
		c.slice("waits for data", "copy", x.Start, x.End, x.Worker, "grey", map[string]any{"job": x.Job, "task": x.Task})
	}
	if len(r.Pauses) > 0 {
		c.addRow(c.submission, "submission")
	}
	for _, p := range r.Pauses {
		c.slice("window full", "", p.Start, p.End, c.submission, "", map[string]any{"job": p.Job})
	}
	c.putEdges()
	c.out.WriteString("\n]}\n")
	return c.out.Flush()
}

// chromeProcess is the number of the only process.
const chromeProcess = 1

// chrome writes a recording. The rows' tids are the workers' numbers, then the submission's, then
// those of further rows as they come.
type chrome struct {
	*Recording
	out        *bufio.Writer
	separator  string
	tasks      map[taskKey]Event // last attempts
	tids       map[taskKey]int   // their rows
	submission int               // tid
	next       int               // next free tid
	rows       int               // rows so far: they are on the screen in this order
}

// put writes an event.
func (c *chrome) put(e chromeEvent) {
	e.Pid = chromeProcess
	b, err := json.Marshal(e)
	if err != nil {
		panic(err) // it has only numbers and strings
	}
	c.out.WriteString(c.separator + "\n")
	c.out.Write(b)
	c.separator = ","
}

// describe writes an event of metadata.
func (c *chrome) describe(kind string, tid int, key string, value any) {
	c.put(chromeEvent{Name: kind, Phase: "M", Tid: tid, Args: map[string]any{key: value}})
}

// addRow adds a row at the bottom.
func (c *chrome) addRow(tid int, name string) {
	c.describe("thread_name", tid, "name", name)
	c.describe("thread_sort_index", tid, "sort_index", c.rows)
	c.rows++
}

func (c *chrome) slice(name, category string, from, to time.Duration, tid int, color string, args map[string]any) {
	dur := micros(to - from)
	c.put(chromeEvent{Name: name, Cat: category, Phase: "X", Time: micros(from), Dur: &dur, Tid: tid, Color: color,
		Args: args})
}

// arrow draws an arrow from a time on one row to a time on another.
func (c *chrome) arrow(name, category string, id, fromTid int, from time.Duration, toTid int, to time.Duration) {
	c.put(chromeEvent{Name: name, Cat: category, Phase: "s", Time: micros(from), Tid: fromTid, ID: id})
	c.put(chromeEvent{Name: name, Cat: category, Phase: "f", Bind: "e", Time: micros(to), Tid: toTid, ID: id})
}

// putWorker writes the attempts and shares of a worker, on as many rows as it has lanes.
func (c *chrome) putWorker(worker int, row row) {
	lane, lanes := row.lanes()
	tids := make([]int, lanes)
	for k := range tids {
		name := c.name(worker)
		tids[k] = worker
		if k > 0 {
			tids[k] = c.next
			c.next++
			name += fmt.Sprintf(" (%d)", k+1)
		}
		c.addRow(tids[k], name)
	}
	for i := range row {
		o, tid := &row[i], tids[lane[i]]
		color, args := chromeArgs(o, c.tasks)
		c.slice(o.Op, o.Version, o.Start, o.End, tid, color, args)
		if key := o.key(); !o.share && c.tasks[key] == o.Event {
			c.tids[key] = tid
		}
	}
}

// putCopies writes the copies, on a row for each channel. An arrow shows from which node a copy came;
// its id is negative, because those of edges are positive.
func (c *chrome) putCopies() {
	arrows := 0
	for _, ch := range c.channels() {
		c.addRow(c.next, ch.title)
		for _, x := range ch.copies {
			c.slice("copy", "copy", x.Start, x.End, c.next, "", map[string]any{"job": x.Job, "bytes": x.Bytes, "from": x.Node})
			if x.Node != "" {
				arrows--
				c.arrow("copy", "copy", arrows, x.From, x.Start, c.next, x.Start)
			}
		}
		c.next++
	}
}

// putEdges draws an arrow for each edge along which data flow, from the end of one task to the start
// of another. Arrows for all edges would hide everything.
func (c *chrome) putEdges() {
	for i, d := range c.Edges {
		from, ok := c.tasks[taskKey{d.Job, d.From}]
		to, ok2 := c.tasks[taskKey{d.Job, d.To}]
		if ok && ok2 && d.Kind == graph.RAW {
			c.arrow("data", "dependency", i+1, c.tids[from.key()], from.End, c.tids[to.key()], to.Start)
		}
	}
}

// chromeArgs returns the colour and the arguments of the slice of an attempt or share. tasks are
// the last attempts.
func chromeArgs(o *occupation, tasks map[taskKey]Event) (color string, args map[string]any) {
	args = map[string]any{"job": o.Job, "task": o.Task, "version": o.Version}
	if o.Datum != "" {
		args["writes"] = fmt.Sprintf("%s(%d,%d)", o.Datum, o.I, o.J)
	}
	if o.Ready > 0 {
		args["waited for a worker, µs"] = micros(max(o.Start-o.Ready, 0))
	}
	if o.share {
		args["share"] = "as a member of the gang"
		if e, ok := tasks[o.key()]; ok {
			args["share"] = fmt.Sprintf("as a member of the gang of worker %d", e.Worker)
		}
	}
	if o.Failed {
		args["failed"], color = true, "terrible"
	}
	return color, args
}
