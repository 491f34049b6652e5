package trace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// checkNesting holds slices of a Chrome file to what viewers need: on a row, two
// have no time in common or one lies within the other.
func checkNesting(t *testing.T, file []byte) {
	t.Helper()
	var doc struct {
		Events []struct {
			Name, Ph string
			Ts, Dur  float64
			Tid      int
			Args     map[string]any
		} `json:"traceEvents"`
	}
	if err := json.Unmarshal(file, &doc); err != nil {
		t.Fatal(err)
	}
	ns := func(us float64) int64 { return int64(math.Round(us * 1000)) }
	type slice struct{ from, to int64 }
	rows, sorted := map[int][]slice{}, map[int]bool{}
	for _, e := range doc.Events {
		switch {
		case e.Ph == "X":
			rows[e.Tid] = append(rows[e.Tid], slice{ns(e.Ts), ns(e.Ts + e.Dur)})
		case e.Name == "thread_sort_index":
			sorted[e.Tid] = true
		}
	}
	for tid, row := range rows {
		if !sorted[tid] {
			t.Errorf("row %d has no place", tid)
		}
		slices.SortFunc(row, func(a, b slice) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
		var open []slice
		for _, s := range row {
			for len(open) > 0 && open[len(open)-1].to <= s.from {
				open = open[:len(open)-1]
			}
			if len(open) > 0 && s.to > open[len(open)-1].to {
				t.Errorf("row %d: %v crosses %v", tid, s, open[len(open)-1])
			}
			open = append(open, s)
		}
	}
}

// waiting is the recording of tasks that wait several deep on one worker, of
// which the first goes on while the second still waits, beside a worker that has
// a share in the third:
//
//	worker 0  1 1 1 1 1 1 1 1 . .
//	              2 2 2 2 2 2 2 2
//	                3 3
//	worker 1          s
func waiting() *Recording {
	at := func(task uint64, worker int, start, end time.Duration) Event {
		return Event{Job: 1, Task: task, Op: fmt.Sprintf("op%d", task), Version: "go", Worker: worker, Submitted: 1, Ready: 1, Start: start * ms, End: end * ms}
	}
	share := at(3, 1, 40, 50)
	share.Submitted, share.Ready = 0, 0
	return &Recording{Workers: 2, Events: []Event{at(1, 0, 0, 80), at(2, 0, 20, 100), at(3, 0, 30, 50)}, Shares: []Event{share}}
}

// TestLanes: what overlaps in part goes to a row of its own, and no more does.
func TestLanes(t *testing.T) {
	lane, n := waiting().byWorker()[0].lanes()
	if n != 2 || !slices.Equal(lane, []int{0, 1, 0}) {
		t.Errorf("lanes %v of %d", lane, n)
	}
	if _, n := (row{}).lanes(); n != 1 {
		t.Errorf("%d lanes of nothing", n)
	}
	var b bytes.Buffer
	if err := waiting().WriteChrome(&b); err != nil {
		t.Fatal(err)
	}
	checkChrome(t, b.Bytes(), 4, 0)
	for _, want := range []string{`"worker 0 (2)"`, `"share":"as a member of the gang of worker 0"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
}

// TestShares: a member of a gang is not idle, its time is its version's, and it is
// no attempt.
func TestShares(t *testing.T) {
	r := waiting()
	s := r.Summary()
	if u := s.Usage[2]; u.Op != "op3" || u.Calls != 1 || u.Busy != 30*ms {
		t.Errorf("usage %+v", u)
	}
	if !slices.Equal(s.Busy, []time.Duration{100 * ms, 10 * ms}) || s.Span != 100*ms {
		t.Errorf("busy %v of %v", s.Busy, s.Span)
	}
	if idle := r.Idle(); idle[0].Total() != 0 || idle[1].Total() != 90*ms {
		t.Errorf("idle %v", idle)
	}
	if mean := r.Parallelism(10); mean[4] != 2 || mean[5] != 1 {
		t.Errorf("parallelism %v", mean)
	}
	if p := r.CriticalPath(); p.Work != (80+80+20+10)*ms {
		t.Errorf("work %v", p.Work)
	}
	var prv, pcf, rows bytes.Buffer
	if err := r.WriteParaver(&prv, &pcf, &rows); err != nil {
		t.Fatal(err)
	}
	checkParaver(t, prv.String(), pcf.String(), rows.String(), 2)
	for _, want := range []string{
		// the share, and the task that waits underneath where task 3 ends
		"2:2:1:1:2:40000000:60000001:3:60000002:1:60000003:3:60000004:1:60000005:0:60000006:1\n",
		"2:1:1:1:1:50000000:60000001:2:60000002:1:60000003:2:60000004:1:60000005:0:60000006:0\n",
	} {
		if !strings.Contains(prv.String(), want) {
			t.Errorf("no %q in\n%s", want, prv.String())
		}
	}
	// The attempt is not there yet, or any more: what is left must not fail.
	r.Events = nil
	if err := r.WriteReport(io.Discard, 80); err != nil {
		t.Error(err)
	}
	if s := r.Summary(); s.Span != 10*ms || s.Usage[0].Calls != 0 {
		t.Errorf("%+v", s)
	}
}

// TestShareIsRecorded: beside the attempts, within the limit, and not counted.
func TestShareIsRecorded(t *testing.T) {
	r := Recorder{Limit: 2}
	begin := r.Starter(1)
	begin(Running{Op: "op"}, false)
	for i := range 3 {
		r.Share(Event{Task: 1, Op: "op", Worker: 1, Start: time.Duration(i), End: time.Duration(i + 1)})
	}
	if c := r.Counts(); c != (Counts{}) || r.Running()[1] != nil {
		t.Errorf("%+v, running %v", c, r.Running()[1])
	}
	rec := r.Recording()
	if len(rec.Events) != 0 || len(rec.Shares) != 2 || rec.Shares[0].Start != 1 || rec.Shares[1].Start != 2 {
		t.Errorf("%+v", rec)
	}
	if got := r.Totals(); len(got) != 1 || got[0].Calls != 0 || got[0].Busy != 3 {
		t.Errorf("totals %v", got)
	}
	r.Reset()
	if rec := r.Recording(); len(rec.Shares) != 0 {
		t.Errorf("after Reset: %v", rec.Shares)
	}
}
