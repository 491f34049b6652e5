package bench

import (
	"context"
	"reflect"
	"testing"
)

// TestTallied: what nodes did before the runs does not count, a node that is lost or comes between them
// is said to, and one that was lost before is not.
func TestTallied(t *testing.T) {
	ran := func(tasks int) []Ran { return []Ran{{Op: "gemm", Version: "go", Tasks: tasks, Seconds: 1}} }
	node := func(name string, lost bool, tasks int, in int64) Node {
		return Node{Name: name, Workers: 1, Lost: lost, Tasks: map[string]int{"gemm": tasks}, Ran: ran(tasks), In: in}
	}
	at := [][]Node{
		{node("driver", false, 1, 1), node("x", true, 5, 5), node("a", false, 10, 100), node("b", false, 10, 100)}, // before
		{node("driver", false, 1, 1), node("x", true, 5, 5), node("a", false, 20, 200), node("b", false, 20, 200)}, // the first run
		{node("driver", false, 1, 1), node("x", true, 5, 5), node("a", false, 20, 200), node("b", false, 20, 200)},
		{node("driver", false, 1, 1), node("x", true, 5, 5), node("a", false, 35, 250), node("b", true, 24, 220), node("c", false, 1, 7)},
	}
	next := 0
	once, nodes := tallied(func(context.Context) error { return nil }, func() []Node {
		next++
		return at[next-1]
	})
	for range 2 {
		if err := once(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	type line struct {
		name             string
		lost, gone, late bool
		tasks            int
		in               int64
	}
	var got []line
	for _, n := range nodes() {
		got = append(got, line{n.Name, n.Lost, n.Gone, n.Late, n.Tasks["gemm"], n.In})
	}
	want := []line{{"driver", false, false, false, 0, 0}, {"x", true, true, false, 0, 0}, {"a", false, false, false, 25, 150}, {"b", true, false, false, 14, 120}, {"c", false, false, true, 1, 7}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, x := range []struct {
		nodes []Node
		want  string
	}{
		{nodes(), "b was lost meanwhile, and others had its tiles"},
		{nodes()[:3], ""},
		{nodes()[4:], "c came meanwhile"},
	} {
		if got := changed(x.nodes); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}
