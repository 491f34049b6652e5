package la_test

import (
	"math"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

// TestUnlikeNodes: on a node with a device, which executes all that it can, a KNL for gemm only,
// and one with portable versions, all is right: what a node fetches takes the place of what its
// device has. Each node executes what it has versions of.
func TestUnlikeNodes(t *testing.T) {
	one, err := exec.NewLocal(exec.Options{Workers: 2, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	want := computed(t, one, func(string) {})
	processor := topo.Identify()
	knl := op.NewTable().Op("gemm", "f64").Version("knl") != nil && processor.Has("avx512f") // a build for 386 has none
	only := map[string]string{"agent0": "cuda", "agent1": "knl", "agent2": "go"}
	own := map[string]int{} // tasks by their versions; who is slow may own too little for one
	for _, owner := range []bool{false, true} {
		all, _ := simulated(t, 1, 16, 40)
		d, _ := nodesWith(t, 3, func(o *cluster.Options) {
			x := exec.Options{Workers: 1, Float: true}
			c := versions.Config{Mode: versions.Static, Only: []string{"go"}}
			switch o.Transport.Self() {
			case "agent0":
				x.Accelerators, c = all, versions.Config{Mode: versions.Static, Only: []string{"cuda"}}
			case "agent1":
				x.Workers, x.Resources = 0, []exec.Resource{{Workers: 2, Target: versions.Target{Processor: "KNL", Units: 2, Ops: []string{"gemm"}}}}
				if knl {
					c.Only = []string{"knl"}
				}
			}
			s, err := versions.NewSelector(c)
			if err != nil {
				t.Fatal(err)
			}
			x.Selector = s
			rt, err := exec.NewLocal(x)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { rt.Close() })
			o.Runtime, o.Idle, o.Owner = rt, true, owner
		})
		got := computed(t, d, func(string) {})
		for i := range want {
			if w, g := want[i].x, got[i].x; want[i].name != "iterations" && !(math.Abs(w-g) <= 1e-9*max(1, math.Abs(w))) {
				t.Fatalf("owner %v: %s is %v, want %v", owner, want[i].name, g, w)
			}
		}
		for _, u := range d.Usage()[1:] {
			ran := map[string]int{}
			for _, x := range u.Ran {
				ran[x.Version] += x.Tasks
				if u.Node == "agent1" && x.Op != "gemm/f64" && x.Op != "gemm/f32" {
					t.Errorf("owner %v: %s ran %+v", owner, u.Node, x)
				}
			}
			if only[u.Node] != "cuda" && ran["cuda"] > 0 {
				t.Errorf("owner %v: %s ran versions %v", owner, u.Node, ran)
			}
			own[u.Node] += ran[only[u.Node]]
		}
	}
	for node, version := range only {
		if own[node] == 0 && (version != "knl" || knl) {
			t.Errorf("%s ran no version of its own", node)
		}
	}
}
