package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/internal/cli"
)

func TestRequestDevices(t *testing.T) {
	for _, good := range []string{"none", "auto", "sim", "sim:2", "cuda0,cuda3"} {
		if err := setup.RequestDevices(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	var bad *cli.ListError
	if err := setup.RequestDevices("sim,gpu0"); !errors.As(err, &bad) || bad.Flag != "devices" || bad.Element != "gpu0" {
		t.Errorf("got %v", err)
	}
}

// TestScaleDevices has the workers alone, the devices alone, and both.
func TestScaleDevices(t *testing.T) {
	code, out, errs := labench(t, "scale", "gemm", "-n", "64", "--nb", "32", "--workers", "1", "--devices", "sim", "--repeat", "1", "--profile", "none")
	if code != cli.ExitPassed || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	labtest.Narrow(t, "scale", out)
	for _, want := range []string{" devices ", "none ", "sim only ", "sim too "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	code, _, errs = labench(t, "scale", "--devices", "gpu")
	if code != cli.ExitUsage || !strings.Contains(errs, `--devices: "gpu" is not allowed`) {
		t.Errorf("exit code %d: %s", code, errs)
	}
	code, _, errs = labench(t, "gemm", "--devices", "sim:0")
	if code != cli.ExitUsage || !strings.Contains(errs, `--devices: "sim:0" is not allowed`) {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// TestResourcesReported: a run on two kinds of worker says which ran what.
func TestResourcesReported(t *testing.T) {
	file := filepath.Join(t.TempDir(), "resources.toml")
	if err := os.WriteFile(file, []byte("[[workers]]\ncount = 1\n[[workers]]\ncount = 1\nprocessor = \"KNL\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := labench(t, "cholesky", "-n", "200", "--nb", "40", "--resources", file, "--json")
	if code != cli.ExitPassed {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	var r struct {
		Kinds []struct {
			Processor string
			Workers   int
			Calls     map[string]int
		}
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, k := range r.Kinds {
		for _, n := range k.Calls {
			calls += n
		}
	}
	if len(r.Kinds) != 2 || r.Kinds[1].Processor != "KNL" || r.Kinds[0].Workers != 1 || r.Kinds[1].Workers != 1 || calls == 0 {
		t.Errorf("%+v", r.Kinds)
	}
}
