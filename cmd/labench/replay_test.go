package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/cmd/labench/internal/planner"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/exec/sim/runfile"
	"github.com/tessera-la/tessera/internal/cli"
)

// forked returns a file with a run of six tasks of 1 s, on two workers under fifo: four wait for
// the first, and the last one for them.
func forked(t *testing.T) string {
	t.Helper()
	p := &sim.Program{Ops: []string{"gemm/f64"}, Data: make([]graph.ProgramDatum, 5)}
	task := func(worker int, began float64, data, modes []int) sim.ProgramTask {
		return sim.ProgramTask{Data: data, Modes: modes, Version: "go", Worker: worker, Took: 1, Began: began, Ready: began}
	}
	tasks := []sim.ProgramTask{task(0, 0, []int{0}, []int{2})}
	for i := range 4 {
		tasks = append(tasks, task(i%2, float64(1+i/2), []int{0, 1 + i}, []int{1, 2}))
	}
	p.Jobs = [][]sim.ProgramTask{append(tasks, task(0, 3, []int{1, 2, 3, 4}, []int{1, 1, 1, 1}))}
	var b bytes.Buffer
	if err := runfile.Write(&b, &runfile.Run{Title: "four at once", Machine: "made up", Sched: "fifo", Workers: 2, Seconds: 5, Program: p}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "run.json")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestReplay: what is said of a run that is known by heart, as text and as JSON.
func TestReplay(t *testing.T) {
	name := forked(t)
	code, out, errs := labench(t, "replay", name, "--sched", "fifo", "--sched", "steal,fifo", "--workers", "1,2,4", "--speed", "1,2")
	if code != cli.ExitPassed || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	labtest.Narrow(t, "replay", out)
	if !strings.HasPrefix(out, "as it was  predicted 4.00 s, measured 4.00 s: as much\nrecorded   four at once, 6 tasks\n           2 workers, fifo, on made up\n") {
		t.Error(out)
	}
	_, table, _ := strings.Cut(out, "\n\n")
	const want = `sched      workers  speed         time   ratio   idle         path
fifo             1      1      6.000 s   1.500     0%      3.000 s
fifo             1      2      3.000 s   0.750     0%      1.500 s
fifo             2      1      4.000 s   1.000    25%      3.000 s
fifo             2      2      2.000 s   0.500    25%      1.500 s
fifo             4      1      3.000 s   0.750    50%      3.000 s
fifo             4      2      1.500 s   0.375    50%      1.500 s
`
	if !strings.HasPrefix(table, want) || strings.Count(table, "\n") != 13 || strings.Count(table, "\nsteal ") != 6 {
		t.Errorf("%s\nwant\n%s", table, want)
	}

	code, out, errs = labench(t, "replay", name, "--json")
	d := json.NewDecoder(strings.NewReader(out))
	var all []planner.Replayed
	for d.More() {
		var x planner.Replayed
		if err := d.Decode(&x); err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}
	if code != cli.ExitPassed || errs != "" || len(all) != 1+len(dispatch.Kinds()) {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	if x := all[0]; x.Sched != "fifo" || x.Workers != 2 || x.Tasks != 6 || math.Abs(x.Seconds-4) > 1e-6 || math.Abs(x.Ratio-1) > 1e-6 || math.Abs(x.Path-3) > 1e-6 || x.Steps != 3 {
		t.Errorf("%+v", x)
	}
}

// TestReplayNodes: a run on one worker of each of two nodes, whose links take no time, takes as
// long as on two workers; the table and the file say on what it was, and there is a trace.
func TestReplayNodes(t *testing.T) {
	name, dir := forked(t), t.TempDir()
	table, spans := filepath.Join(dir, "table.csv"), filepath.Join(dir, "trace.json")
	args := []string{"replay", name, "--sched", "fifo", "--workers", "1", "--latency", "0s"}
	code, out, errs := labench(t, append(args, "--nodes", "1,2", "--link", "10,100", "--csv", table)...)
	if code != cli.ExitPassed || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	labtest.Narrow(t, "replay", out)
	_, rows, _ := strings.Cut(out, "\n\n")
	const want = `sched      workers  speed         time   ratio   idle  nodes  Gbit/s       moved
fifo             1      1      6.000 s   1.500     0%      1       -           -
fifo             1      1      4.000 s   1.000    25%      2      10     0.0 MiB
fifo             1      1      4.000 s   1.000    25%      2     100     0.0 MiB
`
	if rows != want {
		t.Errorf("%s\nwant\n%s", rows, want)
	}
	b, err := os.ReadFile(table)
	if lines := strings.Split(strings.TrimSpace(string(b)), "\n"); err != nil || len(lines) != 4 || !strings.HasPrefix(lines[0], "sched,nodes,link_gbits,") || !strings.HasPrefix(lines[3], "fifo,2,100,1,1,6,4.0000") {
		t.Errorf("%s: %v", b, err)
	}
	if code, _, errs := labench(t, append(args, "--nodes", "2", "--trace", spans)...); code != cli.ExitPassed || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if b, err := os.ReadFile(spans); err != nil || strings.Count(string(b), `"gemm`) < 6 {
		t.Errorf("%.500s: %v", b, err)
	}
}

// TestReplayRefuses: what is wrong with the command line is said, all of it and before the file is
// looked at.
func TestReplayRefuses(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other.json")
	if err := os.WriteFile(other, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(dir, "gone.json")
	for _, c := range []struct {
		args string
		code int
		want []string
	}{
		{"", cli.ExitUsage, []string{"want one file"}},
		{gone + " --sched best --workers 0 --speed 1,fast", cli.ExitUsage, []string{"--sched: \"best\"", "priority", "--workers: \"0\"", "--speed: \"fast\""}},
		{gone + " --workers 20000 --speed 0", cli.ExitUsage, []string{"--workers: \"20000\"", "at most 16384", "--speed: \"0\""}},
		{gone + " --workers 1:1000:1 --sched all --speed 1,2,3", cli.ExitUsage, []string{"21000 combinations are too many"}},
		{gone + " --nodes 2000 --link 0 --latency -1s --csv " + dir + " --trace x.txt", cli.ExitUsage, []string{"--nodes: \"2000\"", "--link: \"0\"", "--latency is -1s", "--csv", "--trace: \"x.txt\""}},
		{gone + " --workers 1,2 --trace " + dir + "/x.json", cli.ExitUsage, []string{"--trace is for one combination"}},
		{gone, cli.ExitFailed, []string{"no such file"}},
		{other, cli.ExitFailed, []string{"it is no recorded run", "--record"}},
	} {
		code, out, errs := labench(t, append([]string{"replay"}, strings.Fields(c.args)...)...)
		labtest.Narrow(t, c.args, strings.ReplaceAll(errs, dir, "DIR"))
		if code != c.code || out != "" {
			t.Errorf("%s: exit code %d: %s%s", c.args, code, out, errs)
		}
		said := strings.Join(strings.Fields(errs), " ")
		for _, w := range c.want {
			if !strings.Contains(said, w) {
				t.Errorf("%s: no %q in %s", c.args, w, errs)
			}
		}
	}
	for _, args := range [][]string{{"--resources", other}, {"--cluster", "local:2"}, {"--record", filepath.Join(dir, "no", "x.json")}} {
		code, _, errs := labench(t, append([]string{"gemm", "-n", "20", "--record", gone}, args...)...)
		if code != cli.ExitUsage || !strings.Contains(errs, "--record") {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
	}
	if _, err := os.Stat(gone); err == nil {
		t.Error("a file was written")
	}
}

// TestRecordRun: the file of a run has its tasks, and can be replayed.
func TestRecordRun(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.json")
	code, out, errs := labench(t, tiled("--record", name, "--sched", "steal")...)
	if code != cli.ExitPassed || errs != "" || !strings.Contains(out, "\nrecord ") {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	r, err := runfile.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	m := r.Program.Measured()
	if r.Sched != "steal" || r.Workers != 2 || !strings.HasPrefix(r.Title, "cholesky f64") || m.Tasks != choleskyTasks || r.Seconds <= 0 || m.Seconds <= 0 || m.Seconds > r.Seconds {
		t.Errorf("%+v, %+v", r, m)
	}
	code, out, errs = labench(t, "replay", name, "--workers", "1,35", "--json")
	if code != cli.ExitPassed || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	d := json.NewDecoder(strings.NewReader(out))
	for i := range 3 {
		var x planner.Replayed
		if err := d.Decode(&x); err != nil {
			t.Fatal(err)
		}
		least := max(x.Path, m.Busy/float64(x.Workers))
		if x.Tasks != choleskyTasks || x.Seconds < least-1e-6 || i == 0 && x.Measured < least-1e-6 {
			t.Errorf("%+v, want at least %g s", x, least)
		}
	}
	// Where one kernel does it all there is nothing to record.
	if code, _, errs := labench(t, "cholesky", "-n", "8", "--record", name); code != cli.ExitFailed || !strings.Contains(errs, "was not written") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
