package cluster_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
)

// TestStory: a task's story says what it waited for, to which node it went and why, what came
// for it from whom, its attempts, and what happened when nodes were lost.
func TestStory(t *testing.T) {
	leaves(t)
	n, op, release := holding(t, 2, func(o *cluster.Options) {
		o.Stories, o.Log = 6, slog.New(slog.NewTextHandler(io.Discard, nil))
	})
	j := n.NewJob(context.Background())
	data := make([]graph.Datum, 3)
	for i, name := range []string{"A", "B", "C"} {
		data[i] = graph.Datum{Name: name, Key: graph.Key{Matrix: uint32(i + 1)}, Value: &number{}, Bytes: 8, Owner: int32(i)}
	}
	submit := func(s graph.Spec) graph.TaskID {
		t.Helper()
		id, err := j.Submit(&s)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	tells := func(id graph.TaskID, want ...string) {
		t.Helper()
		var text string
		for range 60_000 {
			st, err := j.Story(id)
			if err != nil {
				t.Fatal(err)
			}
			for i := 1; i < len(st.Steps); i++ {
				if st.Steps[i].After < st.Steps[i-1].After {
					t.Fatalf("not in the order of time:\n%v", st)
				}
			}
			rest, all := st.String(), true
			text = rest
			for _, w := range want { // in this order
				_, after, found := strings.Cut(rest, w)
				rest, all = after, all && found
			}
			if all {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
		t.Errorf("story lacks %q, in this order:\n%s", want, text)
	}
	a, b, c := graph.Operand{Datum: &data[0], Mode: graph.InOut}, graph.Operand{Datum: &data[1], Mode: graph.InOut}, graph.Operand{Datum: &data[2], Mode: graph.InOut}
	readA := graph.Operand{Datum: &data[0], Mode: graph.In}
	submit(graph.Spec{Op: n.op, Params: &mix{Writes: 1, Reads: 1}, Operands: []graph.Operand{a}})
	submit(graph.Spec{Op: n.op, Params: &mix{Writes: 1, Reads: 3}, Operands: []graph.Operand{b, readA}})
	submit(graph.Spec{Op: n.op, Params: &mix{Fail: true}, Operands: []graph.Operand{b}, Failure: &graph.Failure{Retries: 1, Then: graph.Ignore}})
	nodes := n.Watch().Nodes // owners are in the order of the driver's nodes
	first, second := nodes[1].Name, nodes[2].Name
	tells(1, "task 1: mix(INOUT A(0,0))", "waiting\n", "ready\n", "sent to "+first+": it owns A(0,0)\n",
		"A(0,0) has come from driver, 8 bytes in ", " on "+first+"\n", "running on "+first+", worker ", ", version go\n", "done on "+first+", worker ")
	tells(2, "needs task 1 by A(0,0) v1 (RAW)", "sent to "+second+": it owns B(0,0)\n", "A(0,0) has come from "+first+", 8 bytes in ", "running on "+second, "done on "+second)
	tells(3, "running on "+second, "failed, and is tried again on "+second, "running on "+second, "failed on "+second, "mix 0 fails")

	submit(graph.Spec{Op: n.op, Params: &mix{Writes: 1, Reads: 1}, Operands: []graph.Operand{a}}) // which only the first node has then
	tells(4, "done on "+first)
	submit(graph.Spec{Op: op, Operands: []graph.Operand{c}})
	tells(5, "sent to "+first+": it owns C(0,0)\n")
	n.killNode(first)
	tells(5, "lost with its node on "+first, "ready\n", "sent to "+second)
	submit(graph.Spec{Op: n.op, Params: &mix{Writes: 1, Reads: 3}, Operands: []graph.Operand{b, readA}})
	tells(6, "put aside until what it reads, and was lost, has been made again\n")
	release()
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	tells(4, "done on "+first, "made again: sent to "+second, "made again: done on "+second)
	tells(1, "done on "+first, "made again: A(0,0) has come from driver", "made again: done on "+second)
	tells(5, "sent to "+second, "running on "+second, "done on "+second)
	tells(6, "put aside", "ready\n", "done on "+second)
	submit(graph.Spec{Op: n.op, Params: &mix{Reads: 1}, Operands: []graph.Operand{readA}})
	submit(graph.Spec{Op: n.op, Params: &mix{}})
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	var none *exec.NoStoryError
	if _, err := j.Story(2); !errors.As(err, &none) || none.Kept != 6 {
		t.Errorf("the story of the second of eight tasks: %v", err)
	}
	tells(8, "sent to "+second+": it is its turn\n")
}
