package trace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// chromeEvent is an event of the Trace Event Format.
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
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"began\":%q},\"traceEvents\":[", r.Began.UTC().Format(time.RFC3339Nano))
	first := true
	put := func(e chromeEvent) {
		if !first {
			out.WriteByte(',')
		}
		first = false
		out.WriteByte('\n')
		b, err := json.Marshal(e)
		if err != nil {
			panic(err) // there are only numbers and strings in it
		}
		out.Write(b)
	}
	const process = 1
	name := func(kind string, tid int, name string) {
		put(chromeEvent{Name: kind, Phase: "M", Pid: process, Tid: tid, Args: map[string]any{"name": name}})
	}
	name("process_name", 0, "tessera")
	tasks := make(map[taskKey]Event, len(r.Events))
	for _, e := range r.byTask() {
		tasks[e.key()] = e
	}
	rows := r.byWorker()
	submission, order := len(rows), 0
	next := submission + 1 // tid of a further row
	tids := make(map[taskKey]int, len(tasks))
	for worker, row := range rows {
		lane, lanes := row.lanes()
		tid := make([]int, lanes)
		for k := range tid {
			tid[k] = worker
			title := r.name(worker)
			if k > 0 {
				tid[k] = next
				next++
				title += fmt.Sprintf(" (%d)", k+1)
			}
			name("thread_name", tid[k], title)
			put(chromeEvent{Name: "thread_sort_index", Phase: "M", Pid: process, Tid: tid[k], Args: map[string]any{"sort_index": order}})
			order++
		}
		for i := range row {
			o := &row[i]
			put(r.chromeSlice(o, process, tid[lane[i]], tasks))
			if key := o.key(); !o.share && tasks[key] == o.Event {
				tids[key] = tid[lane[i]]
			}
		}
	}
	for _, c := range r.channels() {
		name("thread_name", next, c.title)
		put(chromeEvent{Name: "thread_sort_index", Phase: "M", Pid: process, Tid: next, Args: map[string]any{"sort_index": order}})
		for _, x := range c.copies {
			dur := micros(x.End - x.Start)
			put(chromeEvent{Name: "copy", Cat: "copy", Phase: "X", Time: micros(x.Start), Dur: &dur, Pid: process, Tid: next, Args: map[string]any{"job": x.Job, "bytes": x.Bytes}})
		}
		next++
		order++
	}
	for _, x := range r.Waits {
		dur := micros(x.End - x.Start)
		put(chromeEvent{Name: "waits for data", Cat: "copy", Phase: "X", Time: micros(x.Start), Dur: &dur, Pid: process, Tid: x.Worker, Color: "grey",
			Args: map[string]any{"job": x.Job, "task": x.Task}})
	}
	if len(r.Pauses) > 0 {
		name("thread_name", submission, "submission")
		put(chromeEvent{Name: "thread_sort_index", Phase: "M", Pid: process, Tid: submission, Args: map[string]any{"sort_index": order}})
	}
	for _, p := range r.Pauses {
		dur := micros(p.End - p.Start)
		put(chromeEvent{Name: "window full", Phase: "X", Time: micros(p.Start), Dur: &dur, Pid: process, Tid: submission, Args: map[string]any{"job": p.Job}})
	}
	for i, d := range r.Edges {
		from, ok := tasks[taskKey{d.Job, d.From}]
		to, ok2 := tasks[taskKey{d.Job, d.To}]
		if !ok || !ok2 || d.Kind != RAW {
			continue
		}
		put(chromeEvent{Name: "data", Cat: "dependency", Phase: "s", Time: micros(from.End), Pid: process, Tid: tids[from.key()], ID: i + 1})
		put(chromeEvent{Name: "data", Cat: "dependency", Phase: "f", Bind: "e", Time: micros(to.Start), Pid: process, Tid: tids[to.key()], ID: i + 1})
	}
	out.WriteString("\n]}\n")
	return out.Flush()
}

// chromeSlice returns the slice of an attempt or a share. tasks are the last
// attempts.
func (r *Recording) chromeSlice(o *occupation, process, tid int, tasks map[taskKey]Event) chromeEvent {
	dur := micros(o.End - o.Start)
	c := chromeEvent{Name: o.Op, Cat: o.Version, Phase: "X", Time: micros(o.Start), Dur: &dur, Pid: process, Tid: tid,
		Args: map[string]any{"job": o.Job, "task": o.Task, "version": o.Version}}
	if o.Datum != "" {
		c.Args["writes"] = fmt.Sprintf("%s(%d,%d)", o.Datum, o.I, o.J)
	}
	if o.Ready > 0 {
		c.Args["waited for a worker, µs"] = micros(max(o.Start-o.Ready, 0))
	}
	if o.share {
		c.Args["share"] = "as a member of the gang"
		if e, ok := tasks[o.key()]; ok {
			c.Args["share"] = fmt.Sprintf("as a member of the gang of worker %d", e.Worker)
		}
	}
	if o.Failed {
		c.Args["failed"], c.Color = true, "terrible"
	}
	return c
}
