package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/internal/cli"
)

func TestLoop(t *testing.T) {
	plot := filepath.Join(t.TempDir(), "chunks.png")
	args := []string{"loop", "components", "--vertices", "500", "--edges", "3000", "--schemes", "auto,gss,static", "--repeat", "2", "--workers", "2"}
	code, out, errs := papers(t, append(args, "--explain", "--plot", plot)...)
	if code != 0 || errs != "" || strings.Count(out, "\ngss ") != 3 || strings.Count(out, "\nauto ") != 1 || !strings.Contains(out, "next: ") {
		t.Errorf("code %d\n%s\n%s", code, out, errs)
	}
	if !strings.Contains(out, "\npairs      auto takes ") || !strings.Contains(strings.Join(strings.Fields(out), " "), " of 2 pairs of runs") {
		t.Errorf("auto is not compared with the best other plan\n%s", out)
	}
	narrow(t, "loop", out)
	checkPicture(t, plot)

	code, out, _ = papers(t, "loop", "linreg", "--rows", "300", "--features", "4", "--schemes", "auto,mfsc", "--queues", "core+shares,central", "--victims", "all", "--grain", "5",
		"--repeat", "1", "--workers", "2", "--json")
	var doc loopDocument
	if err := json.Unmarshal([]byte(out), &doc); code != 0 || err != nil || len(doc.Plans) != 6 || doc.App != "linreg" || doc.Workers != 2 || doc.Bytes == 0 || doc.Machine == "" || doc.Commit == "" {
		t.Fatalf("code %d, %v\n%s", code, err, out)
	}
	if r := doc.Plans[0].Rival; r == nil || !strings.HasPrefix(r.Plan, "mfsc ") || len(r.Ratios) != 1 {
		t.Errorf("%+v", r)
	}
	if r := doc.Plans[1]; r.Rival != nil || r.Scheme != "mfsc" || r.Queues != "core+shares" || r.Victims != "seqpri" || r.Grain != 5 || r.Loops != 4 || r.Chunks == 0 || r.Best <= 0 || r.Best > r.Median || len(r.Stolen) != 2 {
		t.Errorf("%+v", r)
	}
	for _, app := range []string{"kmeans", "histogram", "svm", "neighbours"} {
		code, out, errs := papers(t, "loop", app, "--points", "500", "--dims", "3", "--blocks", "3", "--iterations", "2", "--repeat", "1", "--workers", "2", "--schemes", "auto,gss", "--plot", plot)
		if code != 0 || errs != "" || strings.Count(out, "\ngss ") != 2 || strings.Count(out, " split ") != 2 || strings.Count(out, " baseline ") != 1 {
			t.Errorf("code %d\n%s\n%s", code, out, errs)
		}
		narrow(t, "loop", out)
		checkPicture(t, plot)
	}
	for _, bad := range [][]string{{"kmeans", "--queues", "core"}, {"kmeans", "--points", "-1"}, {"svm", "--kernel", "cubic"}, {"neighbours", "--neighbours", "0"}, {"histogram", "--forms", "none"}, {"kmeans", "--forms", "rechunk", "--plot", "x.svg"}, {}, {"knn"}, {"linreg", "components"}, {"linreg", "--schemes", "best"}, {"linreg", "--queues", "none"}, {"linreg", "--victims", "me"},
		{"linreg", "--rows", "1"}, {"linreg", "--repeat", "0"}, {"linreg", "--grain", "-1"}, {"linreg", "--plot", "x.pdf"}, {"linreg", "--workers", "-2"}} {
		if code, _, errs := papers(t, append([]string{"loop"}, bad...)...); code != cli.ExitUsage || errs == "" {
			t.Errorf("%v: code %d, %q", bad, code, errs)
		}
	}
}

// TestMain has the agents of TestLoopOnNodes be this program.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "agent" {
		main()
	}
	os.Exit(m.Run())
}

// TestLoopOnNodes: the four forms have the right results on two agents, with a task for each block, or for each
// partition and chunk of it.
func TestLoopOnNodes(t *testing.T) {
	for app, loops := range map[string]int{"kmeans": 2, "histogram": 1} {
		code, out, errs := papers(t, "loop", app, "--points", "503", "--dims", "3", "--blocks", "3", "--iterations", "2", "--repeat", "1", "--schemes", "auto,gss", "--cluster", "local:2", "--json")
		var doc loopDocument
		if err := json.Unmarshal([]byte(out), &doc); code != 0 || err != nil || doc.Nodes != 2 || doc.Bytes != 503*3*8 {
			t.Fatalf("code %d, %v\n%s%s", code, err, out, errs)
		}
		var seen []string
		for _, p := range doc.Plans {
			what := strings.TrimSpace(p.Form + " " + p.Scheme)
			if seen = append(seen, what); !strings.HasSuffix(what, "gss") {
				want := map[string]int{"baseline": 6, "rechunk": 2, "split auto": 2, "materialised auto": 2}[what] * loops
				if p.Chunks != want || p.Best <= 0 {
					t.Errorf("%s, %s: %d tasks in %v s, want %d", app, what, p.Chunks, p.Best, want)
				}
			}
		}
		if want := "baseline, split auto, split gss, rechunk, materialised auto, materialised gss"; strings.Join(seen, ", ") != want {
			t.Errorf("%s: %s", app, seen)
		}
	}
	for _, bad := range []string{"svm --cluster local:2", "linreg --cluster local:2", "kmeans --cluster 10.0.0.1:7400", "kmeans --cluster local:0", "kmeans --cluster local:2 --workers 2"} {
		if code, _, errs := papers(t, append([]string{"loop"}, strings.Fields(bad)...)...); code != cli.ExitUsage || errs == "" {
			t.Errorf("%s: code %d, %q", bad, code, errs)
		}
	}
}
