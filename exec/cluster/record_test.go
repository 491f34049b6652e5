package cluster_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/trace"
)

// TestRecord: the driver's recorder has each task of each node, on a row of that node, by one
// clock, and the copies between nodes.
func TestRecord(t *testing.T) {
	leaves(t)
	synctest.Test(t, record) // in virtual time
}

func record(t *testing.T) {
	r := &trace.Recorder{Dependencies: true}
	n := start(t, 2, func(o *cluster.Options) {
		o.Idle, o.Owner = true, true
		if o.Transport.Self() == "driver" {
			o.Trace = r
		}
	})
	const rounds = 10
	ring(t, n, rounds, 500)
	now := r.Now()
	x := r.Recording()
	if len(x.Events) != 4*rounds || len(x.Edges) == 0 || x.Workers < 5 {
		t.Fatalf("%d events, %d edges, %d workers", len(x.Events), len(x.Edges), x.Workers)
	}
	tasks := map[uint64]trace.Event{}
	for _, e := range x.Events {
		if !strings.HasPrefix(x.Names[e.Worker], "agent") || e.Op != "mix" || e.Version != "go" || e.Datum != "A" {
			t.Errorf("%s: %+v", x.Names[e.Worker], e)
		}
		if e.Start < e.Ready || e.Ready < e.Submitted || e.End < e.Start+400*time.Microsecond || e.End > now {
			t.Errorf("submitted %v, ready %v, %v to %v, and now %v", e.Submitted, e.Ready, e.Start, e.End, now)
		}
		tasks[e.Task] = e
	}
	for _, e := range x.Edges {
		if from, to := tasks[e.From], tasks[e.To]; e.Kind == graph.RAW && from.End > to.Start+200*time.Microsecond { // by clocks of two nodes
			t.Errorf("task %d ends at %v, and %d, which needs it, starts at %v", e.From, from.End, e.To, to.Start)
		}
	}
	between := 0
	for _, c := range x.Copies {
		if strings.HasPrefix(c.Node, "agent") && x.Names[c.From] == c.Node+" 0" && c.From != c.Worker {
			between++
		}
	}
	if between == 0 {
		t.Errorf("no copies between agents of %d", len(x.Copies))
	}
	var prv, pcf, row, chrome bytes.Buffer
	if err := x.WriteParaver(&prv, &pcf, &row); err != nil {
		t.Fatal(err)
	}
	header, _, _ := strings.Cut(prv.String(), "\n")
	if n := strings.Count(prv.String(), "\n3:"); n < len(x.Copies) || !strings.Contains(header, "_ns:3(") || !strings.Contains(row.String(), "agent1 1") || !strings.Contains(row.String(), "LEVEL NODE SIZE 3\ndriver\nagent") {
		t.Errorf("%s: %d communications in the trace\n%s", header, n, &row)
	}
	if err := x.WriteChrome(&chrome); err != nil || !json.Valid(chrome.Bytes()) {
		t.Errorf("no JSON: %v", err)
	}
}
