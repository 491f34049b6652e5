package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// mixFor returns op "mix" under another name, with a version for each of some processors.
func mixFor(name string, processors ...string) *versions.Op {
	op := *ops()[0]
	op.Name, op.Versions = name, nil
	for _, p := range processors {
		op.Versions = append(op.Versions, versions.Version{Name: p, Constraints: versions.Constraints{Processor: p}, Run: ops()[0].Versions[0].Run})
	}
	return &op
}

// unlike has nodes be of these workers: agents in turn, the driver the first ones. All know
// these ops.
func unlike(t testing.TB, all []*versions.Op, workers ...[]exec.Resource) func(*cluster.Options) {
	return func(o *cluster.Options) {
		i := 0
		if _, err := fmt.Sscanf(o.Transport.Self(), "agent%d", &i); err == nil {
			i++
		}
		rt, err := exec.NewLocal(exec.Options{Resources: workers[i%len(workers)], Float: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { rt.Close() })
		o.Runtime, o.Ops = rt, append(ops(), all...)
	}
}

// of returns so many workers of a processor, for some ops only.
func of(workers int, processor string, ops ...string) exec.Resource {
	return exec.Resource{Workers: workers, Target: versions.Target{Processor: processor, Ops: ops}}
}

// TestUnlikeNodes: random programs on a Xeon, a KNL for which one op has a version, and a node
// with both kinds of worker, under every policy and by owners: each task runs where it can,
// and what comes out is right.
func TestUnlikeNodes(t *testing.T) {
	leaves(t)
	all := []*versions.Op{mixFor("both", "Xeon", "KNL"), mixFor("xeon", "Xeon"), mixFor("knl", "KNL"), mixFor("some", "Xeon", "KNL")}
	for _, kind := range append(dispatch.Kinds(), 255) {
		t.Run(kind.String(), func(t *testing.T) {
			idle := kind%2 == 0
			set := unlike(t, all, []exec.Resource{of(1, "Xeon")}, []exec.Resource{of(2, "Xeon")},
				[]exec.Resource{of(2, "Phi (KNL)", "mix", "both", "knl")}, []exec.Resource{of(1, "Xeon"), of(1, "KNL")})
			n := start(t, 3, func(o *cluster.Options) {
				set(o)
				if o.Idle, o.Window, o.Owner = idle, 60, kind == 255; !o.Owner {
					o.Policy = kind
				}
			})
			for seed := range uint64(3) {
				rng := rand.New(rand.NewPCG(seed, uint64(kind)))
				p := newProgram(nil, rng, 3+int(seed)*6, 250, 50)
				for i := range p.data {
					p.data[i].Owner = int32(i)
				}
				j := n.NewJob(context.Background())
				for i := range p.specs {
					s := &p.specs[i]
					s.Op = all[rng.IntN(len(all))]
					if rng.IntN(4) == 0 {
						s.Op, s.Constraints = all[0], &versions.Constraints{Processor: []string{"KNL", "Xeon"}[rng.IntN(2)]}
					}
					if _, err := j.Submit(s); err != nil {
						t.Fatal(err)
					}
				}
				if err := j.Wait(); err != nil {
					t.Fatal(err)
				}
				p.check(t)
			}
			versions := map[string][]string{"driver": {"Xeon"}, "agent0": {"Xeon"}, "agent1": {"KNL"}, "agent2": {"Xeon", "KNL"}}
			if idle {
				versions["driver"] = nil
			}
			for i, u := range n.Usage() {
				for _, r := range u.Ran {
					if !slices.Contains(versions[u.Node], r.Version) || r.Op == "some" && u.Node == "agent1" {
						t.Errorf("%s ran %+v", u.Node, r)
					}
				}
				if len(u.Ran) == 0 && i > 0 {
					t.Errorf("%s has done nothing", u.Node)
				}
			}
		})
	}
}

// TestNoNode: what no node can execute is refused, and the error says what is missing on each;
// a node that joins takes it, and when that is lost, what waits for it fails.
func TestNoNode(t *testing.T) {
	leaves(t)
	for _, owner := range []bool{false, true} { // in virtual time
		synctest.Test(t, func(t *testing.T) { noNode(t, owner) })
	}
}

func noNode(t *testing.T, owner bool) {
	knl := mixFor("knl", "KNL")
	set := unlike(t, []*versions.Op{knl}, []exec.Resource{of(1, "Xeon")}, []exec.Resource{of(1, "Xeon")}, []exec.Resource{of(1, "KNL")})
	n := start(t, 1, func(o *cluster.Options) {
		set(o)
		o.Owner, o.Idle = owner, true
	})
	data := []graph.Datum{{Value: new(number), Bytes: 8}, {Value: new(number), Bytes: 8}}
	j := n.NewJob(context.Background())
	submit := func(s graph.Spec, k int) error {
		s.Params = &mix{Writes: 1, Reads: 1, Sleep: 2000}
		s.Operands = []graph.Operand{{Datum: &data[k], Mode: graph.InOut}}
		_, err := j.Submit(&s)
		return err
	}
	missing := func(what string, err error, words ...string) {
		t.Helper()
		var none *cluster.NoNodeError
		var version *versions.NoVersionError
		if !errors.As(err, &none) || !errors.As(err, &version) {
			t.Fatalf("%s: %v", what, err)
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v, without %q", what, err, w)
			}
		}
	}
	missing("op", submit(graph.Spec{Op: knl}, 0), "no node can execute knl; driver: ", "; agent0: ", "KNL: needs processor KNL, this one is Xeon")
	missing("constraints", submit(graph.Spec{Op: n.op, Constraints: &versions.Constraints{Memory: 1 << 60}}, 0), "the task: needs 1 EiB of memory", "agent0")
	bound := *n.op
	bound.Bound = true
	missing("bound", submit(graph.Spec{Op: &bound, Constraints: &versions.Constraints{Processor: "KNL"}}, 0), "driver: ")
	if err := submit(graph.Spec{Op: n.op}, 1); err != nil { // the job goes on
		t.Fatal(err)
	}
	n.More()
	if err := n.Await(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	// The job takes the node a little later than others see it.
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if err := submit(graph.Spec{Op: knl}, 0); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	if u := n.Usage(); u[2].Tasks["knl"] != 1 || len(u[2].Kinds) != 1 || u[2].Kinds[0].Target.Processor != "KNL" {
		t.Errorf("%+v", u[2])
	}
	for range 50 {
		if err := submit(graph.Spec{Op: knl}, 0); err != nil {
			t.Fatal(err)
		}
	}
	n.Kill[1]()
	err := j.Wait()
	missing("the node left", err, "agent0: ")
	if task := (*exec.TaskError)(nil); !errors.As(err, &task) || task.Op != "knl" {
		t.Errorf("the node left: %v", err)
	}
}

// TestUnlikeShares: under eft and by owners the node that lacks an op has what it can of the
// others, and is to own by what it can execute.
func TestUnlikeShares(t *testing.T) {
	leaves(t)
	for _, owner := range []bool{false, true} { // in virtual time
		synctest.Test(t, func(t *testing.T) { unlikeShares(t, owner) })
	}
}

func unlikeShares(t *testing.T, owner bool) {
	heavy, light := mixFor("heavy", "Xeon", "KNL"), mixFor("light", "Xeon", "KNL")
	set := unlike(t, []*versions.Op{heavy, light}, []exec.Resource{of(1, "Xeon")}, []exec.Resource{of(1, "Xeon")}, []exec.Resource{of(1, "KNL", "heavy")}, []exec.Resource{of(1, "Xeon", "light")})
	n := start(t, 3, func(o *cluster.Options) {
		set(o)
		if o.Idle, o.Owner = true, owner; !owner {
			o.Policy = dispatch.EarliestFinish
		}
	})
	data := make([]graph.Datum, 12)
	for i := range data {
		data[i] = graph.Datum{Value: new(number), Bytes: 8, Owner: int32(i % 3)}
	}
	j := n.NewJob(context.Background())
	for round := range 10 {
		for i := range data {
			s := graph.Spec{Op: heavy, Params: &mix{Writes: 1, Reads: 1, Sleep: 900}, Operands: []graph.Operand{{Datum: &data[i], Mode: graph.InOut}}}
			if round%5 == 4 {
				s.Op, s.Params = light, &mix{Writes: 1, Reads: 1, Sleep: 100}
			}
			if _, err := j.Submit(&s); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	speeds := n.Speeds() // of agents
	if len(speeds) != 3 {
		t.Fatalf("owner %v: speeds %v", owner, speeds)
	}
	for i, u := range n.Usage()[1:] {
		heavy, light, speed := u.Tasks["heavy"], u.Tasks["light"], speeds[i]
		var ok bool
		switch u.Node {
		case "agent0":
			ok = heavy >= 24 && speed > 0.5
		case "agent1":
			ok = heavy >= 24 && light == 0 && speed > 0.5
		default:
			ok = heavy == 0 && speed > 0 && speed < 0.3
		}
		if !ok {
			t.Errorf("owner %v: %s has executed %d and %d tasks, and its speed is %v", owner, u.Node, heavy, light, speed)
		}
	}
}
