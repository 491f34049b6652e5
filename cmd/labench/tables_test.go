package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tessera-la/tessera/cmd/labench/internal/inspect"
	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

// TestListRuns: the whole command.
func TestListRuns(t *testing.T) {
	code, out, errs := labench(t, "list", "--json")
	if code != cli.ExitPassed || errs != "" {
		t.Errorf("exit code %d: %s", code, errs)
	}
	seen := map[string]bool{}
	var doc inspect.InventoryDocument
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	for _, r := range doc.Versions {
		if r.Eligible != (r.Reason == "") || r.Eligible && !r.Present {
			t.Errorf("%+v", r)
		}
		if (r.Version == "go" || r.Version == "copy") && r.Eligible {
			seen[r.Op+"/"+r.Type] = true
		}
	}
	for _, o := range op.NewTable().All() {
		if !seen[o.OpName()] {
			t.Errorf("no portable version of %s", o.OpName())
		}
	}
	_, out, _ = labench(t, "list")
	labtest.Narrow(t, "list", out)
	if n := strings.Count(out, "\n"); n > 70 || !strings.Contains(out, "\ngemm ") {
		t.Errorf("%d lines:\n%s", n, out)
	}
	_, all, _ := labench(t, "list", "--all")
	_, some, _ := labench(t, "list", "gemm")
	if labtest.Narrow(t, "list", all+some); strings.Count(all, "\n") <= strings.Count(out, "\n") || !strings.Contains(some, "eligible") || strings.Contains(some, "potrf") {
		t.Errorf("%s\n%s", all, some)
	}
}

// TestDoctorRuns: the whole command.
func TestDoctorRuns(t *testing.T) {
	code, out, errs := labench(t, "doctor")
	if code != cli.ExitPassed || errs != "" {
		t.Errorf("exit code %d: %s", code, errs)
	}
	labtest.Narrow(t, "doctor", out)
}

func TestWrapped(t *testing.T) {
	words := strings.Repeat("word ", 30)
	got := report.Wrapped("label: ", words+"\n  indented "+words+"\nend")
	labtest.Narrow(t, "wrapped", got)
	labtest.Golden(t, "wrapped", got)
	if got := report.Wrapped("", ""); got != "" {
		t.Errorf("%q", got)
	}
	if got := report.Clip("überlang", 5); got != "über…" {
		t.Error(got)
	}
	p := report.Paint{On: true}
	if got := p.Good("x"); got != "\x1b[1;32mx\x1b[0m" {
		t.Errorf("%q", got)
	}
}

func TestParseVersions(t *testing.T) {
	only, fixed, err := setup.ParseVersions("openblas, go,gemm=go,potrf/f64=openblas")
	if err != nil || strings.Join(only, " ") != "openblas go" || len(fixed) != 2 || fixed[1] != (versions.Pin{Op: "potrf/f64", Version: "openblas"}) {
		t.Errorf("%v %v %v", only, fixed, err)
	}
	if only, fixed, err = setup.ParseVersions(""); err != nil || only != nil || fixed != nil {
		t.Errorf("%v %v %v", only, fixed, err)
	}
}

// TestProgress shows a bar to a writer that is no terminal, and leaves no
// goroutine behind.
func TestProgress(t *testing.T) {
	var b bytes.Buffer
	p := report.NewProgress(nil, "test")
	p.Line.W = &b
	p.Update(1, 10)
	if b.Len() > 0 {
		t.Error("a bar within the first second")
	}
	p.Begin, p.Next = p.Begin.Add(-2*time.Second), time.Time{}
	p.Update(5, 10)
	want := "test ▕" + strings.Repeat("█", 20) + strings.Repeat(" ", 20) + "▏ 50 % 2s"
	if b.String() != want {
		t.Errorf("the bar is %q, want %q", &b, want)
	}
	p.Update(10, 10)
	if b.String() != want {
		t.Error("the bar is drawn again at once")
	}
	p.End()
	if got := strings.TrimPrefix(b.String(), want); got != "\r\x1b[K" {
		t.Errorf("the bar ends with %q", got)
	}
	var none *report.Progress
	none.Update(1, 2)
	none.End()
}

// TestProgressNodes: the line says how many nodes there are, who was lost and who joined, in one
// line of a terminal.
func TestProgressNodes(t *testing.T) {
	there := []string{"agent0", "agent1", "a-node-with-a-long-name"}
	p := report.NewProgress(nil, "cholesky")
	p.Nodes = &report.Census{There: func() []string { return there }}
	for _, step := range []struct {
		there []string
		want  string
	}{
		{there, "50 % 3s, 3 nodes"},
		{there[:2], "50 % 3s, 2 nodes, a-node-with-a… lost at 3s"},
		{there[:2], "50 % 3s, 2 nodes, a-node-with-a… lost at 3s"},
		{[]string{"agent0", "agent1", "agent2"}, "3 nodes, agent2 joined at 3s"},
		{[]string{"agent1", "agent2"}, "2 nodes, agent0 lost at 3s"},
		{nil, "0 nodes, agent2 lost at 3s"},
	} {
		there = step.there
		if got := p.Text(5, 10, 3*time.Second); !strings.HasSuffix(got, step.want) || !strings.HasPrefix(got, "cholesky ▕████████ ") || utf8.RuneCountInString(got) > 79 {
			t.Errorf("%q, want …%q", got, step.want)
		}
	}
}
