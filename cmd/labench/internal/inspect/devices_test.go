package inspect_test

import (
	"strings"
	"testing"

	"github.com/tessera-la/tessera/cmd/labench/internal/inspect"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/versions"
)

func TestDevices(t *testing.T) {
	op := &versions.Op{Name: "gemm", Type: "f64", Versions: []versions.Version{{Name: "cuda", Constraints: versions.Constraints{Kind: "cuda"}}, {Name: "go"}}}
	on := &versions.Target{Kind: "cpu"}
	with := setup.Devices{Rows: []setup.DeviceRow{{Name: "cuda0", Model: "NVIDIA H200", Memory: 139 << 30, Notes: []string{"cuBLAS 12.4"}}}, Built: true}
	none := setup.Devices{Why: "this machine has none", Built: true}
	without := setup.Devices{Why: "this program was built without the tag cuda"}
	if rows := inspect.Inventory([]*versions.Op{op}, nil, on, with); !rows[0].Eligible || !rows[1].Eligible {
		t.Errorf("with a device: %+v", rows)
	}
	if rows := inspect.Inventory([]*versions.Op{op}, nil, on, without); rows[0].Eligible || !strings.Contains(rows[0].Reason, "tag cuda") || !rows[1].Eligible {
		t.Errorf("without: %+v", rows)
	}
	if rows := inspect.Inventory([]*versions.Op{op}, nil, on, none); !rows[0].Present || rows[0].Eligible || rows[0].Reason != "needs a CUDA device: this machine has none" {
		t.Errorf("with the tag, without a device: %+v", rows)
	}
	if rows := inspect.Inventory([]*versions.Op{op}, nil, on, without); rows[0].Present {
		t.Errorf("without the tag: %+v", rows)
	}
	if got := with.List(); got != "device cuda0: NVIDIA H200, 139 GiB, cuBLAS 12.4\n" {
		t.Errorf("got %q", got)
	}
	x := healthy()
	x.Devices = with
	if chart := x.Chart(report.Paint{}); !strings.Contains(chart, "cuda0: NVIDIA H200") {
		t.Errorf("no device in\n%s", chart)
	}
	x.Devices = without
	if chart := x.Chart(report.Paint{}); !strings.Contains(chart, "none: this program was built without the tag cuda") {
		t.Errorf("no reason in\n%s", chart)
	}
	if doc := x.Document(); doc.NoDevice == "" || doc.Devices == nil {
		t.Errorf("document %+v", doc)
	}
}
