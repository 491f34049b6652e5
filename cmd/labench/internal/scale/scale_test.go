package scale

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/cmd/labench/internal/sweep"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/peak"
	"github.com/tessera-la/tessera/internal/plotting"
	"github.com/tessera-la/tessera/internal/quiet"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
	"go.uber.org/goleak"
)

// fakeRun is a machine on which everything has a known time: 10·n/1024 GFLOP/s
// for each worker, a tenth less for each worker beyond the first.
func fakeRun(_ context.Context, s bench.Spec) (bench.Result, error) {
	w := float64(s.Workers)
	rate := 10 * float64(s.N) / 1024 * w * (1 - 0.1*(w-1))
	r := bench.Result{Op: s.Op, Type: s.Type, M: s.N, N: s.N, NB: s.NB, Workers: s.Workers, Sched: s.Sched.String(),
		Versions: map[string]int{"gemm/go": 12, "potrf/go": 4}, SecondsBest: 1 / rate, SecondsMedian: 1.25 / rate,
		GFLOPSBest: rate, GFLOPSMedian: 0.8 * rate, Residual: 0.125, Passed: true}
	if r.NB == 0 {
		r.NB = s.N / 8
	}
	return r, nil
}

// fakePeak is the peak of that machine: 100 GFLOP/s for each worker.
func fakePeak(_ context.Context, _ string, workers int) (bench.PeakRate, error) {
	w := float64(workers)
	return bench.PeakRate{Rate: peak.Rate{One: 100, All: 100 * w, Cores: workers}}, nil
}

// runFake runs labench scale on run and returns what it wrote.
func runFake(t *testing.T, ctx context.Context, f scaleFlags, run runFunc) (out, errOut string, err error) {
	t.Helper()
	for _, d := range []struct {
		field *string
		value string
	}{{&f.op, "cholesky"}, {&f.sizes, "1024,2048"}, {&f.workers, "1,2"}, {&f.nb, "auto"}, {&f.sched, "priority"}, {&f.versions, "all"},
		{&f.typ, "f64"}, {&f.profile, "none"}} {
		if *d.field == "" {
			*d.field = d.value
		}
	}
	if f.repeat == 0 {
		f.repeat = 3
	}
	var stdout, stderr bytes.Buffer
	a := &cli.App{Out: &stdout, Err: &stderr}
	err = runScale(ctx, a, &f, scaleMachine{run, fakePeak})
	return stdout.String(), stderr.String(), err
}

// table returns what follows the line about this machine, and fails if a line
// is too long.
func table(t *testing.T, out string) string {
	t.Helper()
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > report.Columns {
			t.Errorf("a line of %d columns: %q", n, line)
		}
	}
	return out[strings.Index(out, "cholesky"):]
}

func TestScaleTable(t *testing.T) {
	defer goleak.VerifyNone(t, labtest.Stays()...)
	out, _, err := runFake(t, t.Context(), scaleFlags{}, fakeRun)
	if err != nil {
		t.Fatal(err)
	}
	const want = `cholesky f64, nb automatic, priority, all versions
GFLOP/s, best and median of 3; peak = share of the measured FMA peak of the
workers' cores; spread = how much longer the longest run took than the shortest;
residual: below 30 is right

     n workers    nb    best  median  peak speed-up effic. spread residual
  1024       1   128    10.0     8.0  10 %     1.00  100 %    0 %  1.2e-01
  1024       2   128    18.0    14.4   9 %     1.80   90 %    0 %  1.2e-01
  2048       1   256    20.0    16.0  20 %     1.00  100 %    0 %  1.2e-01
  2048       2   256    36.0    28.8  18 %     1.80   90 %    0 %  1.2e-01
`
	if diff := cmp.Diff(want, table(t, out)); diff != "" {
		t.Error(diff)
	}
}

// With everything swept the table is as wide as it gets.
func TestScaleTableOfEverything(t *testing.T) {
	defer goleak.VerifyNone(t, labtest.Stays()...)
	out, _, err := runFake(t, t.Context(), scaleFlags{sizes: "16384", workers: "2,1", nb: "auto,1024", sched: "fifo,locality", versions: "all,go"}, fakeRun)
	if err != nil {
		t.Fatal(err)
	}
	const want = `cholesky f64, n = 16384
GFLOP/s, best and median of 3; peak = share of the measured FMA peak of the
workers' cores; spread = how much longer the longest run took than the shortest
a before nb: automatic

 workers    nb sched    versions    best  median  peak speed-up effic. spread
~      1 a2048 fifo     all        160.0   128.0 160 %     1.00  100 %    0 %
~      2 a2048 fifo     all        288.0   230.4 144 %     1.80   90 %    0 %
~      1  1024 fifo     all        160.0   128.0 160 %     1.00  100 %    0 %
~      2  1024 fifo     all        288.0   230.4 144 %     1.80   90 %    0 %
`
	got := table(t, out)
	if diff := cmp.Diff(want, strings.Join(strings.SplitAfter(got, "\n")[:10], "")); diff != "" {
		t.Error(diff)
	}
	if n := strings.Count(got, "\n"); n != 6+16+3 {
		t.Errorf("%d lines:\n%s", n, got)
	}

	s := &scaling{base: bench.Spec{Repeat: 3}, sizes: []int{1, 2}, workers: []int{1, 2}, nb: []int{0, 64}, placements: byPolicies(dispatch.Kinds()...),
		versions: []versionSet{{name: "all"}, {name: strings.Repeat("version+", 9)}}}
	for line := range strings.Lines(newScaleTable(s).head()) {
		if utf8.RuneCountInString(line) > report.Columns+1 {
			t.Errorf("a line of %d columns: %q", utf8.RuneCountInString(line)-1, line)
		}
	}
}

// What disturbs points, or the measurement of the peak, is marked and told once.
func TestScaleDisturbed(t *testing.T) {
	defer goleak.VerifyNone(t, labtest.Stays()...)
	run := func(ctx context.Context, s bench.Spec) (bench.Result, error) {
		r, _ := fakeRun(ctx, s)
		r.Load = &quiet.Load{Seconds: 1, CPUs: 2, Others: 0.9}
		switch {
		case s.N == 2048 && s.Workers == 1:
			r.GFLOPSBest = 101 // above the peak
		case s.N == 2048:
			r.Load.Others, r.Spread = 0, 0.5
		}
		return r, nil
	}
	out, errs, err := runFake(t, t.Context(), scaleFlags{}, run)
	if err != nil {
		t.Fatal(err)
	}
	var marks []string
	_, rows, _ := strings.Cut(table(t, out), "residual\n")
	for line := range strings.Lines(rows) {
		marks = append(marks, line[:1])
	}
	said := strings.Join(strings.Fields(rows), " ")
	if got := strings.Join(marks[:4], ""); got != " ~~~" || errs != "" || !strings.Contains(said, "~ disturbed, 3 of 4 rows: other programs had 0.90 of 2 CPUs at most; "+
		"the longest run took up to 50 % longer than the shortest; a rate above the peak says that the peak was measured too low. Stop what else runs") {
		t.Errorf("%q, %s, %s", got, errs, rows)
	}
	// The picture marks the same points.
	s := &scaling{base: bench.Spec{Problem: bench.Problem{Op: "gemm"}, Repeat: 1}, sizes: []int{1024, 2048}, workers: []int{1}, nb: []int{0}, placements: byPolicies(dispatch.Priority), versions: []versionSet{{name: "all"}}}
	chart := chartOf(s, varN, []point{{setting: setting{n: 1024, workers: 1}, result: bench.Result{N: 1024, Workers: 1, GFLOPSBest: 5, Passed: true}},
		{setting: setting{n: 2048, workers: 1}, result: bench.Result{N: 2048, Workers: 1, GFLOPSBest: 9, Passed: true, Spread: 0.5}}})
	if p := chart.Series[0].Points; p[0].Disturbed || !p[1].Disturbed {
		t.Errorf("points of the picture: %+v", p)
	}
	var warned bytes.Buffer
	a := &cli.App{Out: new(bytes.Buffer), Err: &warned}
	f := scaleFlags{op: "gemm", sizes: "100", workers: "1", nb: "auto", sched: "fifo", versions: "all", typ: "f64", profile: "none", repeat: 1}
	disturbed := func(ctx context.Context, typ string, workers int) (bench.PeakRate, error) {
		r, err := fakePeak(ctx, typ, workers)
		r.Disturbed = true
		return r, err
	}
	if err := runScale(t.Context(), a, &f, scaleMachine{fakeRun, disturbed}); err != nil || !strings.Contains(strings.Join(strings.Fields(warned.String()), " "), "while the peak was measured") {
		t.Errorf("%v, %s", err, warned.String())
	}
}

// Points with wrong results are marked, are no baseline, and make the command
// fail; so do points that cannot be run.
func TestScaleFailures(t *testing.T) {
	defer goleak.VerifyNone(t, labtest.Stays()...)
	boom := errors.New("device\nlost")
	run := func(ctx context.Context, s bench.Spec) (bench.Result, error) {
		r, _ := fakeRun(ctx, s)
		switch {
		case s.N == 1024 && s.Workers == 1:
			r.Passed, r.Failure, r.Residual = false, "the residual is 400 and must be below 30", 400
		case s.N == 2048 && s.Workers == 2:
			return bench.Result{}, boom
		}
		return r, nil
	}
	plot := filepath.Join(t.TempDir(), "plot.svg")
	out, _, err := runFake(t, t.Context(), scaleFlags{plot: plot}, run)
	var failed *sweep.Error
	if !errors.As(err, &failed) || len(failed.Failed) != 2 || failed.Total != 4 {
		t.Errorf("error is %v", err)
	}
	same := sweep.Error{Total: 9, Failed: []sweep.Failure{{Point: "n=1", Why: "small"}, {Point: "n=7", Why: "odd"}, {Point: "n=2", Why: "small"}}}
	if want := "3 of 9 points failed: n=1, n=2: small; n=7: odd"; same.Error() != want {
		t.Errorf("%q, want %q", same.Error(), want)
	}
	const want = `
     n workers    nb    best  median  peak speed-up effic. spread residual
! 1024       1   128    10.0     8.0  10 %        -      -    0 %  4.0e+02
  ! wrong result: the residual is 400 and must be below 30
  1024       2   128    18.0    14.4   9 %        -      -    0 %  1.2e-01
  2048       1   256    20.0    16.0  20 %     1.00  100 %    0 %  1.2e-01
! 2048       2     -       -       -     -        -      -      -        -
  ! device lost
`
	if _, rows, _ := strings.Cut(table(t, out), "\n\n"); cmp.Diff(want, "\n"+rows) != "" {
		t.Error(cmp.Diff(want, "\n"+rows))
	}
	picture, err := os.ReadFile(plot)
	if err != nil || !bytes.Contains(picture, []byte("wrong result")) {
		t.Errorf("the plot does not mark the point: %v", err)
	}
}

// A sweep that is interrupted has reported and written what it has.
func TestScaleInterrupted(t *testing.T) {
	defer goleak.VerifyNone(t, labtest.Stays()...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	run := func(ctx context.Context, s bench.Spec) (bench.Result, error) {
		if s.N == 2048 && s.Workers == 2 {
			cancel()
			return bench.Result{}, ctx.Err()
		}
		return fakeRun(ctx, s)
	}
	dir := t.TempDir()
	f := scaleFlags{csv: filepath.Join(dir, "points.csv"), plot: filepath.Join(dir, "points.png")}
	out, errOut, err := runFake(t, ctx, f, run)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if !strings.Contains(errOut, "interrupted after 3 of 4 points") {
		t.Errorf("warnings: %q", errOut)
	}
	if n := strings.Count(out, " %     1."); n != 3 {
		t.Errorf("%d rows:\n%s", n, out)
	}
	if rows := readCSV(t, f.csv); len(rows) != 3 {
		t.Errorf("%d rows in the CSV file", len(rows))
	}
	labtest.CheckPicture(t, f.plot)

	// Before the first point there is nothing to write.
	f.csv = filepath.Join(dir, "none.csv")
	if _, _, err := runFake(t, ctx, f, run); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if _, err := os.Stat(f.csv); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a CSV file of nothing: %v", err)
	}
}

// readCSV returns the rows of a file by the names of its columns.
func readCSV(t *testing.T, file string) []map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, r := range records[1:] {
		row := make(map[string]string)
		for i, name := range records[0] {
			row[name] = r[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// What is written to a CSV file is what was measured, to the last bit.
func TestScaleCSV(t *testing.T) {
	defer goleak.VerifyNone(t, labtest.Stays()...)
	var ran []bench.Result
	run := func(ctx context.Context, s bench.Spec) (bench.Result, error) {
		r, _ := fakeRun(ctx, s)
		r.SecondsBest, r.Residual = math.Nextafter(1.0/3, float64(len(ran))), bench.Number(math.NaN())
		if len(ran) == 2 {
			r.Passed, r.Failure = false, "a \"quoted\", failure"
		}
		ran = append(ran, r)
		return r, nil
	}
	f := scaleFlags{csv: filepath.Join(t.TempDir(), "points.csv"), nb: "auto,96"}
	runFake(t, t.Context(), f, run)
	rows := readCSV(t, f.csv)
	if len(rows) != len(ran) || len(ran) != 8 {
		t.Fatalf("%d rows of %d points", len(rows), len(ran))
	}
	number := func(s string) float64 {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Error(err)
		}
		return x
	}
	for i, r := range ran {
		row := rows[i]
		if row["op"] != r.Op || row["n"] != fmt.Sprint(r.N) || row["nb"] != fmt.Sprint(r.NB) || row["workers"] != fmt.Sprint(r.Workers) ||
			row["sched"] != "priority" || row["versions"] != "gemm/go:12;potrf/go:4" || row["nb_auto"] != fmt.Sprint(r.NB != 96) {
			t.Errorf("row %d: %v", i, row)
		}
		for name, want := range map[string]float64{"seconds_best": r.SecondsBest, "seconds_median": r.SecondsMedian, "gflops_best": r.GFLOPSBest,
			"gflops_median": r.GFLOPSMedian, "peak_gflops": 100 * float64(r.Workers), "peak_fraction": r.GFLOPSBest / (100 * float64(r.Workers))} {
			if number(row[name]) != want {
				t.Errorf("row %d: %s is %s, was %v", i, name, row[name], want)
			}
		}
		if row["residual"] != "" || row["passed"] != fmt.Sprint(r.Passed) {
			t.Errorf("row %d: residual %q, passed %q", i, row["residual"], row["passed"])
		}
	}
	if got := rows[2]["error"]; got != `wrong result: a "quoted", failure` {
		t.Errorf("error is %q", got)
	}
	if rows[2]["speedup"]+rows[3]["speedup"] != "" || number(rows[1]["speedup"]) != 1.8 || number(rows[1]["efficiency"]) != 0.9 {
		t.Errorf("speed-ups: %v", rows)
	}
}

func TestScaleJSON(t *testing.T) {
	defer goleak.VerifyNone(t, labtest.Stays()...)
	out, _, err := runFake(t, t.Context(), scaleFlags{json: true, versions: "go"}, func(ctx context.Context, s bench.Spec) (bench.Result, error) {
		r, _ := fakeRun(ctx, s)
		if s.N == 2048 && s.Workers == 1 {
			return r, errors.New("no luck")
		}
		return r, nil
	})
	if err == nil {
		t.Error("no error")
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines: %s", len(lines), out)
	}
	for i, line := range lines {
		var got struct {
			Op       string   `json:"op"`
			N        int      `json:"n"`
			Workers  int      `json:"workers"`
			GFLOPS   float64  `json:"gflops_best"`
			Residual *float64 `json:"residual"`
			Passed   bool     `json:"passed"`
			Auto     bool     `json:"nb_auto"`
			Allowed  string   `json:"versions_allowed"`
			Speedup  *float64 `json:"speedup"`
			Error    string   `json:"error"`
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if got.Op != "cholesky" || !got.Auto || got.Allowed != "go" || got.Workers != 1+i%2 || got.N != 1024*(1+i/2) {
			t.Errorf("line %d: %s", i, line)
		}
		if bad := i == 2; got.Passed == bad || (got.Error == "") == bad || (got.Residual == nil) != bad {
			t.Errorf("line %d: %s", i, line)
		}
		if (got.Speedup != nil) != (i < 2) {
			t.Errorf("line %d: %s", i, line)
		}
	}
}

// The series, the ideal and the peak of a plot.
func TestScaleChart(t *testing.T) {
	points := func(s *scaling) (all []point) {
		if err := s.measurePeaks(t.Context(), fakePeak); err != nil {
			t.Fatal(err)
		}
		for _, t := range s.settings() {
			p, _ := s.run(context.Background(), t, all, fakeRun)
			all = append(all, p)
		}
		return all
	}
	s := &scaling{base: bench.Spec{Problem: bench.Problem{Op: "gemm", Type: "f64"}, Repeat: 3}, sizes: []int{1024, 512}, workers: []int{1, 2, 4}, nb: []int{64},
		placements: byPolicies(dispatch.FIFO), versions: []versionSet{{name: "all"}}}
	xy := func(v ...float64) (all []plotting.Point) {
		for i := 0; i < len(v); i += 2 {
			all = append(all, plotting.Point{X: v[i], Y: v[i+1]})
		}
		return all
	}
	c := chartOf(s, varWorkers, points(s))
	if diff := cmp.Diff([]plotting.Series{{Name: "n = 1024", Points: xy(1, 10, 2, 18, 4, 28)}, {Name: "n = 512", Points: xy(1, 5, 2, 9, 4, 14)}}, c.Series, near()); diff != "" {
		t.Error(diff)
	}
	ideal := "ideal: one worker × workers"
	if diff := cmp.Diff([]plotting.Reference{{Name: ideal, Series: 0, Points: xy(1, 10, 2, 20, 4, 40)}, {Name: ideal, Series: 1, Points: xy(1, 5, 2, 10, 4, 20)},
		{Name: "measured FMA peak", Series: -1, Points: xy(1, 100, 2, 200, 4, 400)}}, c.References, near()); diff != "" {
		t.Error(diff)
	}

	c = chartOf(s, varN, points(s))
	if diff := cmp.Diff([]plotting.Series{{Name: "workers = 1", Points: xy(512, 5, 1024, 10)}, {Name: "workers = 2", Points: xy(512, 9, 1024, 18)},
		{Name: "workers = 4", Points: xy(512, 14, 1024, 28)}}, c.Series, near()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]plotting.Reference{{Name: ideal, Series: 1, Points: xy(512, 10, 1024, 20)}, {Name: ideal, Series: 2, Points: xy(512, 20, 1024, 40)},
		{Name: "FMA peak, workers = 1", Series: -1, Points: xy(512, 100, 1024, 100)}, {Name: "FMA peak, workers = 2", Series: -1, Points: xy(512, 200, 1024, 200)},
		{Name: "FMA peak, workers = 4", Series: -1, Points: xy(512, 400, 1024, 400)}}, c.References, near()); diff != "" {
		t.Error(diff)
	}

	s.workers, s.sizes, s.placements = []int{2}, []int{1024}, byPolicies(dispatch.LIFO, dispatch.FIFO)
	c = chartOf(s, varSched, points(s))
	if diff := cmp.Diff([]string{"lifo", "fifo"}, c.Categories); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]plotting.Series{{Name: "measured", Points: xy(0, 18, 1, 18)}}, c.Series, near()); diff != "" {
		t.Error(diff)
	}
}

func near() cmp.Option {
	return cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) <= 1e-12*math.Abs(x) })
}

// What is wrong with the command line is said at once, before anything runs.
func TestScaleUsage(t *testing.T) {
	defer goleak.VerifyNone(t, labtest.Stays()...)
	never := func(context.Context, bench.Spec) (bench.Result, error) {
		t.Error("something ran")
		return bench.Result{}, nil
	}
	for _, f := range []scaleFlags{
		{op: "cooking"}, {typ: "f16"}, {sizes: "big"}, {workers: "0"}, {nb: "automatic"}, {sched: "nice"}, {versions: "go,,go"}, {versions: "go++go"},
		{plot: "plot.pdf"}, {plot: "/no/such/directory/plot.png"}, {csv: "/no/such/directory/points.csv"}, {x: "y"}, {repeat: -1}, {warmup: -1},
		{nb: "40000"}, {sizes: "1:500:1", nb: "1:500:1"},
	} {
		_, _, err := runFake(t, t.Context(), f, never)
		if want := (*cli.UsageError)(nil); !errors.As(err, &want) {
			t.Errorf("%+v: error is %v", f, err)
		}
	}
	_, _, err := runFake(t, t.Context(), scaleFlags{sizes: "big", sched: "nice"}, never)
	if err == nil || !strings.Contains(err.Error(), "big") || !strings.Contains(err.Error(), "nice") || !strings.Contains(err.Error(), "fifodata") {
		t.Errorf("error is %v", err)
	}
	_, _, err = runFake(t, t.Context(), scaleFlags{versions: "fortran"}, never)
	if want := (*versions.UnknownNameError)(nil); !errors.As(err, &want) {
		t.Errorf("error is %v", err)
	}
}

// What an operation has of its own holds for all points, and is said.
func TestScaleChoices(t *testing.T) {
	defer goleak.VerifyNone(t, labtest.Stays()...)
	words := map[string]string{"pivot": "tile", "on-breakdown": "fallback", "tree": "auto", "method": "auto"}
	given := map[string]*string{}
	for flag := range words {
		w := words[flag]
		given[flag] = &w
	}
	var ran []bench.Spec
	run := func(ctx context.Context, s bench.Spec) (bench.Result, error) {
		ran = append(ran, s)
		return fakeRun(ctx, s)
	}
	out, _, err := runFake(t, t.Context(), scaleFlags{op: "lu", choices: given}, run)
	if err != nil || !strings.Contains(out, "\nlu f64, tile pivoting, nb automatic") || len(ran) != 4 || ran[3].Pivot != la.TilePivoting || ran[3].OnBreakdown != la.FallBack {
		t.Errorf("%v, %d runs:\n%s", err, len(ran), out)
	}
	for flag, word := range map[string]string{"tree": "greedy", "pivot": "none"} {
		given := map[string]*string{flag: &word}
		if _, _, err := runFake(t, t.Context(), scaleFlags{op: "lu", choices: given}, run); err == nil || !strings.Contains(err.Error(), "--"+flag) {
			t.Errorf("--%s %s: %v", flag, word, err)
		}
	}
}

func TestWidest(t *testing.T) {
	s := &scaling{sizes: []int{1}, workers: []int{1}, nb: []int{1}, placements: byPolicies(dispatch.Kinds()[0]), versions: make([]versionSet, 1)}
	if v := s.widest(); v != varN {
		t.Errorf("%v with one point", v)
	}
	s.sizes, s.workers = []int{1, 2}, []int{1, 2}
	if v := s.widest(); v != varN {
		t.Errorf("%v of n and workers", v)
	}
	s.placements = byPolicies(dispatch.Kinds()[:3]...)
	if v := s.widest(); v != varSched {
		t.Errorf("%v with three policies", v)
	}
}

func TestDoublings(t *testing.T) {
	for n, want := range map[int][]int{1: {1}, 2: {1, 2}, 3: {1, 2, 3}, 8: {1, 2, 4, 8}, 12: {1, 2, 4, 8, 12}} {
		if got := doublings(n); !slices.Equal(got, want) {
			t.Errorf("doublings(%d) = %v", n, got)
		}
	}
}
