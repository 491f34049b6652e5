package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/cmd/labench/internal/matcalls"
	"github.com/tessera-la/tessera/kernels/cpu"
)

// tagRow is one build tag; --tags-info --json prints a list of them.
type tagRow struct {
	Tag  string `json:"tag"`
	Set  bool   `json:"set"`
	Adds string `json:"adds"`
	Why  string `json:"why,omitempty"` // why it is not in, where more than the tag is missing
}

// tagRows returns the build tags that there are. set are those that this
// program was built with, so far as the build says.
func tagRows(set []string) []tagRow {
	linked, _ := cpu.BLASLibrary()
	var rows []tagRow
	adds := map[string]string{"openblas": "OpenBLAS, one thread per worker; needs C, libopenblas and LAPACKE",
		"mkl": "Intel MKL, one thread per worker; needs C and libmkl_rt"}
	for _, name := range cpu.BLASLibraries() {
		r := tagRow{Tag: name, Set: linked.Name == name, Adds: "versions of all ops by " + cmp.Or(adds[name], name)}
		if !r.Set && slices.Contains(set, name) {
			r.Why = cpu.WhyNoBLAS(name)
		}
		rows = append(rows, r)
	}
	device := tagRow{Tag: "cuda", Set: findDevices().built, Adds: "accelerators: NVIDIA GPUs, whose libraries are found at run time; needs C, and Linux"}
	if !device.Set && slices.Contains(set, "cuda") {
		device.Why = "built without cgo, which tag cuda needs"
		if runtime.GOOS != "linux" {
			device.Why = "tag cuda is for Linux"
		}
	}
	rows = append(rows, device, tagRow{Tag: "lapacke", Set: matcalls.HasNetlib(),
		Adds: "nothing to the library: with openblas, labench dropin compares with gonum's netlib, too; needs liblapacke"})
	return append(rows, tagRow{Tag: "noasm", Set: slices.Contains(set, "noasm"),
		Adds: "nothing: it takes the assembly away and leaves plain Go"})
}

// buildTags returns the tags that the build information lists, and whether C
// was allowed.
func buildTags() (tags []string, cgo string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil, "unknown"
	}
	tags = strings.FieldsFunc(buildSetting(info, "-tags"), func(r rune) bool { return r == ',' || r == ' ' })
	return tags, cmp.Or(buildSetting(info, "CGO_ENABLED"), "unknown")
}

// tagsInfo prints which build tags this program has and what each adds.
func (a *app) tagsInfo(asJSON bool) error {
	tags, cgo := buildTags()
	rows := tagRows(tags)
	if asJSON {
		return a.document(rows)
	}
	p := newPaint(a.out)
	fmt.Fprintf(a.out, "%s%s %s/%s, CGO_ENABLED=%s\n", label("build"), runtime.Version(), runtime.GOOS, runtime.GOARCH, cgo)
	for _, r := range rows {
		state := "not set"
		if r.Set {
			state = p.good("set")
		}
		fmt.Fprintf(a.out, "%s%s\n", label(r.Tag), state)
		fprintWrapped(a.out, label(""), "adds "+r.Adds)
		if r.Why != "" {
			fprintWrapped(a.out, label(""), r.Why)
		}
	}
	return nil
}
