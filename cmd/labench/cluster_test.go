package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tessera-la/tessera/internal/cli"
)

// TestCluster: certificates are made, agents use them, work is done over TLS, status lists who
// is there; an agent of another authority does not get in, and the others say why.
func TestCluster(t *testing.T) {
	dir := t.TempDir()
	ours, theirs := filepath.Join(dir, "ours"), filepath.Join(dir, "theirs")
	for _, args := range [][]string{{ours, "--nodes", "left,right"}, {ours, "--nodes", "laptop"}, {theirs, "--nodes", "crook"}} {
		if code, out, errs := labench(t, append([]string{"cluster", "init"}, args...)...); code != 0 || !strings.Contains(out, args[2][:4]) {
			t.Fatalf("exit code %d: %s%s", code, out, errs)
		}
	}
	if code, _, errs := labench(t, "cluster", "init", ours, "--nodes", "left"); code == 0 || !strings.Contains(errs, "not written over") {
		t.Errorf("a second certificate: exit code %d: %s", code, errs)
	}
	ctx, stop := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	defer ended.Wait()
	defer stop()
	agent := func(certs, peers string) (out *console, address string) {
		out = &console{}
		ended.Go(func() {
			a := &cli.App{Out: out, Err: out}
			if code := run(ctx, a, []string{"agent", "--listen", "127.0.0.1:0", "--certs", certs, "--workers", "1", "--memory", "1GiB", "--node-timeout", "20s", "--peers", peers}); code != 0 {
				t.Errorf("agent %s: exit code %d: %s", certs, code, out)
			}
		})
		for {
			if m := regexp.MustCompile(`agent ` + filepath.Base(certs) + ` listens on (\S+), 1 worker\b`).FindStringSubmatch(out.String()); m != nil {
				return out, m[1]
			}
			time.Sleep(time.Millisecond)
		}
	}
	said, first := agent(filepath.Join(ours, "left"), "")
	agent(filepath.Join(ours, "right"), first)
	agent(filepath.Join(theirs, "crook"), first)
	laptop := []string{"--cluster", first, "--agents", "2", "--certs", filepath.Join(ours, "laptop"), "--node-timeout", "20s"}
	if code, out, errs := labench(t, append([]string{"cholesky", "-n", "300", "--nb", "64", "--idle", "--repeat", "1", "--warmup", "0"}, laptop...)...); code != 0 || !strings.Contains(out, "pass") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	code, out, errs := labench(t, append([]string{"cluster", "status"}, laptop...)...)
	if code != 0 || !regexp.MustCompile(`(?m)^left +127.0.0.1:[0-9]+ +1 +1.0 GiB +0$`).MatchString(out) || !strings.Contains(out, "right") || strings.Contains(out, "crook") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	code, out, errs = labench(t, append([]string{"plan", "cholesky", "-n", "300", "--nb", "64", "--idle", "--gflops", "10"}, laptop...)...)
	if code != 0 || !regexp.MustCompile(`(?m)^ +left +[0-9]+ +[0-9]+%.* 1.0 GiB$`).MatchString(out) || !strings.Contains(out, "2 nodes in a grid of") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	outside := "" // an address of this machine that is no loopback address
	addresses, _ := net.InterfaceAddrs()
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() && ip.IP.To4() != nil {
			outside = ip.IP.String() + ":0"
		}
	}
	if outside == "" {
		t.Log("left out: this machine has loopback addresses only")
	} else { // the driver listens where the agent reaches it
		agent := &console{}
		ended.Go(func() {
			run(ctx, &cli.App{Out: agent, Err: agent}, []string{"agent", "--listen", outside, "--certs", filepath.Join(ours, "right"), "--workers", "1"})
		})
		listens := regexp.MustCompile(`listens on (\S+),`)
		for !listens.MatchString(agent.String()) {
			time.Sleep(time.Millisecond)
		}
		if code, out, errs := labench(t, "gemm", "-n", "200", "--nb", "64", "--idle", "--workers", "1", "--repeat", "1", "--warmup", "0", "--certs", filepath.Join(ours, "laptop"), "--cluster", listens.FindStringSubmatch(agent.String())[1]); code != 0 {
			t.Errorf("by another address: exit code %d: %s%s", code, out, errs)
		}
	}
	for end := time.Now().Add(5 * time.Minute); !strings.Contains(said.String(), "certificate"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the agent says nothing of the stranger: %s", said)
		}
	}
	if code, _, errs := labench(t, "cluster", "status", "--cluster", first, "--certs", filepath.Join(theirs, "crook"), "--node-timeout", "100ms"); code == 0 || !strings.Contains(errs, "0 of 1 agents") {
		t.Errorf("a stranger: exit code %d: %s", code, errs)
	}
	if err := os.Remove(filepath.Join(ours, "left", "node.key")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"agent --certs " + filepath.Join(ours, "left"), "no such file"},
		{"agent --name x --certs " + filepath.Join(ours, "laptop"), "that of laptop"},
		{"cluster init " + dir, "names no node"},
		{"cluster init --nodes a", "one directory"},
		{"cluster init " + ours + " --nodes a/b", "is no name"},
		{"cluster init " + ours + " --nodes c --valid -1h", "want more than 0"},
		{"cluster status", "--cluster names"},
		{"cluster plan lu -n -1 --cluster local:2 --gflops 1", `-n: "-1" is not allowed`},
		{"plan lu --machine x --cluster local:2", "exclude each other"},
		{"cluster plan trsm", "unknown operation"},
		{"cluster plan svd --cluster local:2", "uses one node"},
		{"cluster plan lu --cluster local:2 --gflops -3", "want more than 0"},
		{"agent --memory lots", "number of bytes"},
		{"cluster nonsense", "known: init, plan, status"},
	} {
		if code, _, errs := labench(t, strings.Fields(c.args)...); code == 0 || !strings.Contains(strings.Join(strings.Fields(errs), " "), c.want) {
			t.Errorf("labench %s: exit code %d, %s; want %q", c.args, code, errs, c.want)
		}
	}
}
