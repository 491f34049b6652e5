package main

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/inspect"
	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/internal/cli"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv("TEST_LABENCH") != "" { // this process is to be labench: see process
		main()
	}
	goleak.VerifyTestMain(m, labtest.Stays()...)
}

// labench runs a command line in this process, with a user's cache of its own
// and without measuring the machine's peak.
func labench(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	return labenchIn(t, context.Background(), args...)
}

func labenchIn(t *testing.T, ctx context.Context, args ...string) (code int, out, errs string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var stdout bytes.Buffer
	var stderr console // agents of --cluster local write to it, too
	a := &cli.App{Out: &stdout, Err: &stderr, NoPeak: true, Cores: 64}
	code = run(ctx, a, args)
	return code, stdout.String(), stderr.String()
}

// forOp returns args without --nb and its value for an op without tiles.
func forOp(op string, args []string) []string {
	tiled := slices.ContainsFunc(bench.Operations(), func(o bench.Operation) bool { return o.Name == op && o.Tiled() })
	if i := slices.Index(args, "--nb"); i >= 0 && !tiled {
		return slices.Delete(slices.Clone(args), i, i+2)
	}
	return args
}

func TestReports(t *testing.T) {
	flags := map[string][]string{"f64": {"-n", "150", "--nb", "32", "--workers", "3", "--sched", "fifodata", "--repeat", "2"},
		"f32": {"-n", "60", "--verify=false", "--warmup", "0", "--versions", "go"}}
	for _, op := range bench.Ops() {
		for _, typ := range bench.Types() {
			args := forOp(op, append([]string{op, "--type", typ}, flags[typ]...))
			code, out, errs := labench(t, args...)
			if code != cli.ExitPassed || errs != "" {
				t.Errorf("%v: exit code %d: %s", args, code, errs)
			}
			labtest.Narrow(t, strings.Join(args, " "), out)
			want := "pass\n"
			if slices.Contains(args, "--verify=false") {
				want = "not checked\n"
			}
			if !strings.Contains(out, want) {
				t.Errorf("%v: no %q in\n%s", args, want, out)
			}
		}
	}
}

func TestJSON(t *testing.T) {
	fields := []string{"op", "type", "m", "n", "k", "nb", "workers", "sched", "versions", "seconds_best", "seconds_median",
		"gflops_best", "gflops_median", "peak_gflops", "peak_fraction", "residual", "passed"}
	for _, op := range bench.Ops() {
		args := forOp(op, []string{op, "-n", "150", "--json", "--nb", "64"})
		code, out, errs := labench(t, args...)
		if code != cli.ExitPassed || errs != "" {
			t.Errorf("%s: exit code %d: %s", op, code, errs)
		}
		if !strings.HasSuffix(out, "}\n") || strings.Count(out, "\n") != 1 {
			t.Errorf("%s: not one line: %q", op, out)
		}
		d := json.NewDecoder(strings.NewReader(out))
		var got []string
		for depth := 0; ; {
			token, err := d.Token()
			if err != nil {
				break
			}
			switch v := token.(type) {
			case json.Delim:
				depth += map[json.Delim]int{'{': 1, '}': -1}[v]
			case string:
				if depth == 1 && slices.Contains(fields, v) && !slices.Contains(got, v) && v != op {
					got = append(got, v)
				}
			}
		}
		if diff := cmp.Diff(fields, got); diff != "" {
			t.Errorf("%s: fields:\n%s", op, diff)
		}
		var r bench.Result
		if err := json.Unmarshal([]byte(out), &r); err != nil || r.Op != op || r.NB != 64 && len(args) == 6 || !r.Passed || r.SecondsBest <= 0 {
			t.Errorf("%s: %+v, %v", op, r, err)
		}
	}
}

func TestFailures(t *testing.T) {
	// Names of files must not depend on where the test runs: their length
	// decides where lines break.
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	file := func(name, text string) string {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	indefinite := file("indefinite.mtx", "%%MatrixMarket matrix array real symmetric\n3 3\n4\n2\n0\n1\n0\n1\n")
	general := file("general.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n0\n1\n")
	corrupt := file("corrupt.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\nx\n0\n1\n")
	nan := file("nan.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n2\nnan\n1\n")
	zero := file("zero.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n0\n0\n")
	tiny := file("tiny.mtx", "%%MatrixMarket matrix array real general\n1 1\n1e-310\n")
	negative := file("negative.mtx", "%%MatrixMarket matrix array real general\n-2 2\n1\n")
	if err := os.Mkdir("directory.dot", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("certs", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("certs/laptop", 0o755); err != nil {
		t.Fatal(err)
	}
	file("certs/laptop/node.crt", "a certificate")
	messages := map[string]string{}
	for _, test := range []struct {
		name string
		args []string
		code int
	}{
		{"command", []string{"frobnicate"}, cli.ExitUsage},
		{"argument", []string{"gemm", "4096"}, cli.ExitUsage},
		{"help", []string{"help", "machin"}, cli.ExitUsage},
		{"twice", []string{"cluster", "init", "c", "--nodes", "a,b,a"}, cli.ExitUsage},
		{"parent", []string{"agent", "--listen", "127.0.0.1:0", "--workers", "1", "--certs", "certs"}, cli.ExitFailed},
		{"folder", []string{"lu", "--input", "."}, cli.ExitFailed},
		{"planned", []string{"plan", "lu", "--machine", "nofile"}, cli.ExitUsage},
		{"many", []string{"lu", "--workers", "100000"}, cli.ExitUsage},
		{"flag", []string{"gemm", "--size", "4096"}, cli.ExitUsage},
		{"number", []string{"gemm", "-n", "many"}, cli.ExitUsage},
		{"zero", []string{"gemm", "-n", "0", "--repeat", "0", "--warmup", "-1"}, cli.ExitUsage},
		{"words", []string{"gemm", "--type", "f16", "--sched", "best", "--matrix", "nice", "--versions", "a,,b"}, cli.ExitUsage},
		{"pin", []string{"gemm", "--versions", "gemm="}, cli.ExitUsage},
		{"shape", []string{"trsm", "--k", "3"}, cli.ExitUsage},
		{"unsymmetric", []string{"cholesky", "--matrix", "kahan"}, cli.ExitUsage},
		{"random", []string{"cholesky", "--matrix", "random"}, cli.ExitUsage},
		{"triangle", []string{"trsm", "--matrix", "random"}, cli.ExitUsage},
		{"both", []string{"cholesky", "--matrix", "spd", "--input", indefinite}, cli.ExitUsage},
		{"peak", []string{"peak", "--workers", "-1"}, cli.ExitUsage},
		{"indefinite", []string{"cholesky", "--input", indefinite}, cli.ExitFailed},
		{"minor", []string{"cholesky", "--matrix", "middle-zero", "-n", "300", "--json"}, cli.ExitFailed},
		{"general", []string{"cholesky", "--input", general}, cli.ExitFailed},
		{"corrupt", []string{"cholesky", "--input", corrupt}, cli.ExitFailed},
		{"missing", []string{"cholesky", "--input", "missing.mtx"}, cli.ExitFailed},
		{"nan", []string{"gemm", "--input", nan}, cli.ExitFailed},
		{"zero diagonal", []string{"trsm", "--input", zero}, cli.ExitFailed},
		{"overflow", []string{"solve", "--input", tiny}, cli.ExitFailed},
		{"negative", []string{"lu", "--input", negative}, cli.ExitFailed},
		{"empty", []string{"lu", "--input", "", "--trace", ""}, cli.ExitUsage},
		{"huge number", []string{"gemm", "-n", "99999999999"}, cli.ExitUsage},
		{"seed", []string{"gemm", "--seed", "-1"}, cli.ExitUsage},
		{"truth", []string{"gemm", "--verify=perhaps"}, cli.ExitUsage},
		{"time", []string{"tune", "--budget", "soon"}, cli.ExitUsage},
		{"endings", []string{"gemm", "--trace", "run.txt", "--dot", "run.svg", "--report", "--json"}, cli.ExitUsage},
		{"places", []string{"gemm", "--trace", "nowhere/run.prv", "--dot", "directory.dot"}, cli.ExitUsage},
		{"address", []string{"gemm", "--monitor", "0.0.0.0:80"}, cli.ExitUsage},
	} {
		code, out, errs := labench(t, test.args...)
		if code != test.code {
			t.Errorf("%v: exit code %d, want %d", test.args, code, test.code)
		}
		if out != "" {
			t.Errorf("%v: on standard output: %s", test.args, out)
		}
		labtest.Narrow(t, test.name, errs)
		messages[test.name] = errs
	}
	t.Chdir(home)
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(messages)) {
		all.WriteString("== " + name + "\n" + messages[name])
	}
	labtest.Golden(t, "errors", all.String())
}

// TestUnlikely covers errors whose text depends on the machine or the build.
func TestUnlikely(t *testing.T) {
	for _, test := range []struct {
		args []string
		code int
		want []string // parts of the error
	}{
		{[]string{"gemm", "-n", "50", "--versions", "nonesuch"}, cli.ExitUsage, []string{"unknown version \"nonesuch\"; known:", "go", "labench list"}},
		{[]string{"gemm", "-n", "50", "--versions", "go", "--exclude", "go"}, cli.ExitUsage, []string{"go"}},
		{[]string{"cholesky", "-n", "20000000"}, cli.ExitFailed, []string{"8.2 PiB", "half the memory with --type f32, or none for the check with --verify=false."}},
		{[]string{"cholesky", "-n", "20000000", "--verify=false"}, cli.ExitFailed, []string{"Take a smaller problem, or half the memory with --type f32."}},
		{[]string{"lu", "-n", "20000000", "--type", "f32"}, cli.ExitFailed, []string{"Take a smaller problem, or none for the check with --verify=false."}},
		{[]string{"gemm", "-n", "20000000", "--type", "f32"}, cli.ExitFailed, []string{"Take a smaller problem."}},
		{[]string{"solve", "-n", "65", "--matrix", "foster"}, cli.ExitFailed, []string{"the elements grew by", "labench solve --method qr"}},
		{[]string{"solve", "-n", "65", "--matrix", "foster", "--mixed"}, cli.ExitFailed, []string{"the elements grew by", "labench solve --method qr"}},
		{[]string{"solve", "-n", "65", "--matrix", "foster", "--method", "qr"}, cli.ExitPassed, nil},
		{[]string{"gemm", "-n", "40", "--processor", "Abacus"}, cli.ExitUsage, []string{`Target.Processor is "Abacus"`, "no version", "--processor", "labench list"}},
		{[]string{"gemm", "-n", "40", "--units", "99"}, cli.ExitUsage, []string{"Target.Units is 99", "--units"}},
		{[]string{"gemm", "-n", "40", "--matrix", "huge"}, cli.ExitFailed, []string{"the result is wrong: the result holds infinities or NaN", "overflow"}},
	} {
		code, _, errs := labench(t, test.args...)
		labtest.Narrow(t, strings.Join(test.args, " "), errs)
		errs = strings.Join(strings.Fields(errs), " ")
		for _, want := range test.want {
			if code != test.code || !strings.Contains(errs, want) {
				t.Errorf("%v: exit code %d, no %q in %q", test.args, code, want, errs)
			}
		}
	}
}

// TestInputWarning: what is wrong with a matrix file that is read all the same is said.
func TestInputWarning(t *testing.T) {
	path := filepath.Join(t.TempDir(), "upper.mtx")
	if err := os.WriteFile(path, []byte("%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n2 2 4\n1 2 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errs := labench(t, "cholesky", "--input", path)
	if said := strings.Join(strings.Fields(errs), " "); code != cli.ExitPassed || !strings.Contains(out, "pass\n") ||
		!strings.Contains(said, "labench: warning: ") || !strings.Contains(said, "upper.mtx:5: an entry is above the diagonal") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

// TestInputOfOthers: --input takes what SciPy and others write, and an array of a .npz file.
func TestInputOfOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mtx")
	for text, told := range map[string]string{
		" %%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 3.0\n":            "a.mtx:1: blanks stand before the banner",
		"%%MatrixMarket matrix coordinate unsigned-integer general\n2 2 1\n+1 1 3\n":  "",
		"%%MatrixMarket matrix array integer general\n1 2\n1\n9007199254740993\n":     "a.mtx:4: an integer is rounded",
		"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n1 1 0\n2 1 5\n": "a.mtx:3: a zero is on the diagonal",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		code, out, errs := labench(t, "gemm", "--repeat", "1", "--input", path)
		if said := strings.Join(strings.Fields(errs), " "); code != cli.ExitPassed || !strings.Contains(out, "pass\n") || !strings.Contains(said, told) {
			t.Errorf("%q: exit code %d: %s%s", text, code, out, errs)
		}
	}
	npz := filepath.Join("..", "..", "blocked", "file", "testdata", "npz", "several.npz")
	if code, out, errs := labench(t, "gemm", "--repeat", "1", "--input", npz+":f"); code != cli.ExitPassed || !strings.Contains(out, "pass\n") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if code, _, errs := labench(t, "gemm", "--input", npz); code != cli.ExitFailed || !strings.Contains(errs, `"w", "b", "f"`) {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// TestSingularInput: a system that is solved although its matrix is singular is not only a pass.
func TestSingularInput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "singular.mtx")
	if err := os.WriteFile(path, []byte("%%MatrixMarket matrix array real general\n3 3\n1\n4\n7\n2\n5\n8\n3\n6\n9\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, more := range [][]string{nil, {"--mixed"}} {
		code, out, errs := labench(t, append([]string{"solve", "--repeat", "1", "--input", path}, more...)...)
		if code != cli.ExitPassed || !strings.Contains(out, "every digit of the solution may be wrong") {
			t.Errorf("%v: exit code %d: %s%s", more, code, out, errs)
		}
	}
}

func TestWrongResult(t *testing.T) {
	code, out, _ := labench(t, "gemm", "-n", "40", "--matrix", "huge", "--json")
	var r bench.Result
	if err := json.Unmarshal([]byte(out), &r); code != cli.ExitFailed || err != nil || r.Passed {
		t.Errorf("exit code %d, %v: %s", code, err, out)
	}
	code, out, _ = labench(t, "gemm", "-n", "40", "--matrix", "huge")
	labtest.Narrow(t, "huge", out)
	if code != cli.ExitFailed || !strings.Contains(out, "FAIL\n") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, args := range [][]string{{"cholesky", "-n", "500"}, {"gemm", "-n", "500", "--json"}, {"peak"}} {
		code, out, errs := labenchIn(t, ctx, args...)
		if code != cli.ExitInterrupted || strings.Contains(out, "{") || errs != "labench: interrupted\n" {
			t.Errorf("%v: exit code %d, %q, %q", args, code, out, errs)
		}
	}
}

func TestProfile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profile.json")
	const damaged = `{"format": "tessera-profile", `
	if err := os.WriteFile(path, []byte(damaged), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, errs := labench(t, "cholesky", "-n", "200", "--profile", path)
	labtest.Narrow(t, "warning", errs)
	if code != cli.ExitPassed || !strings.Contains(errs, "labench: warning: profile not used") {
		t.Errorf("corrupt: exit code %d, %s", code, errs)
	}
	if kept, err := os.ReadFile(path + ".corrupt-1"); err != nil || string(kept) != damaged {
		t.Errorf("corrupt: %q, %v", kept, err)
	}
	if code, _, errs = labench(t, "cholesky", "-n", "200", "--profile", path); code != cli.ExitPassed || errs != "" {
		t.Errorf("afterwards: exit code %d, %s", code, errs)
	}
	// A file of another kind is left alone.
	other := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(other, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errs = labench(t, "cholesky", "-n", "200", "--profile", other); code == cli.ExitPassed || !strings.Contains(errs, "notes.txt") {
		t.Errorf("notes: exit code %d, %s", code, errs)
	}
	if kept, err := os.ReadFile(other); err != nil || string(kept) != "mine" {
		t.Errorf("notes: %q, %v", kept, err)
	}
	// A directory is refused before anything runs.
	if code, _, errs = labench(t, "cholesky", "-n", "20", "--profile", t.TempDir()); code != cli.ExitUsage || !strings.Contains(errs, "that is not a file") || strings.Contains(errs, "machine ") {
		t.Errorf("directory: exit code %d, %s", code, errs)
	}
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	a := &cli.App{Out: new(bytes.Buffer), Err: new(bytes.Buffer), NoPeak: true}
	if code := run(context.Background(), a, []string{"gemm", "-n", "200", "--profile", "none"}); code != cli.ExitPassed {
		t.Errorf("none: exit code %d", code)
	}
	if files, _ := os.ReadDir(cache); len(files) != 0 {
		t.Errorf("none left %v", files)
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}, {"--tags-info"}, {"gemm", "--help"}, {"syrk", "--help"}, {"trsm", "--help"},
		{"cholesky", "--help"}, {"cholesky", "--tags-info"}, {"cholesky", "--matrix", "help"}, {"peak", "--help"}, {"list", "--help"},
		{"doctor", "--help"}, {"scale", "--help"}, {"dropin", "--help"}} {
		code, out, errs := labench(t, args...)
		if code != cli.ExitPassed || out == "" || errs != "" {
			t.Errorf("%v: exit code %d, %q", args, code, errs)
		}
		labtest.Narrow(t, "labench "+strings.Join(args, " "), out)
	}
	// No command is forgotten.
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			if sub.Hidden {
				continue // it says where it went: TestNonsense
			}
			args := append(strings.Fields(sub.CommandPath())[1:], "--help")
			code, out, errs := labench(t, args...)
			if code != cli.ExitPassed || out == "" || errs != "" {
				t.Errorf("%v: exit code %d, %q", args, code, errs)
			}
			labtest.Narrow(t, sub.CommandPath()+" --help", out)
			each(sub)
		}
	}
	each(root(cli.New()))
	_, out, _ := labench(t, "cholesky", "--help")
	labtest.Golden(t, "help-cholesky", out)
	code, out, _ := labench(t, "gemm", "--tags-info", "--json")
	var tags []setup.TagRow
	if err := json.Unmarshal([]byte(out), &tags); code != cli.ExitPassed || err != nil || len(tags) != 5 || tags[0].Tag != "openblas" || tags[2].Tag != "cuda" {
		t.Errorf("--tags-info --json: %v: %s", err, out)
	}
	if root(cli.New()).Name() != "labench" {
		t.Error(root(cli.New()).Name())
	}
}

func TestPeak(t *testing.T) {
	if testing.Short() {
		t.Skip("measuring takes seconds")
	}
	code, out, errs := labench(t, "peak", "--json", "--workers", "1")
	if code != cli.ExitPassed {
		t.Errorf("exit code %d: %s", code, errs)
	}
	var doc inspect.PeakDocument
	if err := json.Unmarshal([]byte(out), &doc); err != nil || doc.Machine == "" {
		t.Fatalf("%v: %s", err, out)
	}
	last := inspect.PeakRow{}
	for _, last = range doc.Measurements {
		if last.One <= 0 || last.All <= 0 || last.Cores != 1 {
			t.Errorf("%+v", last)
		}
	}
	if last.What != "triad" || last.Unit != "GB/s" {
		t.Errorf("the last is %+v", last)
	}
}

// TestCompletion: shells offer the words of flags.
func TestCompletion(t *testing.T) {
	for flag, want := range map[string]string{"--type": "f64\nf32\n", "--sched": "priority\n"} {
		if code, out, _ := labench(t, "__complete", "lu", flag, ""); code != cli.ExitPassed || !strings.HasPrefix(out, want) {
			t.Errorf("%s: exit code %d: %q", flag, code, out)
		}
	}
}
