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
// worker, a slice for each attempt at a task, an arrow for each edge along which
// data flow, and a row for the times in which the window was full.
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
	n := r.workers()
	for i := range n {
		name("thread_name", i, fmt.Sprintf("worker %d", i))
	}
	if len(r.Pauses) > 0 {
		name("thread_name", n, "submission")
	}
	for _, e := range r.byTime() {
		dur := micros(e.End - e.Start)
		c := chromeEvent{Name: e.Op, Cat: e.Version, Phase: "X", Time: micros(e.Start), Dur: &dur, Pid: process, Tid: e.Worker,
			Args: map[string]any{"job": e.Job, "task": e.Task, "version": e.Version}}
		if e.Datum != "" {
			c.Args["writes"] = fmt.Sprintf("%s(%d,%d)", e.Datum, e.I, e.J)
		}
		if e.Ready > 0 {
			c.Args["waited for a worker, µs"] = micros(max(e.Start-e.Ready, 0))
		}
		if e.Failed {
			c.Args["failed"], c.Color = true, "terrible"
		}
		put(c)
	}
	for _, p := range r.Pauses {
		dur := micros(p.End - p.Start)
		put(chromeEvent{Name: "window full", Phase: "X", Time: micros(p.Start), Dur: &dur, Pid: process, Tid: n, Args: map[string]any{"job": p.Job}})
	}
	tasks := make(map[taskKey]Event, len(r.Events))
	for _, e := range r.byTask() {
		tasks[e.key()] = e
	}
	for i, d := range r.Edges {
		from, ok := tasks[taskKey{d.Job, d.From}]
		to, ok2 := tasks[taskKey{d.Job, d.To}]
		if !ok || !ok2 || d.Kind != RAW {
			continue
		}
		put(chromeEvent{Name: "data", Cat: "dependency", Phase: "s", Time: micros(from.End), Pid: process, Tid: from.Worker, ID: i + 1})
		put(chromeEvent{Name: "data", Cat: "dependency", Phase: "f", Bind: "e", Time: micros(to.Start), Pid: process, Tid: to.Worker, ID: i + 1})
	}
	out.WriteString("\n]}\n")
	return out.Flush()
}
