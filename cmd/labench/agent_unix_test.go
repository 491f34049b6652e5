//go:build unix

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/cmd/labench/internal/node"
	local "github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/mat"
)

// process starts labench in a process of its own, and returns it and the address that it
// says it listens on.
func process(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	c, at := saying(t, ` listens on (\S+),`, args...)
	return c, at
}

// saying starts labench in a process of its own, and returns it and the word that it says.
func saying(t *testing.T, word string, args ...string) (*exec.Cmd, string) {
	t.Helper()
	var out console
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), "TEST_LABENCH=1")
	if os.Getenv("XDG_CACHE_HOME") == "" { // a node keeps its profile there
		c.Env = append(c.Env, "XDG_CACHE_HOME="+t.TempDir())
	}
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(c) })
	for range 30_000 {
		if m := regexp.MustCompile(word).FindStringSubmatch(out.String()); m != nil {
			return c, m[1]
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("labench %s: %s", args, &out)
	return nil, ""
}

// end ends a process, once.
func end(c *exec.Cmd) {
	if c.ProcessState == nil {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
}

// losses is how many times agents are lost: see make soak.
var losses = flag.Int("losses", 10, "runs of TestAgentLost, unless -short is given")

// detection is the time without an answer after which a node is lost.
const detection = time.Second

// TestAgentLost: at a random moment one of three agents, which are processes, is killed,
// stopped, stopped for a while, cut off, or killed and another one started. Each computation
// ends with the bits of one that nobody disturbs, and soon enough.
func TestAgentLost(t *testing.T) {
	runs := 5
	if !testing.Short() {
		runs = *losses
	}
	one, err := local.NewLocal(local.Options{Workers: 2, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	want := make([][]float64, len(computations))
	for k := range want {
		if want[k], err = compute(one, k); err != nil {
			t.Fatal(err)
		}
	}
	usual := make([]time.Duration, len(computations)) // what it takes if nobody is lost
	undisturbed := func(k int) {
		took, _, _ := withLoss(t, uint64(k), k, want[k], -1, 0)
		usual[k] = max(usual[k], took)
	}
	for k := range usual {
		undisturbed(k)
	}
	lost, latest := 0, 0.0
	for i := range runs {
		k, fault := i%len(computations), i%len(faults)
		took, gone, log := withLoss(t, uint64(i), k, want[k], fault, usual[k])
		if gone {
			lost++
		}
		times := func() float64 { return float64(took-detection) / float64(usual[k]) }
		if times() > 1.5 && !testing.Short() { // the machine may be slower than it was
			undisturbed(k)
		}
		if latest = max(latest, times()); times() > 1.5 && !testing.Short() {
			t.Logf("run %d, %s, %s: %v, usually %v\n%s", i, computations[k], faults[fault], took, usual[k], log)
		}
	}
	if lost == 0 {
		t.Errorf("no agent was lost in %d runs", runs)
	}
	t.Logf("agents lost in %d of %d runs; usually %v; the slowest run took %v and %.2f times that", lost, runs, usual, detection, latest)
}

var (
	computations = []string{"cholesky", "lu", "qr"}
	faults       = []string{"killed", "stopped", "stopped for a while", "cut off", "started again"}
)

// withLoss has three agents compute, one of which has a fault, -1 for none, at some moment of
// a time, and compares the bits. It returns the time that this takes, whether somebody was
// lost, and what the driver has said.
func withLoss(t *testing.T, seed uint64, computation int, want []float64, fault int, within time.Duration) (took time.Duration, lost bool, log *stamped) {
	rng := rand.New(rand.NewPCG(seed, 8))
	victim := rng.IntN(3)
	var agents []*exec.Cmd
	var between *relay
	first := ""
	agent := func(more ...string) {
		listen := "127.0.0.1:0"
		if len(more) > 0 {
			listen = freePort(t)
			between.serve(listen)
		}
		args := append([]string{"agent", "--listen", listen, "--workers", "1", "--node-timeout", detection.String()}, more...)
		if first != "" {
			args = append(args, "--peers", first)
		}
		c, address := process(t, args...)
		if agents = append(agents, c); first == "" {
			first = address
		}
	}
	for k := range 3 {
		if k == victim && fault == 3 {
			between = newRelay(t)
			defer between.cut()
			agent("--address", between.Addr().String())
			continue
		}
		agent()
	}
	defer func() {
		for _, c := range agents {
			end(c)
		}
	}()
	f := node.ClusterFlags{Flags: node.Flags{Name: fmt.Sprint("driver", seed), Peers: []string{first}, Timeout: detection}, Agents: 3, Idle: true, Copies: node.CopiesFlag{Copies: cluster.Copies{Share: 0.1}}}
	log = &stamped{}
	d, leave, err := f.Drive(context.Background(), &cli.App{Out: io.Discard, Err: log}, 1, nil, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := leave(); err != nil {
			t.Error(err)
		}
	}()
	var after sync.WaitGroup
	if fault >= 0 {
		moment := time.AfterFunc(time.Duration(rng.Float64()*float64(within)), func() {
			c := agents[victim].Process
			fmt.Fprintf(log, "an agent is %s\n", faults[fault])
			switch fault {
			case 0:
				_ = c.Kill()
			case 1:
				_ = c.Signal(syscall.SIGSTOP)
			case 2:
				_ = c.Signal(syscall.SIGSTOP)
				after.Go(func() {
					time.Sleep(detection * 3 / 2)
					_ = c.Signal(syscall.SIGCONT)
				})
			case 3:
				between.cut()
			case 4:
				_ = c.Kill()
				after.Go(func() { agent() })
			}
		})
		defer after.Wait()
		defer moment.Stop()
	}
	begin := time.Now()
	log.from(begin)
	got, err := compute(d, computation)
	took = time.Since(begin)
	what := "nobody is lost"
	if fault >= 0 {
		what = "an agent is " + faults[fault]
	}
	if err != nil {
		t.Fatalf("seed %d: %s, %s: %v", seed, computations[computation], what, err)
	}
	for i := range want {
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
			t.Fatalf("seed %d: %s, %s: element %d is %v, want %v", seed, computations[computation], what, i, got[i], want[i])
		}
	}
	for _, u := range d.Usage() {
		lost = lost || u.Lost
	}
	return took, lost, log
}

// stamped is a log with the time of each line since a moment.
type stamped struct {
	mu    sync.Mutex
	begin time.Time
	b     strings.Builder
}

func (s *stamped) from(begin time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin = begin
}

// Write implements [io.Writer].
func (s *stamped) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begin.IsZero() {
		fmt.Fprintf(&s.b, "%8.3f s  %s", time.Since(s.begin).Seconds(), b)
	}
	return len(b), nil
}

func (s *stamped) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// freePort returns an address on which nobody listens.
func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// compute returns a solution by one of the computations.
func compute(rt local.Runtime, k int) ([]float64, error) {
	n, nb := 800, 50
	if testing.Short() {
		n = 350
	}
	e, err := la.NewEngine(la.Options{Runtime: rt, NB: nb})
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(3, 9))
	a, b, x := mat.NewDense(n, n, nil), mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
	for i := range n {
		b.SetVec(i, rng.NormFloat64())
		for j := range i + 1 {
			v := rng.NormFloat64()
			a.Set(i, j, v)
			a.Set(j, i, v)
		}
		a.Set(i, i, float64(n))
	}
	switch computations[k] {
	case "cholesky":
		c := la.NewCholesky[float64](e)
		if err = c.Factorize(mat.NewSymDense(n, a.RawMatrix().Data)); err == nil {
			err = c.SolveVecTo(x, b)
		}
	case "lu":
		f := la.NewLU[float64](e)
		if err = f.Factorize(a); err == nil {
			err = f.SolveVecTo(x, false, b)
		}
	default:
		var q *la.QR[float64]
		if q, err = la.NewQRWith[float64](e, la.QROptions{Tree: qr.TreeGreedy}); err != nil {
			return nil, err
		}
		if err = q.Factorize(a); err == nil {
			err = q.SolveVecTo(x, false, b)
		}
	}
	return x.RawVector().Data, err
}

// relay is an address that leads to another one, until it is cut.
type relay struct {
	net.Listener
	mu   sync.Mutex
	cuts []func() error
	off  bool
	over sync.WaitGroup
}

func newRelay(t *testing.T) *relay {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &relay{Listener: l}
}

// serve leads to an address.
func (r *relay) serve(address string) {
	r.over.Go(func() {
		for {
			in, err := r.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", address)
			if err != nil {
				in.Close()
				continue
			}
			r.mu.Lock()
			if r.off {
				in.Close()
				out.Close()
			}
			r.cuts = append(r.cuts, in.Close, out.Close)
			r.over.Go(func() { _, _ = io.Copy(out, in); out.Close() })
			r.over.Go(func() { _, _ = io.Copy(in, out); in.Close() })
			r.mu.Unlock()
		}
	})
}

// cut ends all connections, and there are no new ones.
func (r *relay) cut() {
	r.mu.Lock()
	r.off = true
	r.Close()
	for _, cut := range r.cuts {
		_ = cut()
	}
	r.mu.Unlock()
	r.over.Wait()
}

// TestAgentProfile: an agent keeps what it has learned of the versions in a file with its name, also if it is killed.
func TestAgentProfile(t *testing.T) {
	if testing.Short() {
		t.Skip("the profile is saved every five seconds")
	}
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	c, at := process(t, "agent", "--listen", "127.0.0.1:0", "--name", "node1", "--workers", "1", "--node-timeout", "20s")
	if code, _, errs := labench(t, strings.Fields("gemm -n 300 --nb 64 --idle --repeat 1 --node-timeout 20s --cluster "+at)...); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	file := filepath.Join(cache, "tessera", "profile.node1.json")
	for limit := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			break
		}
		if time.Now().After(limit) {
			t.Fatal("there is no profile")
		}
	}
	end(c) // by SIGKILL
	p, warning, err := versions.Load(file)
	if err != nil || warning != nil || !slices.ContainsFunc(p.Timings(), func(x versions.Timing) bool { return x.Op == "gemm/f64" }) {
		t.Errorf("%v, %v: no gemm in the profile", err, warning)
	}
}
