package setup

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/cmd/labench/internal/matcalls"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/kernels/cpu"
)

// TagRow is one build tag; --tags-info --json prints a list of them.
type TagRow struct {
	Tag  string `json:"tag"`
	Set  bool   `json:"set"`
	Adds string `json:"adds"`
	Why  string `json:"why,omitempty"` // why it is missing, if the reason is not only the tag
}

// tagRows returns all build tags. set are the tags of this program, as far as the build records them.
func tagRows(set []string) []TagRow {
	linked, _ := cpu.BLASLibrary()
	var rows []TagRow
	adds := map[string]string{"openblas": "OpenBLAS, one thread per worker; needs C, libopenblas and LAPACKE",
		"mkl": "Intel MKL, one thread per worker; needs C and libmkl_rt"}
	for _, name := range cpu.BLASLibraries() {
		r := TagRow{Tag: name, Set: linked.Name == name, Adds: "versions of all ops by " + cmp.Or(adds[name], name)}
		if !r.Set && slices.Contains(set, name) {
			r.Why = cpu.WhyNoBLAS(name)
		}
		rows = append(rows, r)
	}
	device := TagRow{Tag: "cuda", Set: FindDevices().Built, Adds: "accelerators: NVIDIA GPUs, whose libraries are found at run time; needs C, and Linux"}
	if !device.Set && slices.Contains(set, "cuda") {
		device.Why = "built without cgo, which tag cuda needs"
		if runtime.GOOS != "linux" {
			device.Why = "tag cuda is for Linux"
		}
	}
	rows = append(rows, device, TagRow{Tag: "lapacke", Set: matcalls.HasNetlib(),
		Adds: "nothing to the library: with openblas, labench dropin compares with gonum's netlib, too; needs liblapacke"})
	return append(rows, TagRow{Tag: "noasm", Set: slices.Contains(set, "noasm"),
		Adds: "nothing: it takes the assembly away and leaves plain Go"})
}

// BuildTags returns the tags in the build information, and whether cgo was enabled.
func BuildTags() (tags []string, cgo string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil, "unknown"
	}
	tags = strings.FieldsFunc(cli.BuildSetting(info, "-tags"), func(r rune) bool { return r == ',' || r == ' ' })
	return tags, cmp.Or(cli.BuildSetting(info, "CGO_ENABLED"), "unknown")
}

// TagsInfo prints the build tags of this program and what each of them adds.
func TagsInfo(a *cli.App, asJSON bool) error {
	tags, cgo := BuildTags()
	rows := tagRows(tags)
	if asJSON {
		return a.Document(rows)
	}
	p := report.NewPaint(a.Out)
	fmt.Fprintf(a.Out, "%s%s %s/%s, CGO_ENABLED=%s\n", report.Label("build"), runtime.Version(), runtime.GOOS, runtime.GOARCH, cgo)
	for _, r := range rows {
		state := "not set"
		if r.Set {
			state = p.Good("set")
		}
		fmt.Fprintf(a.Out, "%s%s\n", report.Label(r.Tag), state)
		report.FprintWrapped(a.Out, report.Label(""), "adds "+r.Adds)
		if r.Why != "" {
			report.FprintWrapped(a.Out, report.Label(""), r.Why)
		}
	}
	return nil
}
