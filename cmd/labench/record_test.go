package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/cmd/labench/internal/record"
	"github.com/tessera-la/tessera/exec/monitor"
	"github.com/tessera-la/tessera/internal/cli"
)

// choleskyTasks is the number of tasks of a Cholesky factorization of 5×5
// tiles.
const choleskyTasks = 5 + 10 + 10 + 10

// tiled is the command line of a problem of 5×5 tiles.
func tiled(more ...string) []string {
	return append([]string{"cholesky", "-n", "150", "--nb", "32", "--workers", "2", "--versions", "go", "--repeat", "3"}, more...)
}

// Each file holds the tasks of one run, and can be read by whom it is for.
func TestTraceFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	code, out, errs := labench(t, tiled("--trace", "Run.JSON", "--dot", "run.gv", "--report")...)
	if code != cli.ExitPassed || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	labtest.Narrow(t, "--report", out)
	for _, want := range []string{"\nlast run ", "\ncritical path: ", "data awaited", "\nworkers busy", "Run.JSON: 35 tasks, for Perfetto", "run.gv: 35 tasks, draw it"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if !regexp.MustCompile(`gemm/f64 +go +30 `).MatchString(out) { // of three runs
		t.Errorf("versions:\n%s", out)
	}
	var file struct {
		Events []struct {
			Phase string `json:"ph"`
			Name  string `json:"name"`
		} `json:"traceEvents"`
	}
	text, err := os.ReadFile("Run.JSON")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	phases := map[string]int{}
	for _, e := range file.Events {
		phases[e.Phase]++
	}
	if phases["X"] != choleskyTasks || phases["s"] == 0 || phases["s"] != phases["f"] {
		t.Errorf("events %v", phases)
	}
	graph, err := os.ReadFile("run.gv")
	if err != nil || !bytes.HasPrefix(graph, []byte("digraph")) || bytes.Count(graph, []byte("fillcolor")) != choleskyTasks {
		t.Errorf("%v: %s", err, graph)
	}
	if dot, err := exec.LookPath("dot"); err == nil {
		if out, err := exec.Command(dot, "-Tsvg", "-o", "run.svg", "run.gv").CombinedOutput(); err != nil {
			t.Errorf("dot: %v: %s", err, out)
		}
	}

	// Nothing of it is on standard output that is for programs.
	code, out, errs = labench(t, tiled("--trace", "run.prv", "--json")...)
	if code != cli.ExitPassed || errs != "" || strings.Count(out, "\n") != 1 || !json.Valid([]byte(out)) {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	checkParaver(t)
	if left, err := filepath.Glob("*.part*"); err != nil || left != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

// checkParaver checks run.prv line by line, and that what its numbers mean
// stands beside it.
func checkParaver(t *testing.T) {
	t.Helper()
	prv, err := os.ReadFile("run.prv")
	if err != nil {
		t.Fatal(err)
	}
	header := regexp.MustCompile(`^#Paraver \(\d\d/\d\d/\d\d at \d\d:\d\d\):\d+_ns:1\(\d+\):1:1\(\d+:1\)$`)
	fields := regexp.MustCompile(`^([123])(:\d+)+$`)
	tasks := 0
	for i, line := range strings.Split(strings.TrimSuffix(string(prv), "\n"), "\n") {
		switch {
		case i == 0 && !header.MatchString(line), i > 0 && !fields.MatchString(line):
			t.Errorf("line %d: %s", i+1, line)
		case strings.HasPrefix(line, "1:") && strings.HasSuffix(line, ":1"):
			tasks++ // a worker is running
		}
	}
	if tasks != choleskyTasks {
		t.Errorf("%d tasks", tasks)
	}
	for file, want := range map[string]string{"run.pcf": "EVENT_TYPE", "run.row": "LEVEL THREAD SIZE"} {
		if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v: %s", file, err, text)
		}
	}
}

// Where one kernel does it all there is nothing to draw, and what was there
// before stays.
func TestTraceWithoutTasks(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("run.json", []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errs := labench(t, "gemm", "-n", "20", "--trace", "run.json", "--report")
	if code != cli.ExitFailed || !strings.Contains(errs, "one kernel") || !strings.Contains(errs, "--nb") || !strings.Contains(out, "no tasks to") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if text, err := os.ReadFile("run.json"); err != nil || string(text) != "before" {
		t.Errorf("%v: %s", err, text)
	}
	if code, _, errs = labench(t, "gemm", "-n", "20", "--report"); code != cli.ExitPassed {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// lines is a writer that hands on what is written.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// The page answers while the tasks run, on this machine and on a cluster.
func TestMonitor(t *testing.T) {
	t.Setenv("TEST_LABENCH", "1") // for agents
	t.Run("here", func(t *testing.T) { testMonitor(t, 0, "--versions", "go") })
	t.Run("cluster", func(t *testing.T) { testMonitor(t, 3, "--cluster", "local:2", "--workers", "2") })
}

func testMonitor(t *testing.T, nodes int, args ...string) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	errs, code := make(lines, 1000), make(chan int, 1)
	a := &cli.App{Out: io.Discard, Err: errs, NoPeak: true, Cores: 64}
	go func() {
		code <- run(ctx, a, append([]string{"gemm", "-n", "300", "--nb", "64", "--repeat", "1000000", "--monitor", "127.0.0.1:0"}, args...))
	}()
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(<-errs)
	if url == "" {
		t.Fatal("no URL")
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(url string) (text []byte) {
		answer, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if text, err = io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%v, status %d", err, answer.StatusCode)
		}
		return text
	}
	if page := get(url); !bytes.Contains(page, []byte("<html")) {
		t.Errorf("%s", page)
	}
	var state monitor.State
	for (state.Counts.Ended == 0 || state.Activity.Run == 0 || len(state.Past) == 0) && ctx.Err() == nil {
		state = monitor.State{}
		if err := json.Unmarshal(get(url+"state"), &state); err != nil {
			t.Fatal(err)
		}
	}
	if state.Counts.Ended == 0 || len(state.Workers) == 0 {
		t.Errorf("%+v", state)
	}
	if x, was := state.Activity, state.Past; x.Title != "gemm f64, n = 300" || x.Phase == "" || x.Flops != 2*300*300*300 ||
		len(was) == 0 || was[0].Phase != "warm-up" || was[0].Run != 1 || was[0].Took <= 0 {
		t.Errorf("activity %+v after %+v", x, was)
	}
	if c := state.Cluster; (c != nil) != (nodes > 0) || c != nil && (len(c.Nodes) != nodes || c.Nodes[1].Workers != 1 || len(state.Workers) != nodes) {
		t.Errorf("cluster %+v, workers %+v", c, state.Workers)
	}
	cancel()
	if got := <-code; got != cli.ExitInterrupted {
		t.Errorf("exit code %d", got)
	}
	if _, err := client.Get(url); err == nil {
		t.Error("the page is still there")
	}
}

// Addresses that the page is not served on have a typed error, before anything
// runs.
func TestMonitorAddresses(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", "127.0.0.1", "example.com:80", "127.0.0.1:99999"} {
		var address *monitor.AddressError
		if _, err := (&record.Flags{Monitor: addr}).Begin(&cli.App{Err: io.Discard}, &bench.Spec{}, nil); !errors.As(err, &address) {
			t.Errorf("%s: %v", addr, err)
		}
		if code, out, errs := labench(t, "gemm", "--monitor", addr); code != cli.ExitUsage || out != "" || !strings.Contains(errs, "--monitor 127.0.0.1:0") {
			t.Errorf("%s: exit code %d: %s", addr, code, errs)
		}
	}
}
