package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/versions"
)

func TestDevices(t *testing.T) {
	op := &versions.Op{Name: "gemm", Type: "f64", Versions: []versions.Version{{Name: "cuda", Constraints: versions.Constraints{Kind: "cuda"}}, {Name: "go"}}}
	on := &versions.Target{Kind: "cpu"}
	with := devices{rows: []deviceRow{{Name: "cuda0", Model: "NVIDIA H200", Memory: 139 << 30, Notes: []string{"cuBLAS 12.4"}}}, built: true}
	none := devices{why: "this machine has none", built: true}
	without := devices{why: "this program was built without the tag cuda"}
	if rows := inventory([]*versions.Op{op}, nil, on, with); !rows[0].Eligible || !rows[1].Eligible {
		t.Errorf("with a device: %+v", rows)
	}
	if rows := inventory([]*versions.Op{op}, nil, on, without); rows[0].Eligible || !strings.Contains(rows[0].Reason, "tag cuda") || !rows[1].Eligible {
		t.Errorf("without: %+v", rows)
	}
	if rows := inventory([]*versions.Op{op}, nil, on, none); !rows[0].Present || rows[0].Eligible || rows[0].Reason != "needs a CUDA device: this machine has none" {
		t.Errorf("with the tag, without a device: %+v", rows)
	}
	if rows := inventory([]*versions.Op{op}, nil, on, without); rows[0].Present {
		t.Errorf("without the tag: %+v", rows)
	}
	if got := with.list(); got != "device cuda0: NVIDIA H200, 139 GiB, cuBLAS 12.4\n" {
		t.Errorf("got %q", got)
	}
	x := healthy()
	x.devices = with
	if chart := x.chart(paint{}); !strings.Contains(chart, "cuda0: NVIDIA H200") {
		t.Errorf("no device in\n%s", chart)
	}
	x.devices = without
	if chart := x.chart(paint{}); !strings.Contains(chart, "none: this program was built without the tag cuda") {
		t.Errorf("no reason in\n%s", chart)
	}
	if doc := x.document(); doc.NoDevice == "" || doc.Devices == nil {
		t.Errorf("document %+v", doc)
	}
}

func TestRequestDevices(t *testing.T) {
	for _, good := range []string{"none", "auto", "sim", "sim:2", "cuda0,cuda3"} {
		if err := requestDevices(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	var bad *listError
	if err := requestDevices("sim,gpu0"); !errors.As(err, &bad) || bad.Flag != "devices" || bad.Element != "gpu0" {
		t.Errorf("got %v", err)
	}
}

// TestScaleDevices has the workers alone, the devices alone, and both.
func TestScaleDevices(t *testing.T) {
	code, out, errs := labench(t, "scale", "gemm", "-n", "64", "--nb", "32", "--workers", "1", "--devices", "sim", "--repeat", "1", "--profile", "none")
	if code != exitPassed || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	narrow(t, "scale", out)
	for _, want := range []string{" devices ", "none ", "sim only ", "sim too "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	code, _, errs = labench(t, "scale", "--devices", "gpu")
	if code != exitUsage || !strings.Contains(errs, `--devices: "gpu" is not allowed`) {
		t.Errorf("exit code %d: %s", code, errs)
	}
	code, _, errs = labench(t, "gemm", "--devices", "sim:0")
	if code != exitUsage || !strings.Contains(errs, `--devices: "sim:0" is not allowed`) {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
