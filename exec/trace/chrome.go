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
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"began\":%q},\"traceEvents\":[",
		r.Began.UTC().Format(time.RFC3339Nano))
	first := true
	put := func(e chromeEvent) {
		if !first {
			out.WriteByte(',')
		}
		first = false
		out.WriteByte('\n')
		b, err := json.Marshal(e)
		if err != nil {
			panic(err) // it has only numbers and strings
		}
		out.Write(b)
	}
	const process = 1
	say := func(kind string, tid int, key string, value any) {
		put(chromeEvent{Name: kind, Phase: "M", Pid: process, Tid: tid, Args: map[string]any{key: value}})
	}
	say("process_name", 0, "name", "tessera")
	tasks := r.lastAttempts()
	rows := r.byWorker()
	// The tid of a row: workers by their numbers, then the submission, then further rows as they
	// come. order is its place on the screen.
	submission, order := len(rows), 0
	next := submission + 1 // next free tid
	// title adds a row at the bottom.
	title := func(tid int, name string) {
		say("thread_name", tid, "name", name)
		say("thread_sort_index", tid, "sort_index", order)
		order++
	}
	slice := func(name, category string, from, to time.Duration, tid int, color string, args map[string]any) {
		dur := micros(to - from)
		put(chromeEvent{Name: name, Cat: category, Phase: "X", Time: micros(from), Dur: &dur, Pid: process, Tid: tid,
			Color: color, Args: args})
	}
	tids := make(map[taskKey]int, len(tasks))
	for worker, row := range rows {
		lane, lanes := row.lanes()
		tid := make([]int, lanes)
		for k := range tid {
			tid[k] = worker
			name := r.name(worker)
			if k > 0 {
				tid[k] = next
				next++
				name += fmt.Sprintf(" (%d)", k+1)
			}
			title(tid[k], name)
		}
		for i := range row {
			o := &row[i]
			color, args := chromeArgs(o, tasks)
			slice(o.Op, o.Version, o.Start, o.End, tid[lane[i]], color, args)
			if key := o.key(); !o.share && tasks[key] == o.Event {
				tids[key] = tid[lane[i]]
			}
		}
	}
	arrows := 0 // negative ids: edges have positive ones
	for _, c := range r.channels() {
		title(next, c.title)
		for _, x := range c.copies {
			slice("copy", "copy", x.Start, x.End, next, "",
				map[string]any{"job": x.Job, "bytes": x.Bytes, "from": x.Node})
			if x.Node == "" {
				continue
			}
			arrows--
			put(chromeEvent{Name: "copy", Cat: "copy", Phase: "s", Time: micros(x.Start), Pid: process, Tid: x.From,
				ID: arrows})
			put(chromeEvent{Name: "copy", Cat: "copy", Phase: "f", Bind: "e", Time: micros(x.Start), Pid: process,
				Tid: next, ID: arrows})
		}
		next++
	}
	for _, x := range r.Waits {
		slice("waits for data", "copy", x.Start, x.End, x.Worker, "grey", map[string]any{"job": x.Job, "task": x.Task})
	}
	if len(r.Pauses) > 0 {
		title(submission, "submission")
	}
	for _, p := range r.Pauses {
		slice("window full", "", p.Start, p.End, submission, "", map[string]any{"job": p.Job})
	}
	// Arrows go from the end of one task to the start of another. Only edges with data flow get
	// one: all would hide everything.
	for i, d := range r.Edges {
		from, ok := tasks[taskKey{d.Job, d.From}]
		to, ok2 := tasks[taskKey{d.Job, d.To}]
		if !ok || !ok2 || d.Kind != graph.RAW {
			continue
		}
		put(chromeEvent{Name: "data", Cat: "dependency", Phase: "s", Time: micros(from.End), Pid: process,
			Tid: tids[from.key()], ID: i + 1})
		put(chromeEvent{Name: "data", Cat: "dependency", Phase: "f", Bind: "e", Time: micros(to.Start), Pid: process,
			Tid: tids[to.key()], ID: i + 1})
	}
	out.WriteString("\n]}\n")
	return out.Flush()
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
