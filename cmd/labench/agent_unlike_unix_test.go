//go:build unix

package main

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/node"
	local "github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/mat"
)

// TestUnlikeAgents: agents, which are processes, with AVX2 only, for gemm on a KNL, with a
// simulated device, and with portable versions. What they compute is right, each executes its
// own versions, and keeps what it learns of them; with equal versions the bits are those of
// one machine.
func TestUnlikeAgents(t *testing.T) {
	id := topo.Identify()
	if !id.Has("avx512f") || !id.Has("avx2") {
		t.Skip("no AVX-512F here")
	}
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	xeon := file("xeon.toml", "[[workers]]\ncount = 1\nprocessor = \"Xeon\"\nfeatures = [\"avx2\", \"fma3\"]\n")
	knl := file("knl.toml", "[[workers]]\ncount = 1\nprocessor = \"KNL\"\nunits = 2\nops = [\"gemm\"]\n")
	learned := filepath.Join(dir, "profile.json")
	start := func(agents map[string]string) (first string, all map[string]*exec.Cmd) {
		all = map[string]*exec.Cmd{}
		for name, flags := range agents {
			args := append(strings.Fields(flags), "--listen", "127.0.0.1:0", "--node-timeout", "20s", "--name", name)
			if first != "" {
				args = append(args, "--peers", first)
			}
			c, address := process(t, append([]string{"agent"}, args...)...)
			if all[name] = c; first == "" {
				first = address
			}
		}
		return first, all
	}
	first, all := start(map[string]string{
		"xeon":   "--resources " + xeon + " --profile " + learned,
		"knl":    "--resources " + knl + " --versions knl",
		"device": "--workers 1 --devices sim --versions gemm=cuda,syrk=cuda",
		"plain":  "--workers 1 --versions go",
	})
	ours := map[string][]string{"xeon": {"avx2", "go"}, "knl": {"knl"}, "device": {"cuda"}, "plain": {"go"}}
	gemms := map[string]int{} // a slow node may own too little of a grid to be given one there
	for _, op := range []string{"gemm", "cholesky --distributed"} {
		code, out, errs := labench(t, append(strings.Fields(op), "-n", "400", "--nb", "50", "--cluster", first, "--agents", "4", "--idle", "--workers", "1", "--node-timeout", "20s", "--json", "--repeat", "2", "--warmup", "0")...)
		var r bench.Result
		if err := json.Unmarshal([]byte(out), &r); code != 0 || err != nil || !r.Passed {
			t.Fatalf("%s: exit code %d: %s%s", op, code, errs, out)
		}
		for _, n := range r.Nodes[1:] {
			for _, x := range n.Ran {
				switch {
				case x.Op == "gemm/f64":
					if gemms[n.Name] += x.Tasks; !slices.Contains(ours[n.Name], x.Version) {
						t.Errorf("%s: %s ran %+v", op, n.Name, x)
					}
				case n.Name == "knl":
					t.Errorf("%s: the KNL ran %+v", op, x)
				}
			}
		}
	}
	for name := range ours {
		if gemms[name] == 0 {
			t.Errorf("%s ran no gemm", name)
		}
	}
	code, out, errs := labench(t, "cluster", "status", "--cluster", first, "--agents", "4", "--node-timeout", "20s")
	for _, want := range []string{"KNL, amd64", "for gemm", "1 × ", "cuda"} {
		if code != 0 || !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("status: exit code %d, no %q in\n%s%s", code, want, out, errs)
		}
	}
	if err := all["xeon"].Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := all["xeon"].Wait(); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
	p, warning, err := versions.Load(learned)
	if err != nil || warning != nil {
		t.Fatal(err, warning)
	}
	if !slices.ContainsFunc(p.Timings(), func(x versions.Timing) bool {
		return x.Op == "gemm/f64" && x.Version == "avx2" && x.Processor == "Xeon"
	}) {
		t.Errorf("it has learned %+v", p.Timings())
	}
	for _, c := range all {
		end(c)
	}

	first, _ = start(map[string]string{"xeon": "--versions go --resources " + xeon, "knl": "--versions go --resources " + knl})
	f := node.ClusterFlags{Flags: node.Flags{Name: "driver", Peers: []string{first}, Timeout: 20 * time.Second}, Agents: 2, Idle: true}
	d, leave, err := f.Drive(context.Background(), &cli.App{Out: io.Discard, Err: io.Discard}, 1, nil, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	selector, err := versions.NewSelector(versions.Config{Mode: versions.Static, Only: []string{"go"}})
	if err != nil {
		t.Fatal(err)
	}
	one, err := local.NewLocal(local.Options{Workers: 2, Float: true, Selector: selector})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	var got [2]*mat.TriDense
	for i, rt := range []local.Runtime{one, d} {
		e, err := la.NewEngine(la.Options{Runtime: rt, NB: 40, Direct: -1})
		if err != nil {
			t.Fatal(err)
		}
		c := la.NewCholesky[float64](e)
		if err := c.Factorize(hilbert(200)); err != nil {
			t.Fatal(err)
		}
		got[i] = &mat.TriDense{}
		c.UTo(got[i])
	}
	for k, x := range got[0].RawTriangular().Data {
		if math.Float64bits(x) != math.Float64bits(got[1].RawTriangular().Data[k]) {
			t.Fatalf("element %d is %v, want %v", k, got[1].RawTriangular().Data[k], x)
		}
	}
}

// hilbert returns a positive definite matrix.
func hilbert(n int) *mat.SymDense {
	a := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			a.SetSym(i, j, 1/float64(1+i+j))
		}
		a.SetSym(i, i, 2)
	}
	return a
}
