package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/internal/cli"
)

// console is a writer that others may read.
type console struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *console) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *console) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestAgent: two agents and an operation that runs on them, over the loopback address.
func TestAgent(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	defer ended.Wait()
	defer stop()
	var addresses []string
	for _, name := range []string{"left", "right"} {
		var out console
		ended.Go(func() {
			a := &cli.App{Out: &out, Err: &out}
			if code := run(ctx, a, []string{"agent", "--listen", "127.0.0.1:0", "--name", name, "--workers", "1", "--node-timeout", "20s", "--peers", strings.Join(addresses, ",")}); code != 0 {
				t.Errorf("agent %s: exit code %d: %s", name, code, &out)
			}
		})
		for {
			if m := regexp.MustCompile(`agent ` + name + ` listens on (\S+), 1 worker\b`).FindStringSubmatch(out.String()); m != nil {
				addresses = append(addresses, m[1])
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	dir := t.TempDir()
	for _, op := range []string{"gemm", "solve", "gemm --distributed", "cholesky --distributed --output " + dir + "/u.npy", "lu --distributed --type f32 --input " + dir + "/u.npy --output " + dir + "/lu.npy",
		"solve --distributed --nrhs 3", "solve --distributed --method cholesky --mixed", "solve --distributed --method cholesky --type f32", "lstsq --distributed -m 500 --nrhs 2", "lstsq --distributed -m 100",
		"lu --distributed --pivot tile --sched locality", "lu --distributed --pivot tournament", "qr --distributed --tree greedy --sched fifodata"} {
		var r bench.Result
		var out string
		// On a machine that is busy one node may be so much slower that it is given nothing, or
		// that the other one takes it all. Then it has not been seen at work yet.
		for range 20 {
			code, text, errs := labench(t, append(strings.Fields(op), "-n", "300", "--nb", "64", "--cluster", addresses[0], "--agents", "2", "--idle", "--name", "driver", "--workers", "1", "--node-timeout", "20s", "--json", "--repeat", "1", "--warmup", "0")...)
			if code != 0 {
				t.Fatalf("%s: exit code %d: %s", op, code, errs)
			}
			r, out = bench.Result{}, text
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(r.Nodes[min(1, len(r.Nodes)):], func(n bench.Node) bool { return len(n.Tasks) == 0 }) {
				break
			}
		}
		if !r.Passed || len(r.Nodes) != 3 || r.Nodes[0].Name != "driver" {
			t.Fatalf("%s: %s", op, out)
		}
		if moved := r.Nodes[0].Out; (moved >= 300*300*8) == strings.Contains(op, "distributed") {
			t.Errorf("%s: %d bytes went out from the driver", op, moved)
		}
		far := strings.Contains(op, "distributed")
		owned := far && !strings.Contains(op, "--sched")
		shares, all := 0.0, true // whether both nodes own something: the one may be that much faster
		for _, n := range r.Nodes[1:] {
			shares, all = shares+n.Share, all && (n.Share > 0 || !owned)
			if len(n.Tasks) == 0 || len(n.Ran) == 0 || n.Ran[0].Version == "" {
				t.Errorf("%s: node %s has done nothing: %+v", op, n.Name, n)
			}
		}
		if c := r.Cluster; c == nil || c.Moved == 0 || all && owned != (c.Least > 0) || far != (c.Path > 0) || len(c.Why) == 0 || owned != (r.Sched == "owner") {
			t.Errorf("%s: policy %s, %+v", op, r.Sched, c)
		}
		if owned && (shares < 0.999 || shares > 1.001) {
			t.Errorf("%s: the nodes own %v of the work: %+v", op, shares, r.Nodes)
		}
	}
	for name, typ := range map[string]string{"u": "f8", "lu": "f4"} {
		b, err := os.ReadFile(filepath.Join(dir, name+".npy"))
		if err != nil || !bytes.Contains(b[:128], []byte("'<"+typ+"', 'fortran_order': False, 'shape': (300, 300)")) {
			t.Errorf("%s.npy begins with %q, %v", name, b[:min(len(b), 128)], err)
		}
	}
	for want, args := range map[string]string{
		"no such file or":     "lu --distributed --input /nowhere.npy --cluster " + addresses[0],
		"is for --dist":       "lu --output x.npy --cluster " + addresses[0],
		"host:port":           "gemm --cluster nowhere",
		"from 1 to 256":       "gemm --cluster local:0",
		"more than one word":  "gemm --cluster local:2,127.0.0.1:7400",
		"no port from 1":      "gemm --cluster 127.0.0.1:http",
		"this machine's":      "gemm --cluster local:2 --certs x",
		"0 of 1 agents":       "gemm --cluster 127.0.0.1:9 --node-timeout 50ms",
		"loopback addresses":  "agent --listen 10.0.0.1:7400",
		"node.crt":            "agent --certs /nowhere",
		"no such file":        "agent --resources /nowhere",
		"no such operation":   "agent --resources " + declared(t, "ops = [\"gemmm\"]"),
		"which this proces":   "agent --resources " + declared(t, "features = [\"mmx9\"]"),
		"and so is Workers":   "agent --workers 2 --resources " + declared(t, ""),
		"unknown version":     "agent --versions nope",
		"is not allowed":      "agent --devices gpu",
		"at least 0":          "gemm --agents -1 --cluster " + addresses[0],
		"more than 0":         "gemm --node-timeout 0s --cluster " + addresses[0],
		"each node sees to":   "gemm --versions go --cluster " + addresses[0],
		"is for --cluster":    "gemm --idle",
		"--copies is for":     "gemm --copies .1",
		"--gflops is for":     "plan gemm --machine cobi --gflops 3",
		"for gemm, cholesky":  "syrk --distributed --cluster " + addresses[0],
		"distributed is for":  "svd --distributed --cluster " + addresses[0],
		"one symmetric":       "eigen --general --distributed --cluster " + addresses[0],
		"matrices are square": "lu -m 7 --distributed --cluster " + addresses[0],
	} {
		code, _, errs := labench(t, strings.Fields(args)...)
		if code == 0 || !strings.Contains(strings.Join(strings.Fields(errs), " "), want) {
			t.Errorf("labench %s: exit code %d, %s; want a word of %q", args, code, errs, want)
		}
	}
}

// declared returns a resources file with a worker.
func declared(t *testing.T, text string) string {
	file := filepath.Join(t.TempDir(), "resources.toml")
	if err := os.WriteFile(file, []byte("[[workers]]\ncount = 1\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
