package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/gpucheck"
)

// TestGPUCheck runs the whole command on a simulated device.
func TestGPUCheck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	code, out, errs := labench(t, "gpu-check", "--devices", "sim", "--workers", "2", "--json", file)
	if code != exitPassed || errs != "" {
		t.Fatalf("exit code %d: %s\n%s", code, errs, out)
	}
	narrow(t, "gpu-check", out)
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
		len(r.Tiles) < 20 || len(r.Whole) != 8 || len(r.Errors) != 0 {
		t.Errorf("report %+v", r)
	}
	for _, x := range r.Tiles {
		if x.GFLOPS == 0 || (x.Library == 0) != (x.Op == "tsmqr") {
			t.Errorf("%+v", x)
		}
	}
	for _, w := range r.Whole {
		if w.CPU.GFLOPS == 0 || w.GPU.GFLOPS == 0 || w.Both.GFLOPS == 0 || (w.Library == 0) != (w.Op == "lu") || !w.Verified || w.Residual == 0 {
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
		if code != exitUsage || out != "" || !strings.Contains(errs, test.want) {
			t.Errorf("%v: exit code %d: %s%s", test.args, code, out, errs)
		}
	}
	for _, device := range []string{"auto", "cuda0"} {
		if findDevices().why == "" {
			break // there is one
		}
		code, out, errs := labench(t, "gpu-check", "--devices", device)
		if code != exitNoDevice || out != "" || !strings.Contains(errs, "no device cuda0") {
			t.Errorf("%s: exit code %d: %s%s", device, code, out, errs)
		}
		narrow(t, device, errs)
	}
}

// exampleReport is that of a machine that is made up.
func exampleReport() gpucheck.Report {
	return gpucheck.Report{Machine: "Example CPU, 16 cores, AVX-512, 128 GiB", Build: "labench devel (commit 0123456789ab), go1.26.8", Seconds: 412.34, Budget: 450,
		Device: gpucheck.Device{Name: "cuda0", Model: "NVIDIA Example", Memory: 139 << 30,
			Notes: []string{"cuBLAS's math mode: default, neither TF32 nor emulation", "driver for CUDA 12.8"}},
		Copies:  []gpucheck.Copies{{Memory: "pinned", Bytes: 256 << 20, In: 50, Out: 40, Both: 80}, {Memory: "device", Bytes: 256 << 20, In: 4000}},
		Latency: &gpucheck.Latency{Copy: 9.5, Gemm: 12.25, Tile: 31},
		Tiles: []gpucheck.Tile{{Op: "gemm", Type: "f64", NB: 2048, GFLOPS: 49000, Library: 50000, Ratio: 0.98, Apart: 2.25},
			{Op: "tsmqr", Type: "f64", NB: 2048, GFLOPS: 9000}},
		Whole: []gpucheck.Whole{
			{Op: "gemm", Type: "f64", N: 16384, CPU: gpucheck.Speed{NB: 1024, Seconds: 8.8, GFLOPS: 1000}, GPU: gpucheck.Speed{NB: 2048, Seconds: 0.25, GFLOPS: 35184},
				Both: gpucheck.Speed{NB: 2048, Seconds: 0.26, GFLOPS: 33831}, Library: 50000, Resident: 42000},
			{Op: "lu", Type: "f64", N: 4096, GPU: gpucheck.Speed{NB: 1024, Seconds: 0.05, GFLOPS: 916}}},
		Skipped: []gpucheck.Skipped{{Point: "cholesky f64, n = 32768, GPU", Why: "no time: 4s left, 20s expected"}},
		Errors:  []gpucheck.Failure{{Point: "tile potrf/f64, nb = 4096", Error: "cuda: cusolverDnDpotrf on cuda0, stream 3: CUSOLVER_STATUS_INTERNAL_ERROR (7)"}}}
}

func TestGPUReport(t *testing.T) {
	r := exampleReport()
	text := gpuReport(&r, paint{})
	narrow(t, "report", text)
	golden(t, "gpu-check", text)
	if colour := gpuReport(&r, paint{on: true}); !strings.Contains(colour, "\x1b[1;31msomething is wrong\x1b[0m") {
		t.Errorf("no colour in\n%s", colour)
	}
}

// TestGPUCheckEnds has checks end that fail, hang, or are interrupted.
func TestGPUCheckEnds(t *testing.T) {
	release, ended := make(chan struct{}), make(chan struct{})
	for _, test := range []struct {
		name string
		run  checkFunc
		code int
		want string
	}{
		{"wrong", func(_ context.Context, opt gpucheck.Options) (gpucheck.Report, error) {
			r := exampleReport()
			opt.Saved(r)
			return r, nil
		}, exitFailed, "1 point failed, tile potrf/f64"},
		{"hung", func(_ context.Context, opt gpucheck.Options) (gpucheck.Report, error) {
			defer close(ended)
			r := gpucheck.Report{Device: gpucheck.Device{Name: "cuda0"}, Point: "tile gemm/f64, nb = 256"}
			opt.Saved(r)
			<-release
			return r, nil
		}, exitFailed, "nb = 256 did not end in time"},
		{"interrupted", func(_ context.Context, opt gpucheck.Options) (gpucheck.Report, error) {
			opt.Saved(gpucheck.Report{Device: gpucheck.Device{Name: "cuda0"}})
			return gpucheck.Report{}, context.Canceled
		}, exitFailed, "canceled"},
	} {
		var out bytes.Buffer
		a := &app{out: &out, err: &out}
		f := &gpuCheckFlags{opt: gpucheck.Options{Device: "sim", Budget: time.Minute}, json: filepath.Join(t.TempDir(), "r.json")}
		if test.name == "hung" {
			f.late = -59900 * time.Millisecond
		}
		err := a.runGPUCheck(t.Context(), f, test.run)
		if err == nil || exitCode(err) != test.code || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
		if !strings.Contains(out.String(), "device     cuda0") {
			t.Errorf("%s: no report in\n%s", test.name, out.String())
		}
		if _, err := os.Stat(f.json); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	close(release)
	<-ended
	if err := (&app{}).runGPUCheck(t.Context(), &gpuCheckFlags{opt: gpucheck.Options{Device: "sim", Budget: time.Minute}},
		func(context.Context, gpucheck.Options) (gpucheck.Report, error) {
			return gpucheck.Report{}, errors.New("no driver")
		}); err == nil || err.Error() != "no driver" {
		t.Errorf("got %v", err)
	}
}
