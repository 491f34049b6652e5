package cluster_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/monitor"
	"github.com/tessera-la/tessera/exec/trace"
)

// TestPage: the monitor's page of a driver shows its nodes, of which one is lost in the middle
// of a job, and what the script makes of that in a browser.
func TestPage(t *testing.T) {
	leaves(t)
	events := &trace.Recorder{Limit: 100}
	n, op, release := holding(t, 2, func(o *cluster.Options) { o.Trace, o.Memory = events, 1<<20 })
	m, err := monitor.Listen("127.0.0.1:0", events, monitor.Options{Cluster: n.Watch})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		http.DefaultClient.CloseIdleConnections()
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	j := n.NewJob(context.Background())
	data := make([]graph.Datum, 6)
	for i := range data {
		data[i] = graph.Datum{Name: "A", Key: graph.Key{Matrix: 1, I: int32(i)}, Value: &number{}, Bytes: 8, Owner: int32(i)}
		if _, err := j.Submit(&graph.Spec{Op: op, Operands: []graph.Operand{{Datum: &data[i], Mode: graph.InOut}}}); err != nil {
			t.Fatal(err)
		}
	}
	until := func(is func(n []trace.Node) bool) (s monitor.State) {
		t.Helper()
		for range 30_000 {
			answer, err := http.Get(m.URL() + "state")
			if err != nil {
				t.Fatal(err)
			}
			s = monitor.State{}
			err = json.NewDecoder(answer.Body).Decode(&s)
			answer.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			if is(s.Cluster.Nodes) {
				return s
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("%+v", s.Cluster)
		return s
	}
	s := until(func(n []trace.Node) bool { return n[1].Busy == 2 && n[2].Busy == 2 })
	if want := (trace.Counts{Submitted: 6, Ready: 2, Running: 4}); s.Counts != want || len(s.Workers) != 6 || s.Workers[1].Name != "driver 1" {
		t.Errorf("counts %+v, want %+v; workers %+v", s.Counts, want, s.Workers)
	}
	gone := s.Cluster.Nodes[1].Name
	n.killNode(gone)
	until(func(n []trace.Node) bool { return n[1].Lost && n[2].Has == 6 })
	if browser, err := exec.LookPath("chromium"); err == nil && !testing.Short() {
		c := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
			"--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
			"--user-data-dir="+t.TempDir(), "--virtual-time-budget=1500", "--dump-dom", m.URL())
		c.WaitDelay = time.Second
		dom, err := c.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, dom)
		}
		for _, want := range []string{
			"2 of 4 workers busy on 2 nodes",
			`<div id="n-submitted"><b>6</b>submitted</div>`,
			`<tr class="lost"><td>` + gone + `</td><td>lost `,
			"<td>2/2</td>", "<td>2 of 3 there</td>", " of 1.0 MiB</span>",
			"tasks that no other node can execute",
		} {
			if !strings.Contains(string(dom), want) {
				t.Errorf("no %q on the page:\n%s", want, dom)
			}
		}
	}
	release()
	if err := j.Wait(); err != nil {
		t.Error(err)
	}
	if c := n.Watch(); c.Counts.Ended != 6 || c.Nodes[2].Ended != 6 {
		t.Errorf("%+v", c)
	}
}
