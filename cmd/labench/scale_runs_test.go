package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/internal/cli"
	"go.uber.org/goleak"
)

// The whole way, through the root command and la.
func TestScaleRuns(t *testing.T) {
	defer goleak.VerifyNone(t, labtest.Stays()...)
	plot := filepath.Join(t.TempDir(), "plot.png")
	var out, errOut bytes.Buffer
	a := &cli.App{Out: &out, Err: &errOut, NoPeak: true}
	args := []string{"scale", "gemm", "-n", "64,150", "--workers", "1,2", "--nb", "48,auto", "--versions", "go", "--type", "f32", "--profile", "none", "--plot", plot}
	if code := run(t.Context(), a, args); code != cli.ExitPassed {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	text, _, _ := strings.Cut(out.String(), "~ disturbed,") // as chance has it
	if n := strings.Count(text, "\n"); n != 8+8 {
		t.Errorf("%d lines:\n%s", n, out.String())
	}
	labtest.CheckPicture(t, plot)
	if code := run(t.Context(), a, []string{"scale", "gemm", "syrk"}); code != cli.ExitUsage {
		t.Errorf("exit code of two operations: %d", code)
	}
}

// A sweep over numbers of nodes, which are processes here.
func TestScaleNodes(t *testing.T) {
	t.Setenv("TEST_LABENCH", "1")
	dir := t.TempDir()
	machine := filepath.Join(dir, "machine.toml")
	if err := os.WriteFile(machine, []byte(twoNodes), 0o600); err != nil {
		t.Fatal(err)
	}
	args := "scale cholesky -n 200 --nb 64 --cluster local:1:2 --distributed --sched owner,fifodata --workers 1 --repeat 1 --warmup 0 --versions go --profile none --node-timeout 20s --json --machine " + machine
	code, out, errs := labench(t, append(strings.Fields(args), "--csv", filepath.Join(dir, "x.csv"), "--plot", filepath.Join(dir, "x.svg"))...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	var seen []string
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		var p struct {
			Nodes                         int `json:"nodes_computing"`
			Sched                         string
			Passed                        bool
			Residual, Speedup, Efficiency float64
			Planned                       float64 `json:"gflops_planned"`
			Versions                      map[string]int
		}
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, fmt.Sprint(p.Nodes, p.Sched))
		if !p.Passed || p.Residual <= 0 || p.Planned <= 0 || p.Speedup <= 0 || p.Efficiency != p.Speedup/float64(p.Nodes) || p.Versions["gemm/go"] == 0 {
			t.Errorf("%+v", p)
		}
	}
	if want := []string{"1owner", "2owner", "1fifodata", "2fifodata"}; !slices.Equal(seen, want) {
		t.Errorf("points %q, want %q", seen, want)
	}
	if csv, err := os.ReadFile(filepath.Join(dir, "x.csv")); err != nil || strings.Count(string(csv), "\n") != 5 || !strings.Contains(string(csv), "gflops_planned") {
		t.Errorf("%v: %s", err, csv)
	}
	if svg, err := os.ReadFile(filepath.Join(dir, "x.svg")); err != nil || !strings.Contains(string(svg), "nodes") || !strings.Contains(string(svg), "plan") {
		t.Errorf("the plot has no nodes, or no plan: %v", err)
	}
	for args, want := range map[string]string{
		"--cluster local:1:2 --nodes 1,2":                     "exclude each other",
		"--cluster local:2:1":                                 "is not allowed",
		"--cluster 127.0.0.1:1 --workers 2":                   "each agent has its own",
		"--cluster local:2 --workers 1,2":                     "give one",
		"--cluster local:2 --oversubscribe 2":                 "excludes --oversubscribe",
		"--nodes 2":                                           "are for --cluster",
		"--distributed":                                       "is for --cluster",
		"--cluster local:2 --machine x":                       "is for --distributed",
		"--cluster local:2 --sched owner":                     `"owner" is not allowed`,
		"--cluster local:2 --distributed --sched owner,wrong": `"wrong" is not allowed`,
	} {
		if code, _, errs := labench(t, append([]string{"scale", "cholesky", "-n", "100"}, strings.Fields(args)...)...); code != cli.ExitUsage || !strings.Contains(strings.Join(strings.Fields(errs), " "), want) {
			t.Errorf("%s: exit code %d, %s; want %q", args, code, errs, want)
		}
	}
}

// twoNodes describes two nodes.
const twoNodes = `apart = true
[[kind]]
name = "x"
cores = 1
rate = 1e9
[[nodes]]
kind = "x"
count = 3
[network]
bandwidth = 1e9
`
