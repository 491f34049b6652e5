package cluster

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// TestLostBase: what is kept, and was made from what the program's memory held before the program waited
// for it, is lost for good when the job is over, and the error says so at once.
func TestLostBase(t *testing.T) { synctest.Test(t, lostBase) } // in virtual time

func lostBase(t *testing.T) {
	var said again
	d, kill := copyCluster(t, 2, Copies{Off: true}, 0, slog.New(&said))
	v := &cell{}
	k, err := d.Keep([]versions.Shaped{v})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Release()
	of, kept := graph.Datum{Name: "of", Value: &cell{n: 5}, Bytes: 8}, graph.Datum{Value: v, Bytes: 8}
	j := d.NewJob(t.Context())
	submit := func(operands ...graph.Operand) {
		t.Helper()
		if _, err := j.Submit(&graph.Spec{Op: d.known.ops["add"], Params: &addend{N: 1}, Operands: operands}); err != nil {
			t.Fatal(err)
		}
	}
	submit(graph.Operand{Datum: &of, Mode: graph.InOut})
	if err := j.WaitOn(&of); err != nil {
		t.Fatal(err)
	}
	submit(graph.Operand{Datum: &kept, Mode: graph.InOut}, graph.Operand{Datum: &of, Mode: graph.In})
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	kill[d.Usage()[k.Locate([]versions.Shaped{v})[0]].Node[0]-'a']()
	time.Sleep(time.Second)
	var lost *NodeLostError
	if err := k.Fetch(t.Context(), v, &cell{}); !errors.As(err, &lost) || lost.Data != "of(0,0)" {
		t.Errorf("error %v, want one that says that of(0,0) is lost", err)
	}
	if len(said.tasks) > 0 {
		t.Errorf("tasks were executed again, %d times", len(said.tasks))
	}
}
