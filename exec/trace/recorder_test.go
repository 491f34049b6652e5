package trace

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// TestLimit: of each worker the latest events are kept, in order.
func TestLimit(t *testing.T) {
	r := Recorder{Limit: 3}
	sink := r.Sink(0)
	var all []Event
	for i := range 10 {
		e := Event{Task: uint64(i + 1), End: time.Duration(i + 1)}
		sink(e)
		all = append(all, e)
		want := all[max(0, len(all)-3):]
		if got := r.Events(); !slices.Equal(got, want) {
			t.Fatalf("after %d: %v, want %v", i+1, got, want)
		}
		for since := range time.Duration(12) {
			for most := range 5 {
				after := slices.DeleteFunc(slices.Clone(want), func(e Event) bool { return e.End <= since })
				after = after[max(0, len(after)-most):]
				if got := r.After(since, most); !slices.Equal(got, after) {
					t.Fatalf("%d events, %d after %v: %v, want %v", i+1, most, since, got, after)
				}
			}
		}
	}
	if got := r.Totals(); len(got) != 1 || got[0].Calls != 10 || got[0].Busy != 55 {
		t.Errorf("totals %v", got)
	}
	r.Reset()
	if got := r.Events(); len(got) != 0 || len(r.Totals()) != 0 {
		t.Errorf("after Reset: %v", got)
	}
}

// TestWords: events keep their texts, whichever they have in common, and those of
// events that are gone are forgotten in the end.
func TestWords(t *testing.T) {
	const limit = 7
	var q ring
	var all []Event
	for i := range 5000 {
		n := strconv.Itoa(i)
		e := Event{Task: uint64(i), Op: "op" + strconv.Itoa(i/3%4), Version: "op" + strconv.Itoa(i%5), Datum: n, Worker: i % 3, I: int32(i), J: -1, Failed: i%2 == 0}
		if i%4 == 0 {
			e.Datum = ""
		}
		q.put(&e, limit)
		all = append(all, e)
		if want, got := all[max(0, len(all)-limit):], q.appendTo(nil); !slices.Equal(got, want) {
			t.Fatalf("after %d: %v, want %v", i+1, got, want)
		}
	}
	if n := len(q.sorts.all) + len(q.data.all); n > 3*limit+1001 {
		t.Errorf("%d texts are kept for %d events", n, limit)
	}
}

// TestEager: tasks that begin before those that they depend on end, because
// operands are handed on, and tasks that run while another one waits in the same
// slot, make neither a path longer than the time that all took nor states that
// overlap.
func TestEager(t *testing.T) {
	at := func(task uint64, worker int, start, end time.Duration) Event {
		return Event{Job: 1, Task: task, Op: "op", Worker: worker, Submitted: 1, Ready: 1, Start: start * ms, End: end * ms}
	}
	r := &Recording{Workers: 2, Events: []Event{at(1, 0, 0, 10), at(2, 1, 4, 20), at(3, 0, 2, 5), at(4, 0, 6, 12)}, Edges: []Edge{{1, 1, 2, graph.RAW, 8}}}
	if p := r.CriticalPath(); p.Length != 20*ms || len(p.Tasks) != 2 {
		t.Errorf("%v by %d tasks", p.Length, len(p.Tasks))
	}
	var prv bytes.Buffer
	if err := r.WriteParaver(&prv, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	until := map[string]int{}
	for line := range strings.Lines(prv.String()) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if f[0] != "1" {
			continue
		}
		from, err1 := strconv.Atoi(f[5])
		to, err2 := strconv.Atoi(f[6])
		if err1 != nil || err2 != nil || from < until[f[1]] || to <= from {
			t.Errorf("a state that overlaps: %s", line)
		}
		until[f[1]] = to
	}
}
