package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/cmd/labench/internal/gpucheck"
	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/internal/cli"
)

// TestGPUCheck runs the whole command on a simulated device.
func TestGPUCheck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	code, out, errs := labench(t, "gpu-check", "--devices", "sim", "--workers", "2", "--json", file)
	if code != cli.ExitPassed || errs != "" {
		t.Fatalf("exit code %d: %s\n%s", code, errs, out)
	}
	labtest.Narrow(t, "gpu-check", out)
	for _, want := range []string{"device     sim0: simulated", "pageable ", "latency ", "potrf/f32 ", "tsmqr/f64 ", "cholesky/f64 ",
		"everything that was looked at is right"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r gpucheck.Report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if r.Wrong() != "" || !r.Simulated || r.Point != "" || len(r.Copies) != 3 || r.Latency == nil ||
		len(r.Tiles) < 20 || len(r.Again) != 3 || len(r.Whole) != 8 || len(r.Errors) != 0 {
		t.Errorf("report %+v", r)
	}
	for _, x := range r.Tiles {
		if x.GFLOPS == 0 || (x.Library == 0) != (x.Op == "tsmqr") {
			t.Errorf("%+v", x)
		}
	}
	for _, x := range r.Again {
		if x.Factorize == 0 || x.Solve == 0 || x.Copied == 0 {
			t.Errorf("%+v", x)
		}
	}
	for _, w := range r.Whole {
		if w.CPU.GFLOPS == 0 || w.GPU.GFLOPS == 0 || w.Both.GFLOPS == 0 || w.Library == 0 || !w.Verified || w.Residual == 0 {
			t.Errorf("%+v", w)
		}
	}
}

func TestGPUCheckRefuses(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--devices", "gpu"}, `--devices: "gpu" is not allowed`},
		{[]string{"--devices", "sim:2"}, `--devices: "sim:2" is not allowed; want one device`},
		{[]string{"--devices", "none"}, `--devices: "none" is not allowed; want one device`},
		{[]string{"--budget", "1ms"}, "--budget is 1ms, want at least 1s"},
		{[]string{"--workers", "-1"}, "--workers is -1"},
		{[]string{"--json", "no/such/directory.json"}, "there is no such directory"},
	} {
		code, out, errs := labench(t, append([]string{"gpu-check"}, test.args...)...)
		if code != cli.ExitUsage || out != "" || !strings.Contains(errs, test.want) {
			t.Errorf("%v: exit code %d: %s%s", test.args, code, out, errs)
		}
	}
	for _, device := range []string{"auto", "cuda0"} {
		if setup.FindDevices().Why == "" {
			break // there is one
		}
		code, out, errs := labench(t, "gpu-check", "--devices", device)
		if code != cli.ExitNoDevice || out != "" || !strings.Contains(errs, "no device cuda0") {
			t.Errorf("%s: exit code %d: %s%s", device, code, out, errs)
		}
		labtest.Narrow(t, device, errs)
	}
}
