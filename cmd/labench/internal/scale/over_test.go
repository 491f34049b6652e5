package scale

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/plotting"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/op"
	"go.uber.org/goleak"
)

func TestParseFactors(t *testing.T) {
	for list, want := range map[string][]int{"1:8": {1, 2, 3, 4, 5, 6, 7, 8}, "1,2,4": {1, 2, 4}, "1:8:x2": {1, 2, 4, 8}, "1:3,8": {1, 2, 3, 8}} {
		if got, err := parseRanges("oversubscribe", list); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", list, got, err)
		}
	}
	for _, list := range []string{"0", "1:", "2:1", "much", "1:2:3:4"} {
		var bad *cli.ListError
		if _, err := parseRanges("oversubscribe", list); !errors.As(err, &bad) {
			t.Errorf("%s: %v", list, err)
		}
	}
}

// fakeOver runs on two cores, which a third worker and more slow down by a tenth
// each.
func fakeOver(_ context.Context, s bench.Spec) (bench.Result, error) {
	r := bench.Result{Op: s.Op, Type: s.Type, M: s.N, N: s.N, NB: s.NB, Workers: s.Workers, Sched: s.Sched.String(), Passed: true,
		GFLOPSBest: 20 - float64(s.Workers-2)/10, GFLOPSMedian: 10, Residual: 0.125}
	if r.NB == 0 {
		r.NB = s.N / s.Workers
	}
	return r, nil
}

// The tiles are those of factor 1, and so is what the others are compared with.
func TestOversubscribe(t *testing.T) {
	s := &scaling{base: bench.Spec{Problem: bench.Problem{Op: "gemm", Type: "f64"}, Repeat: 3}, sizes: []int{1024}, workers: []int{2, 4, 16}, nb: []int{0}, cores: 2,
		placements: byPolicies(dispatch.Priority), versions: []versionSet{{name: "all"}}}
	if err := s.measurePeaks(t.Context(), fakePeak); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[int]float64{2: 200, 4: 200, 16: 200}, s.peaks); diff != "" {
		t.Errorf("peaks: %s", diff)
	}
	table := newScaleTable(s)
	_, text, _ := strings.Cut(table.head(), "\n") // the machine
	var points []point
	for _, one := range s.settings() {
		p, err := s.run(t.Context(), one, points, fakeOver)
		if err != nil {
			t.Fatal(err)
		}
		if p.result.NB != 512 || !math.IsNaN(p.efficiency()) {
			t.Errorf("%v: nb = %d, efficiency %v", one, p.result.NB, p.efficiency())
		}
		points = append(points, p)
		text += table.row(p)
	}
	const want = `gemm f64, n = 1024, nb automatic, priority, all versions
GFLOP/s, best and median of 3; peak = share of the measured FMA peak of the
workers' cores; spread = how much longer the longest run took than the shortest;
residual: below 3 is right
factor = workers on each of 2 cores; of 1x = share of the rate with factor 1

 factor workers    nb    best  median  peak   of 1x spread residual
      1       2   512    20.0    10.0  10 %   100 %    0 %  1.2e-01
      2       4   512    19.8    10.0  10 %    99 %    0 %  1.2e-01
      8      16   512    18.6    10.0   9 %    93 %    0 %  1.2e-01
`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
	c := chartOf(s, varWorkers, points)
	xy := func(y ...float64) []plotting.Point {
		return []plotting.Point{{X: 1, Y: y[0]}, {X: 2, Y: y[1]}, {X: 8, Y: y[2]}}
	}
	if diff := cmp.Diff([]plotting.Series{{Name: "measured", Points: xy(20, 19.8, 18.6)}}, c.Series, near()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]plotting.Reference{{Name: "measured FMA peak", Series: -1, Points: xy(200, 200, 200)}}, c.References, near()); diff != "" {
		t.Error(diff)
	}
	if c.XLabel != "oversubscription: workers per core, of 2 cores" {
		t.Error(c.XLabel)
	}
}

// From the command line to the files.
func TestOversubscribeRuns(t *testing.T) {
	defer goleak.VerifyNone(t, labtest.Stays()...)
	f := scaleFlags{sizes: "1024", oversubscribe: "1:3", csv: filepath.Join(t.TempDir(), "over.csv"), plot: filepath.Join(t.TempDir(), "over.png")}
	f.workers = "1"
	if _, _, err := runFake(t, t.Context(), f, fakeOver); err == nil || !strings.Contains(err.Error(), "exclude each other") {
		t.Errorf("with --workers: %v", err)
	}
	a := &cli.App{Out: &strings.Builder{}, Err: &strings.Builder{}}
	f.op, f.workers, f.nb, f.sched, f.versions, f.typ, f.profile, f.repeat, f.json = "gemm", "", "auto", "priority", "all", "f64", "none", 3, true
	if err := runScale(t.Context(), a, &f, scaleMachine{fakeOver, fakePeak}); err != nil {
		t.Fatal(err)
	}
	if warned := a.Err.(*strings.Builder).String(); warned != "" {
		t.Errorf("warned of what was asked for: %s", warned)
	}
	cores := topo.Detect().Workers()
	for i, line := range strings.Split(strings.TrimSpace(a.Out.(*strings.Builder).String()), "\n") {
		var got struct {
			Workers    int      `json:"workers"`
			Factor     int      `json:"oversubscribe"`
			Efficiency *float64 `json:"efficiency"`
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil || got.Factor != i+1 || got.Workers != (i+1)*cores || got.Efficiency != nil {
			t.Errorf("%v: %s", err, line)
		}
	}
	rows := readCSV(t, f.csv)
	for i, row := range rows {
		if row["oversubscribe"] != strconv.Itoa(i+1) || row["efficiency"] != "" {
			t.Errorf("%v", row)
		}
	}
	if len(rows) != 3 {
		t.Errorf("%d rows", len(rows))
	}
	labtest.CheckPicture(t, f.plot)
}

// A task has no more threads than there are workers.
func TestThreads(t *testing.T) {
	sets := []versionSet{{"mkl", nil, 1}, {"mkl-2threads", nil, 2}, {"mkl-4threads", nil, 4}}
	s := &scaling{base: bench.Spec{Problem: bench.Problem{Op: "gemm", Type: "f64"}, Repeat: 3}, sizes: []int{1024}, workers: []int{2, 4}, nb: []int{256}, cores: 2,
		placements: byPolicies(dispatch.Priority), versions: sets}
	var got [][2]int
	for _, one := range s.settings() {
		got = append(got, [2]int{one.versions.threads, one.workers})
	}
	if want := [][2]int{{1, 2}, {1, 4}, {2, 2}, {2, 4}, {4, 4}}; !slices.Equal(got, want) {
		t.Errorf("threads and workers %v, want %v", got, want)
	}
	s.versions, s.workers = sets[2:], []int{2}
	if err := s.validate(); err == nil || !strings.Contains(err.Error(), "more threads than there are workers") {
		t.Errorf("error %v", err)
	}
	f := scaleFlags{op: "gemm", sizes: "1024", workers: "2", nb: "auto", sched: "priority", versions: "go", typ: "f64", devices: "none", repeat: 3, threads: "1,2"}
	p, err := f.plan()
	var none *op.ThreadsError
	if op.AddThreads(op.NewTable(), 2) != nil {
		if !errors.As(err, &none) {
			t.Errorf("without MKL: error %v", err)
		}
	} else if err != nil || p.sweep.base.Table == nil || len(p.sweep.versions) != 2 || p.sweep.versions[1].name != "mkl-2threads" {
		t.Errorf("plan %+v, error %v", p, err)
	}
	f.given = func(flag string) bool { return flag == "versions" }
	if _, err := f.plan(); err == nil || !strings.Contains(err.Error(), "--threads excludes --versions") {
		t.Errorf("with --versions: error %v", err)
	}
}
