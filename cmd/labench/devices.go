package main

import (
	"errors"
	"strings"

	"github.com/tessera-la/tessera/cmd/labench/internal/gpucheck"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
)

// deviceRow is a device of this machine.
type deviceRow = gpucheck.Device

// devices is what there is, and why there is nothing.
type devices struct {
	rows  []deviceRow
	why   string // there are none; empty if there are
	built bool   // this program can use devices
}

// findDevices looks for the devices of this machine.
func findDevices() devices {
	all, err := cuda.Devices()
	missing, _ := errors.AsType[*cuda.UnavailableError](err)
	found := devices{built: missing == nil || missing.Missing != cuda.NoSupport}
	if err != nil && len(all) == 0 {
		found.why = err.Error()
		return found
	}
	for _, d := range all {
		info := d.Info()
		row := gpucheck.NewDevice("cuda", info)
		if err := d.Close(); err != nil {
			row.Notes = append(row.Notes, err.Error())
		}
		found.rows = append(found.rows, row)
	}
	if found.rows == nil {
		found.why = "this machine has none"
	}
	return found
}

// list returns a line for each device.
func (d devices) list() string {
	var b strings.Builder
	for _, r := range d.rows {
		b.WriteString(wrapped("device ", r.Long()))
	}
	return b.String()
}

// unmet returns why a version cannot run on the workers of this machine, those on
// cores, which on describes, or those of devices; "" if it can.
func (d devices) unmet(c versions.Constraints, on *versions.Target) string {
	if !strings.EqualFold(c.Kind, "cuda") {
		return c.Unmet(on)
	}
	if !d.built {
		return "built without tag cuda"
	}
	if d.why != "" {
		return "needs a CUDA device: " + d.why
	}
	return ""
}

// requestDevices checks what --devices says. The error is a *listError.
func requestDevices(s string) error {
	_, err := cuda.ParseRequest(s)
	if bad := (*cuda.RequestError)(nil); errors.As(err, &bad) {
		return &listError{"devices", bad.Word, deviceWords}
	}
	return err
}

const deviceWords = "none, auto, sim or sim:2 for simulated ones, or real ones by number, as in cuda0,cuda1"

// warnNoDevice says that "auto" has found nothing, and why.
func (a *app) warnNoDevice(request string) (none bool) {
	if r, err := cuda.ParseRequest(request); err != nil || !r.Auto {
		return false
	}
	found := findDevices()
	if found.why == "" {
		return false
	}
	a.warn("no device: " + found.why)
	return true
}

// deviceSet is the devices that a point of a sweep has.
type deviceSet struct {
	name    string // "none", "sim", "sim only"
	request string
	only    bool // the workers do only what devices cannot
}

// deviceSets returns what is compared: the workers alone, devices alone, and
// both.
func deviceSets(request string) []deviceSet {
	r, err := cuda.ParseRequest(request)
	if err != nil || r.String() == "none" {
		return []deviceSet{{name: "none"}}
	}
	name := r.String()
	return []deviceSet{{name: "none"}, {name + " only", name, true}, {name + " too", name, false}}
}
