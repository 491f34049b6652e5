package cluster_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// slowly takes long to write that a node has left, which the driver says before it notes what is lost.
type slowly struct{ counts }

func (s *slowly) WithAttrs([]slog.Attr) slog.Handler { return s }
func (s *slowly) WithGroup(string) slog.Handler      { return s }

func (s *slowly) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "a node has left" {
		time.Sleep(100 * time.Millisecond)
	}
	return s.counts.Handle(ctx, r)
}

// TestKeptLeaving: a kept value that is asked for while its node leaves is made again once that is
// noted. In virtual time.
func TestKeptLeaving(t *testing.T) {
	leaves(t)
	synctest.Test(t, func(t *testing.T) {
		defer time.AfterFunc(time.Hour, func() { panic("nothing gets on") }).Stop()
		n := start(t, 2, func(o *cluster.Options) { o.Idle, o.Owner, o.Log = true, true, slog.New(&slowly{}) })
		defer n.Close()
		value := &number{}
		set, err := n.Keep([]versions.Shaped{value})
		if err != nil {
			t.Fatal(err)
		}
		defer set.Release()
		datum := graph.Datum{Value: value, Bytes: 8, Name: "X", Key: graph.Key{Matrix: 3, I: 1, J: 2}, Owner: 0}
		j := n.NewJob(context.Background())
		if _, err := j.Submit(&graph.Spec{Op: n.op, Params: &mix{Writes: 1, Seed: 7}, Operands: []graph.Operand{{Datum: &datum, Mode: graph.Out}}}); err != nil {
			t.Fatal(err)
		}
		if err := j.Wait(); err != nil {
			t.Fatal(err)
		}
		var want, got number
		if err := set.Fetch(context.Background(), value, &want); err != nil || want.n == 0 {
			t.Fatalf("%v, %v", want.n, err)
		}
		n.Kill[0]()
		time.Sleep(10 * time.Millisecond) // the driver has begun to say that it has left
		if err := set.Fetch(context.Background(), value, &got); err != nil || got.n != want.n {
			t.Errorf("%v, %v, want %v", got.n, err, want.n)
		}
	})
}
