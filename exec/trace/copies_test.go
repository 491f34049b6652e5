package trace

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// withCopies is a recording of a worker and an accelerator.
func withCopies() *Recording {
	r := &Recorder{}
	r.Sink(0)(Event{Job: 1, Task: 1, Op: "potrf/f64", Version: "go", Worker: 0, Start: 0, End: 4 * time.Millisecond})
	r.Sink(0)(Event{Job: 1, Task: 3, Op: "potrf/f64", Version: "go", Worker: 0, Start: 8 * time.Millisecond, End: 10 * time.Millisecond})
	r.Sink(1)(Event{Job: 1, Task: 2, Op: "gemm/f64", Version: "cuda", Worker: 1, Start: 5 * time.Millisecond, End: 6 * time.Millisecond})
	r.Name(1, "cuda0")
	r.Copy(Copy{Worker: 1, Job: 1, Bytes: 2048, Start: 4 * time.Millisecond, End: 5 * time.Millisecond})
	r.Copy(Copy{Worker: 1, Job: 1, Bytes: 1024, Start: 4500 * time.Microsecond, End: 5500 * time.Microsecond})
	r.Copy(Copy{Worker: 1, Out: true, Job: 1, Bytes: 1024, Start: 6 * time.Millisecond, End: 7 * time.Millisecond})
	r.Wait(Wait{Worker: 0, Job: 1, Task: 3, Start: 6 * time.Millisecond, End: 8 * time.Millisecond})
	return r.Recording()
}

func TestCopies(t *testing.T) {
	r := withCopies()
	s := r.Summary()
	if len(s.Transfers) != 2 || s.Transfers[0] != (Transfer{1, "cuda0 copies in", false, 2, 3072, 1500 * time.Microsecond}) ||
		s.Transfers[1] != (Transfer{1, "cuda0 copies out", true, 1, 1024, time.Millisecond}) {
		t.Errorf("transfers %+v", s.Transfers)
	}
	if len(s.Waited) != 2 || s.Waited[0] != 2*time.Millisecond || s.Waited[1] != 0 {
		t.Errorf("waited %v", s.Waited)
	}
	idle := r.Idle()
	if idle[0][Copying] != 2*time.Millisecond || idle[0].Total() != 4*time.Millisecond || idle[1].Total() != 9*time.Millisecond {
		t.Errorf("idle %v", idle)
	}
	var chrome, prv, pcf, row, report bytes.Buffer
	if err := r.WriteChrome(&chrome); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteParaver(&prv, &pcf, &row); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteReport(&report, 80); err != nil {
		t.Fatal(err)
	}
	checkParaver(t, prv.String(), pcf.String(), row.String(), 5)
	for _, test := range []struct {
		what string
		have string
		want []string
	}{
		{"chrome", chrome.String(), []string{`"worker 0"`, `"cuda0"`, `"cuda0 copies in"`, `"cuda0 copies out"`, `"waits for data"`, `"bytes":2048`}},
		{"prv", prv.String(), []string{":1(5):1:1(5:1)\n", "1:1:1:1:1:6000000:8000000:3\n", "1:4:1:1:4:5000000:5500000:1\n",
			"3:3:1:1:3:4000000:4000000:2:1:1:2:5000000:5000000:2048:1\n", "3:2:1:1:2:6000000:6000000:3:1:1:3:7000000:7000000:1024:1\n"}},
		{"pcf", pcf.String(), []string{"Waiting for data"}},
		{"row", row.String(), []string{"LEVEL THREAD SIZE 5\nworker 0\ncuda0\nhost memory\ncuda0 copies in\ncuda0 copies out\n"}},
		{"report", report.String(), []string{"copy awaited", "cuda0 copies in", "3 KiB", "20.0 %"}},
	} {
		for _, want := range test.want {
			if !strings.Contains(test.have, want) {
				t.Errorf("%s: no %q in\n%s", test.what, want, test.have)
			}
		}
	}
}

// TestParaverNodes: rows belong to their nodes, copies from node to node are communications, and
// edges are if they stay within one.
func TestParaverNodes(t *testing.T) {
	var rec Recorder
	rec.Node(NodeRows{"driver", 0, 1})
	rec.Node(NodeRows{"north", 1, 2})
	rec.Node(NodeRows{"south", 3, 1})
	at := func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }
	ran := func(task uint64, worker, start, end int) {
		rec.Sink(worker)(Event{Job: 1, Task: task, Op: "gemm", Version: "go", Worker: worker, Start: at(start), End: at(end)})
	}
	ran(1, 1, 0, 10)
	ran(2, 2, 12, 20)
	ran(3, 3, 14, 22)
	rec.Copy(Copy{Worker: 3, Node: "north", From: 1, Job: 1, Bytes: 800, Start: at(10), End: at(13)})
	r := rec.Recording()
	r.Edges = []Edge{{Job: 1, From: 1, To: 2, Bytes: 800}, {Job: 1, From: 1, To: 3, Bytes: 800}}
	var prv, pcf, row bytes.Buffer
	if err := r.WriteParaver(&prv, &pcf, &row); err != nil {
		t.Fatal(err)
	}
	checkParaver(t, prv.String(), pcf.String(), row.String(), 5)
	for _, want := range []string{
		"_ns:3(1,2,2):1:3(1:1,2:2,2:3)\n",
		"\n1:3:1:2:2:12000000:20000000:1\n",
		"\n1:5:1:3:2:10000000:13000000:1\n", // the copies that south has taken
		"\n3:2:1:2:1:10000000:10000000:4:1:3:1:13000000:13000000:800:1\n",
		"\n3:2:1:2:1:10000000:10000000:3:1:2:2:12000000:12000000:800:1\n",
	} {
		if !strings.Contains(prv.String(), want) {
			t.Errorf("no %q in\n%s", want, &prv)
		}
	}
	if n := strings.Count(prv.String(), "\n3:"); n != 2 {
		t.Errorf("%d communications in\n%s", n, &prv)
	}
	if want := "LEVEL NODE SIZE 3\ndriver\nnorth\nsouth\n"; !strings.Contains(row.String(), want) || !strings.Contains(row.String(), "north 1\nsouth 0\nsouth 0 copies in\n") {
		t.Errorf("rows\n%s", &row)
	}
}
