package cluster_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// wide is a number on a slow link, which all share to whom its node gives it.
type wide struct {
	number
	takers atomic.Int64
}

// wideTime is how long it takes to give one to another node.
const wideTime = 10 * time.Millisecond

func (v *wide) Bytes() int64             { return 1 << 20 }
func (v *wide) Snapshot() versions.Value { return &wide{number: v.number} }
func (v *wide) Restore(s versions.Value) { v.number = s.(*wide).number }
func (v *wide) Encode(w io.Writer) error {
	v.takers.Add(1)
	defer v.takers.Add(-1)
	for range 10 {
		time.Sleep(time.Duration(v.takers.Load()) * wideTime / 10)
	}
	return v.number.Encode(w)
}

// TestSpread: what all of eight agents want at once comes as a tree. The one that has made it
// gives it to three, and all have it after three times what one copy takes, or a little more: who
// asks at the same time may be served in another order. If one of those that are to pass it on is
// lost meanwhile, others give it.
func TestSpread(t *testing.T) {
	leaves(t)
	const agents = 8
	produce := &versions.Op{Name: "produce", Versions: []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
		c.Args[0].(*wide).n = 7
		return nil
	}}}}
	use := &versions.Op{Name: "use", Versions: []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
		c.Args[1].(*number).n = c.Args[0].(*wide).n
		return nil
	}}}}
	for _, lost := range []time.Duration{0, wideTime / 2, wideTime * 3 / 2, wideTime * 5 / 2} {
		synctest.Test(t, func(t *testing.T) {
			n := startOn(t, transport.NewNetwork().Node, agents, func(o *cluster.Options) {
				o.Idle, o.Owner, o.Stay = true, true, true
				o.Ops, o.Values, o.Log = []*versions.Op{produce, use}, append(o.Values, &wide{}), slog.New(slog.DiscardHandler)
			})
			v := &wide{}
			kept, err := n.Keep([]versions.Shaped{v})
			if err != nil {
				t.Fatal(err)
			}
			panel, data := graph.Datum{Value: v, Bytes: v.Bytes(), Name: "panel"}, make([]graph.Datum, agents)
			owners, rounds, took := n.Nodes(), 1, time.Duration(0)
			if lost == 0 {
				rounds = 10
			}
			for range rounds {
				j, began := n.NewJob(context.Background()), time.Now()
				submit := func(op *versions.Op, o ...graph.Operand) {
					if _, err := j.Submit(&graph.Spec{Op: op, Operands: o}); err != nil {
						t.Fatal(err)
					}
				}
				submit(produce, graph.Operand{Datum: &panel, Mode: graph.Out})
				for i := range data {
					data[i] = graph.Datum{Value: &number{}, Bytes: 8, Owner: int32(i), Key: graph.Key{Matrix: 2, I: int32(i)}}
					submit(use, graph.Operand{Datum: &panel, Mode: graph.In}, graph.Operand{Datum: &data[i], Mode: graph.Out})
				}
				if lost > 0 {
					var next int // to have it
					fmt.Sscanf(owners[2], "agent%d", &next)
					time.AfterFunc(lost, n.Kill[next])
				}
				if err := j.Wait(); err != nil {
					t.Fatal(err)
				}
				took += time.Since(began) / time.Duration(rounds)
				for i := range data {
					if x := data[i].Value.(*number).n; x != 7 {
						t.Errorf("datum %d is %d", i, x)
					}
				}
			}
			given, maker := map[string]int64{}, owners[1]
			for _, u := range n.Usage() {
				for _, f := range u.Flows {
					if f.Data == panel.Name {
						given[f.From] += f.Values
					}
				}
			}
			name := fmt.Sprintf("one lost after %v: %v, gave %v", lost, took, given)
			t.Log(name)
			if lost == 0 && (given[maker] != int64(3*rounds) || took > 5*wideTime) || took > 7*wideTime {
				t.Error(name)
			}
			kept.Release()
			n.Close()
		})
	}
}
