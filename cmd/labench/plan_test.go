package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/cmd/labench/internal/planner"
)

// TestPlan: what is said of machines that are not there. Nothing in it depends on this one, so
// every digit is compared.
func TestPlan(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "machine.toml")
	write := func(nodes, rest string) {
		if err := os.WriteFile(file, []byte(`name = "two sockets"
source = "made up"
`+rest+`
[[kind]]
name = "x"
sockets = 2
cores = 4
arch = "amd64"
rate = 10e9
[[nodes]]
kind = "x"
count = `+nodes+`
[network]
latency = 2e-6
bandwidth = 10e9
[costs]
submit = 5e-7
driver = 1e-6
`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var text strings.Builder
	show := func(name, args string, want int) {
		code, out, errs := labench(t, append([]string{"plan", "--machine", file}, strings.Fields(args)...)...)
		if code != want || (errs != "") != (want != 0) {
			t.Errorf("%s: exit code %d: %s", name, code, errs)
		}
		labtest.Narrow(t, name, out)
		if strings.Contains(errs, dir) { // where its lines end depends on the length of that
			errs = strings.Join(strings.Fields(strings.ReplaceAll(errs, dir, "DIR")), " ") + "\n"
		}
		text.WriteString("== " + name + "\n" + out + errs)
	}
	write("1", "")
	show("one node", "cholesky -n 4000 --nb 250", 0)
	show("a table", "lu -n 2000,4000 --nb 200 --sched priority,eft --workers 1,8", 0)
	show("owners of one node", "lu -n 2000 --sched owner", 1)
	write("9", "apart = true")
	show("nodes", "cholesky -n 8000 --nb 250", 0)
	show("a table of nodes", "qr -n 8000 --nb 250 --nodes 1,8 --sched owner,fifo", 0)
	show("grids", "cholesky -n 8000 --nb 250 --grid 1,2,3", 1)
	show("the best grid", "cholesky -n 4000 --nb 250 --nodes 4 --sched owner,fifo --best", 0)
	show("a node that is lost", "lu -n 4000 --nb 250 --nodes 4 --lose 2@20ms-60ms,3@50ms", 0)
	show("after the end", "cholesky -n 4000 --nb 250 --lose 2@20s", 0)
	show("nodes that cannot be lost", "cholesky -n 4000 --lose 0@1s,9@2s", 1)
	show("eigenvalues on nodes", "eigen -n 1500 --nb 100,250 --nodes 1,2,6 --values", 0)
	show("eigenvectors on nodes", "eigen -n 1500 --nb 250 --nodes 3", 0)
	show("a node that is lost with eigenvectors", "eigen -n 1000 --nb 125 --nodes 3 --lose 2@20ms", 0)
	show("one stage on nodes", "eigen -n 1500 --nodes 2 --reduction one-stage", 2)
	show("a grid for eigenvalues", "eigen -n 1500 --nodes 4 --grid 2", 1)
	show("no times", "cholesky --lose 1,x@1s,2@3s-4", 2)
	write("1", "")
	show("the best tile size", "cholesky -n 2000 --sched priority,eft --best --plot "+filepath.Join(dir, "plot.svg"), 0)
	if svg, err := os.ReadFile(filepath.Join(dir, "plot.svg")); err != nil || !strings.Contains(string(svg), "eft") {
		t.Errorf("the plot: %v", err)
	}
	show("the best of two problems", "cholesky -n 2000,4000 --best", 2)
	show("a picture that is none", "cholesky -n 2000 --plot x.pdf", 2)
	show("not an operation", "solve -n 8000", 2)
	show("not a list", "qr -n 8000 --nb x --sched best", 2)
	show("eigenvalues without a bandwidth", "eigen -n 1000", 1)
	show("values of a product", "gemm --values", 2)
	write("0", "")
	show("no nodes", "qr", 1)
	machine := file
	file = "cascadelake2x28"
	show("eigenvalues and vectors, two ways", "eigen -n 1000,8000 --workers 16,56", 0)
	show("eigenvalues alone", "eigen -n 1000,16000 --values --type f32", 0)
	show("one way", "eigen -n 8000 --reduction two-stage", 0)
	show("tiles of eigenvalues on one node", "eigen -n 2000 --nb 100", 2)
	show("singular values and vectors", "svd -n 2000", 0)
	show("singular values, both ways", "svd -n 2000 --values", 0)
	show("vectors in two stages", "svd -n 2000 --reduction two-stage", 0)
	show("tiles of singular values", "svd -n 2000 --nb 100 --best --sched fifo", 2)
	file = machine
	labtest.Golden(t, "forecast", text.String())

	write("5", "")
	csv, trace := filepath.Join(dir, "x.csv"), filepath.Join(dir, "x.json")
	code, out, errs := labench(t, "plan", "gemm", "-n", "1000", "--nb", "250", "--machine", file, "--csv", csv, "--trace", trace, "--json")
	var x planner.Prediction
	if err := json.Unmarshal([]byte(out), &x); err != nil || code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	if sum := x.Sum(); x.Tasks != 64 || x.Count != 5 || x.Workers != 40 || sum.In != x.Moved || x.Path <= 0 || x.Path > x.Seconds {
		t.Errorf("%+v", x)
	}
	for _, f := range []string{csv, trace} {
		if b, err := os.ReadFile(f); err != nil || len(b) == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}

	// Runs with accelerators go by eft, and so do plans.
	write("1", "")
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString("[[kind.device]]\nname = \"d\"\nrate = 1e12\nbandwidth = 1e10\n")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	code, out, errs = labench(t, "plan", "cholesky", "-n", "1000", "--nb", "250", "--machine", file, "--json")
	x = planner.Prediction{}
	if err := json.Unmarshal([]byte(out), &x); err != nil || code != 0 || x.Sched != "eft" || x.Sum().OnDevices == 0 {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}
