package main

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/exec/sim/machinefile"
	"github.com/tessera-la/tessera/internal/cli"
)

// TestMachine: two agents on loopback addresses are measured, and their file plans what runs on
// them. It is about what the file says, not about how fast that is.
func TestMachine(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	defer ended.Wait()
	defer stop()
	file, address := filepath.Join(t.TempDir(), "two.toml"), ""
	measure := func(more string) (code int, out, errs string) {
		return labench(t, append([]string{"machine", file, "--nb", "32", "--each", "1us"}, strings.Fields(more)...)...)
	}
	for _, name := range []string{"left", "right"} {
		if address != "" { // there is one agent
			if code, _, errs := measure("--node-timeout 20s --idle --cluster " + address); code == 0 || !strings.Contains(errs, "between two") {
				t.Errorf("one agent: exit code %d, %s", code, errs)
			}
		}
		var out console
		peers := address
		ended.Go(func() {
			a := &cli.App{Out: &out, Err: &out}
			if code := run(ctx, a, []string{"agent", "--listen", "127.0.0.1:0", "--name", name, "--workers", "1", "--node-timeout", "20s", "--peers", peers}); code != 0 {
				t.Errorf("agent %s: exit code %d: %s", name, code, &out)
			}
		})
		listens := regexp.MustCompile(`agent ` + name + ` listens on (\S+), 1 worker\b`)
		for late := time.Now().Add(5 * time.Minute); !listens.MatchString(out.String()); time.Sleep(time.Millisecond) {
			if time.Now().After(late) {
				t.Fatalf("agent %s does not say where it listens: %s", name, &out)
			}
		}
		if address == "" {
			address = listens.FindStringSubmatch(out.String())[1]
		}
	}
	code, out, errs := measure("--workers 2 --node-timeout 20s --agents 2 --idle --cluster " + address)
	if code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	for _, pair := range []string{"left to right", "right to left"} {
		if !regexp.MustCompile(`(?m)^` + pair + `: latency [0-9.]+ µs \(best [0-9.]+\), [0-9.]+ GB/s \(best [0-9.]+\)$`).MatchString(out) {
			t.Errorf("no %s in\n%s", pair, out)
		}
	}
	m, err := machinefile.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	// Core is what a byte costs beyond its message: on a busy machine that may be lost in the noise, and 0.
	if w := m.Network; w.Latency <= 0 || w.Bandwidth <= 0 || w.Core < 0 {
		t.Errorf("network %+v", w)
	}
	want := []sim.Nodes{{Kind: "here", Count: 1, Host: "here"}, {Kind: "1 worker", Count: 2, Host: "here"}}
	if !m.Apart || len(m.Nodes) != 2 || m.Nodes[0] != want[0] || m.Nodes[1] != want[1] || m.Costs.Driver <= 0 {
		t.Errorf("%+v, %+v", m.Nodes, m.Costs)
	}
	for _, op := range []string{"gemm", "cholesky", "lu", "qr"} {
		if code, out, errs := labench(t, "plan", op, "-n", "128", "--nb", "32", "--machine", file); code != 0 || !strings.Contains(out, "2 nodes") {
			t.Errorf("plan %s: exit code %d: %s%s", op, code, out, errs)
		}
	}
	for want, args := range map[string]string{
		"are not measured": "--cluster mpi",
		"--agents is for":  "--agents 2",
		"no device cuda63": "--devices cuda63",
		"exclude each other: each node sees to its own See labench": "--devices sim --cluster local:2",
		"0 of 1 agents": "--cluster 127.0.0.1:9 --node-timeout 50ms",
	} {
		if code, _, errs := measure(args); code == 0 || !strings.Contains(strings.Join(strings.Fields(errs), " "), want) {
			t.Errorf("labench machine %s: exit code %d, %s; want %q", args, code, errs, want)
		}
	}
}
