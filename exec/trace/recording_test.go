package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

const ms = time.Millisecond

// diamond is the recording of 1 → 2, 3 → 4 on two workers, with a pause and a
// failed first attempt at 3:
//
//	worker 0  1111 2222222 ..... 4444
//	worker 1  .... 33 3333333333 ....
func diamond() *Recording {
	at := func(task uint64, worker int, ready, start, end time.Duration) Event {
		return Event{Job: 1, Task: task, Op: fmt.Sprintf("op%d/f64", task%2), Version: "go", Worker: worker,
			Datum: "A", I: int32(task), Submitted: 1, Ready: ready, Start: start, End: end}
	}
	r := &Recording{Began: time.Date(2026, 11, 20, 18, 40, 0, 0, time.UTC), Workers: 2, Events: []Event{
		at(1, 0, 1, 10*ms, 20*ms), at(2, 0, 20*ms, 20*ms, 30*ms), at(4, 0, 50*ms, 51*ms, 60*ms),
		at(3, 1, 20*ms, 20*ms, 25*ms), at(3, 1, 20*ms, 25*ms, 50*ms),
	}}
	r.Events[3].Failed = true
	r.Edges = []Edge{{1, 1, 2, graph.RAW, 800}, {1, 1, 3, graph.RAW, 800}, {1, 2, 4, graph.RAW, 400}, {1, 3, 4, graph.RAW, 200}, {1, 2, 3, graph.WAR, 800}, {1, 4, 9, graph.RAW, 800}}
	r.Pauses = []Pause{{1, 35 * ms, 40 * ms}}
	return r
}

func TestCriticalPath(t *testing.T) {
	r := diamond()
	p := r.CriticalPath()
	var ids []uint64
	for _, e := range p.Tasks {
		ids = append(ids, e.Task)
	}
	// 3 waits for 2 by an anti-dependency: the path goes through both, and through
	// the 5 ms in which they overlap once.
	if !slices.Equal(ids, []uint64{1, 2, 3, 4}) || p.Length != 49*ms || p.Work != 54*ms {
		t.Errorf("path %v, %v of %v", ids, p.Length, p.Work)
	}
	r.Edges = r.Edges[:4]
	if p := r.CriticalPath(); p.Length != 44*ms || math.Abs(p.Bound()-54./44) > 1e-9 {
		t.Errorf("%v, bound %v", p.Length, p.Bound())
	}
	if p := (&Recording{}).CriticalPath(); p.Tasks != nil || p.Bound() != 0 {
		t.Errorf("of nothing: %v", p)
	}
}

// longest is the critical path of a random graph, by enumeration of all paths
// from the end.
func longest(took map[uint64]time.Duration, into map[uint64][]uint64, task uint64) time.Duration {
	var best time.Duration
	for _, p := range into[task] {
		best = max(best, longest(took, into, p))
	}
	return best + took[task]
}

func TestCriticalPathRandom(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		n := 1 + rnd.IntN(12)
		r := &Recording{Workers: 1}
		took, into := map[uint64]time.Duration{}, map[uint64][]uint64{}
		for i := uint64(1); i <= uint64(n); i++ {
			took[i] = time.Duration(1 + rnd.IntN(50))
			r.Events = append(r.Events, Event{Job: 1, Task: i, Start: time.Duration(100 * i), End: time.Duration(100*i) + took[i]})
			for k := uint64(1); k < i; k++ {
				if rnd.IntN(4) == 0 {
					r.Edges = append(r.Edges, Edge{Job: 1, From: k, To: i})
					into[i] = append(into[i], k)
				}
			}
		}
		var want time.Duration
		for i := range took {
			want = max(want, longest(took, into, i))
		}
		p := r.CriticalPath()
		var sum time.Duration
		for _, e := range p.Tasks {
			sum += e.End - e.Start
		}
		if p.Length != want || sum != want {
			t.Fatalf("seed %d: length %v, tasks %v, want %v", seed, p.Length, sum, want)
		}
	}
}

func TestIdle(t *testing.T) {
	idle := diamond().Idle()
	// Worker 0 is idle from 30 to 51: task 4 waits for 3, but for the pause,
	// and is ready for the last millisecond. Worker 1 is idle from 10 to 20,
	// while 2, 3 and 4 wait, and from 50 to 60: for 1 ms task 4 is ready, then
	// nothing is left.
	want := []Idle{{Overhead: 1 * ms, Throttled: 5 * ms, Waiting: 15 * ms}, {Overhead: 1 * ms, Waiting: 10 * ms, NoTask: 9 * ms}}
	if !slices.Equal(idle, want) {
		t.Errorf("got %v, want %v", idle, want)
	}
	if idle := (&Recording{Workers: 2}).Idle(); idle[0].Total() != 0 {
		t.Errorf("of nothing: %v", idle)
	}
}

func TestParallelism(t *testing.T) {
	mean := diamond().Parallelism(5)
	want := []float64{1, 2, 1, 1, 0.9}
	for i := range want {
		if math.Abs(mean[i]-want[i]) > 1e-9 {
			t.Fatalf("got %v, want %v", mean, want)
		}
	}
}

func TestWriteChrome(t *testing.T) {
	var b bytes.Buffer
	if err := diamond().WriteChrome(&b); err != nil {
		t.Fatal(err)
	}
	checkChrome(t, b.Bytes(), 5, 4)
}

// checkChrome holds a file to the rules of the Trace Event Format.
func checkChrome(t *testing.T, file []byte, slicesWant, arrows int) {
	t.Helper()
	var doc struct {
		Unit   string `json:"displayTimeUnit"`
		Events []struct {
			Name, Cat, Ph, Bp string
			Ts                float64
			Dur               *float64
			Pid, Tid          *int
			ID                int
			Args              map[string]any
		} `json:"traceEvents"`
	}
	d := json.NewDecoder(bytes.NewReader(file))
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if doc.Unit != "ns" && doc.Unit != "ms" {
		t.Errorf("unit %q", doc.Unit)
	}
	type slice struct {
		tid      int
		from, to float64
	}
	var tasks []slice
	named := map[int]bool{}
	starts, ends := map[int]slice{}, map[int]slice{}
	for _, e := range doc.Events {
		if e.Pid == nil || e.Tid == nil || e.Name == "" {
			t.Fatalf("event without pid, tid or name: %+v", e)
		}
		switch e.Ph {
		case "M":
			if e.Name == "thread_name" {
				named[*e.Tid] = true
			}
		case "X":
			if e.Dur == nil || *e.Dur < 0 {
				t.Fatalf("complete event without duration: %+v", e)
			}
			if e.Args["task"] != nil {
				tasks = append(tasks, slice{*e.Tid, e.Ts, e.Ts + *e.Dur})
			}
			if !named[*e.Tid] {
				t.Errorf("row %d has no name", *e.Tid)
			}
		case "s":
			starts[e.ID] = slice{*e.Tid, e.Ts, 0}
		case "f":
			if e.Bp != "e" {
				t.Errorf("an arrow that does not bind to the slice around it: %+v", e)
			}
			ends[e.ID] = slice{*e.Tid, e.Ts, 0}
		default:
			t.Errorf("phase %q", e.Ph)
		}
	}
	if len(tasks) != slicesWant || len(starts) != arrows || len(ends) != arrows {
		t.Errorf("%d slices, %d starts, %d ends", len(tasks), len(starts), len(ends))
	}
	checkNesting(t, file)
	in := func(at slice) bool {
		return slices.ContainsFunc(tasks, func(s slice) bool { return s.tid == at.tid && s.from <= at.from && at.from <= s.to+1e-6 })
	}
	for id, s := range starts {
		e, ok := ends[id]
		if !ok || e.from < s.from || !in(s) || !in(e) {
			t.Errorf("arrow %d from %v to %v", id, s, e)
		}
	}
}

func TestWriteParaver(t *testing.T) {
	var prv, pcf, row bytes.Buffer
	if err := diamond().WriteParaver(&prv, &pcf, &row); err != nil {
		t.Fatal(err)
	}
	checkParaver(t, prv.String(), pcf.String(), row.String(), 2)
	for _, want := range []string{
		"#Paraver (20/11/26 at 18:40):60000000_ns:1(2):1:1(2:1)\n",
		"\n1:1:1:1:1:30000000:51000000:0\n",
		"\n1:2:1:1:2:25000000:50000000:1\n",
		"\n3:1:1:1:1:20000000:20000000:2:1:1:2:25000000:25000000:800:1\n",
	} {
		if !strings.Contains(prv.String(), want) {
			t.Errorf("no %q in\n%s", want, prv.String())
		}
	}
}

// checkParaver holds the three files to the rules of the format: the header,
// the number of fields and the ranges of each kind of record, the order of time,
// states that cover each thread without gap or overlap, and types and values
// that the configuration names.
func checkParaver(t *testing.T, prv, pcf, row string, workers int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(prv, "\n"), "\n")
	header := regexp.MustCompile(`^#Paraver \(\d\d/\d\d/\d\d at \d\d:\d\d\):(\d+)_ns:(\d+)\(([\d,]+)\):1:(\d+)\(([\d:,]+)\)$`).FindStringSubmatch(lines[0])
	if header == nil {
		t.Fatalf("header %q", lines[0])
	}
	end, _ := strconv.ParseInt(header[1], 10, 64)
	process, number := []int64{0}, []int64{0} // of the thread on each CPU
	cpus, threads := strings.Split(header[3], ","), strings.Split(header[5], ",")
	for node, n := range cpus {
		if threads[node] != fmt.Sprintf("%s:%d", n, node+1) {
			t.Errorf("header %q: node %d", lines[0], node+1)
		}
		count, _ := strconv.ParseInt(n, 10, 64)
		for k := range count {
			process, number = append(process, int64(node)+1), append(number, k+1)
		}
	}
	if len(process) != workers+1 || header[2] != strconv.Itoa(len(cpus)) || header[4] != header[2] {
		t.Errorf("header %q, want %d CPUs and threads", lines[0], workers)
	}
	named := map[int64]map[int64]bool{}
	var kind int64
	section := ""
	for _, l := range strings.Split(pcf, "\n") {
		f := strings.Fields(l)
		switch {
		case len(f) == 0:
		case f[0] == "EVENT_TYPE" || f[0] == "VALUES" || f[0] == "STATES":
			section = f[0]
		case section == "EVENT_TYPE":
			kind, _ = strconv.ParseInt(f[1], 10, 64)
			named[kind] = nil
		case section == "VALUES":
			v, err := strconv.ParseInt(f[0], 10, 64)
			if err != nil || len(f) < 2 {
				t.Fatalf("value %q", l)
			}
			if named[kind] == nil {
				named[kind] = map[int64]bool{}
			}
			named[kind][v] = true
		}
	}
	now := int64(0)
	at := make([]map[int64]int64, workers+1) // values by type
	until := make([]int64, workers+1)
	for _, l := range lines[1:] {
		var f []int64
		for _, s := range strings.Split(l, ":") {
			v, err := strconv.ParseInt(s, 10, 64)
			if err != nil || v < 0 {
				t.Fatalf("record %q", l)
			}
			f = append(f, v)
		}
		thread := func(f []int64) {
			if f[0] < 1 || f[0] > int64(workers) || f[1] != 1 || f[2] != process[f[0]] || f[3] != number[f[0]] {
				t.Errorf("thread in %q", l)
			}
		}
		thread(f[1:])
		if f[5] < now || f[5] > end {
			t.Errorf("%q at %d, after %d, of %d", l, f[5], now, end)
		}
		now = f[5]
		switch {
		case f[0] == 1 && len(f) == 8:
			if f[5] != until[f[1]] || f[6] <= f[5] || f[6] > end || f[7] > 3 {
				t.Errorf("state %q, the one before ends at %d", l, until[f[1]])
			}
			until[f[1]] = f[6]
		case f[0] == 2 && len(f) >= 8 && len(f)%2 == 0:
			for i := 6; i < len(f); i += 2 {
				values, ok := named[f[i]]
				if !ok || values != nil && !values[f[i+1]] {
					t.Errorf("type or value without a name in %q", l)
				}
				if at[f[1]] == nil {
					at[f[1]] = map[int64]int64{}
				}
				at[f[1]][f[i]] = f[i+1]
			}
		case f[0] == 3 && len(f) == 15:
			thread(f[7:])
			if f[6] < f[5] || f[11] < f[6] || f[12] < f[11] {
				t.Errorf("communication %q goes back in time", l)
			}
		default:
			t.Errorf("record %q", l)
		}
	}
	for w, values := range at {
		for typ, v := range values {
			if v != 0 {
				t.Errorf("worker %d is left with value %d of type %d", w-1, v, typ)
			}
		}
	}
	for w, u := range until[1:] {
		if u != end {
			t.Errorf("the states of worker %d end at %d, want %d", w, u, end)
		}
	}
	if got := strings.Count(row, "\n"); got != 2*workers+6+len(cpus) { // two levels with all names
		t.Errorf("%d lines in\n%s", got, row)
	}
}

func TestWriteDOT(t *testing.T) {
	var b bytes.Buffer
	if err := diamond().WriteDOT(&b, 0); err != nil {
		t.Fatal(err)
	}
	s := b.String()
	for _, want := range []string{"t1_1 [", `A(3,0)`, "t1_2 -> t1_3 [color=red, penwidth=3]", "t1_1 -> t1_3;"} {
		if !strings.Contains(s, want) {
			t.Errorf("no %q in\n%s", want, s)
		}
	}
	if strings.Contains(s, "t1_9") {
		t.Error("a task that did not run")
	}
	render(t, b.Bytes())
	b.Reset()
	if err := diamond().WriteDOT(&b, 3); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); !strings.Contains(s, `"op0/f64" -> "op1/f64" [label="1"]`) || !strings.Contains(s, `4 tasks`) {
		t.Errorf("summary:\n%s", s)
	}
	render(t, b.Bytes())
}

// render lets graphviz draw a graph, where it is installed.
func render(t *testing.T, dot []byte) {
	t.Helper()
	path, err := exec.LookPath("dot")
	if err != nil {
		t.Log("not drawn: graphviz is not installed (make deps)")
		return
	}
	c := exec.Command(path, "-Tsvg")
	c.Stdin = bytes.NewReader(dot)
	if out, err := c.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("<svg")) {
		t.Errorf("dot: %v\n%s", err, out)
	}
}

func TestWriteReport(t *testing.T) {
	var b bytes.Buffer
	if err := diamond().WriteReport(&b, 80); err != nil {
		t.Fatal(err)
	}
	for _, l := range strings.Split(b.String(), "\n") {
		if n := len([]rune(l)); n > 80 {
			t.Errorf("%d columns: %q", n, l)
		}
	}
	for _, want := range []string{"op1/f64", "1 failed", "critical path: 4 tasks", "2 ┤"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	t.Log("\n" + b.String())
}

// TestRandomRecordings writes recordings of random times, as no runtime could
// make them all, in every format.
func TestRandomRecordings(t *testing.T) {
	for seed := range uint64(100) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		workers := 1 + rnd.IntN(4)
		r := &Recording{Began: time.Now(), Workers: workers}
		free := make([]time.Duration, workers)
		end := map[uint64]time.Duration{}
		for i := uint64(1); i <= uint64(rnd.IntN(30)); i++ {
			w := rnd.IntN(workers)
			e := Event{Job: 1, Task: i, Op: fmt.Sprint("op", rnd.IntN(3)), Version: "go", Worker: w, Submitted: time.Duration(i)}
			e.Ready = e.Submitted
			for k := uint64(1); k < i; k++ {
				if rnd.IntN(5) == 0 {
					r.Edges = append(r.Edges, Edge{Job: 1, From: k, To: i})
					e.Ready = max(e.Ready, end[k])
				}
			}
			e.Start = max(e.Ready, free[w]) + time.Duration(rnd.IntN(3))
			e.End = e.Start + time.Duration(rnd.IntN(1000))
			end[i], free[w] = e.End, e.End
			if seed%2 == 1 { // waits, and lets others begin
				free[w] = e.Start + time.Duration(rnd.IntN(int(e.End-e.Start)+1))
			}
			if rnd.IntN(4) == 0 {
				share := e
				share.Worker, share.Submitted, share.Ready = rnd.IntN(workers), 0, 0
				share.Start += time.Duration(rnd.IntN(int(e.End-e.Start) + 1))
				r.Shares = append(r.Shares, share)
			}
			r.Events = append(r.Events, e)
		}
		var prv, pcf, row, js bytes.Buffer
		if err := r.WriteParaver(&prv, &pcf, &row); err != nil {
			t.Fatal(err)
		}
		checkParaver(t, prv.String(), pcf.String(), row.String(), workers)
		if err := r.WriteChrome(&js); err != nil {
			t.Fatal(err)
		}
		checkChrome(t, js.Bytes(), len(r.Events)+len(r.Shares), len(r.Edges))
		if err := r.WriteDOT(io.Discard, rnd.IntN(20)); err != nil {
			t.Fatal(err)
		}
		first, last := r.span()
		var busy time.Duration
		for _, b := range r.Summary().Busy {
			busy += b
		}
		for _, d := range r.Idle() {
			busy += d.Total()
		}
		if want := time.Duration(workers) * (last - first); busy != want {
			t.Fatalf("seed %d: busy and idle %v, want %v", seed, busy, want)
		}
		if err := r.WriteReport(io.Discard, 80); err != nil {
			t.Fatal(err)
		}
	}
}
