package acceptance

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/gpucheck"
	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
)

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
	text := gpuReport(&r, report.Paint{})
	labtest.Narrow(t, "report", text)
	labtest.Golden(t, "gpu-check", text)
	if colour := gpuReport(&r, report.Paint{On: true}); !strings.Contains(colour, "\x1b[1;31msomething is wrong\x1b[0m") {
		t.Errorf("no colour in\n%s", colour)
	}
}

// TestGPUCheckEnds has checks end that fail, hang, or are interrupted.
func TestGPUCheckEnds(t *testing.T) {
	release, ended := make(chan struct{}), make(chan struct{})
	for _, test := range []struct {
		name string
		run  checkFunc
		want string
	}{
		{"wrong", func(_ context.Context, opt gpucheck.Options) (gpucheck.Report, error) {
			r := exampleReport()
			opt.Saved(r)
			return r, nil
		}, "1 point failed, tile potrf/f64"},
		{"hung", func(_ context.Context, opt gpucheck.Options) (gpucheck.Report, error) {
			defer close(ended)
			r := gpucheck.Report{Device: gpucheck.Device{Name: "cuda0"}, Point: "tile gemm/f64, nb = 256"}
			opt.Saved(r)
			<-release
			return r, nil
		}, "nb = 256 did not end in time"},
		{"interrupted", func(_ context.Context, opt gpucheck.Options) (gpucheck.Report, error) {
			opt.Saved(gpucheck.Report{Device: gpucheck.Device{Name: "cuda0"}})
			return gpucheck.Report{}, context.Canceled
		}, "canceled"},
	} {
		var out bytes.Buffer
		a := &cli.App{Out: &out, Err: &out}
		f := &gpuCheckFlags{opt: gpucheck.Options{Device: "sim", Budget: time.Minute}, json: filepath.Join(t.TempDir(), "r.json")}
		if test.name == "hung" {
			f.late = -59900 * time.Millisecond
		}
		err := runGPUCheck(t.Context(), a, f, test.run)
		if _, usage := errors.AsType[*cli.UsageError](err); err == nil || usage || !strings.Contains(err.Error(), test.want) {
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
	if err := runGPUCheck(t.Context(), &cli.App{}, &gpuCheckFlags{opt: gpucheck.Options{Device: "sim", Budget: time.Minute}},
		func(context.Context, gpucheck.Options) (gpucheck.Report, error) {
			return gpucheck.Report{}, errors.New("no driver")
		}); err == nil || err.Error() != "no driver" {
		t.Errorf("got %v", err)
	}
}
