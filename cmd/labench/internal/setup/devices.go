package setup

import (
	"errors"
	"strings"

	"github.com/tessera-la/tessera/cmd/labench/internal/gpucheck"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
)

// DeviceRow is a device of this machine.
type DeviceRow = gpucheck.Device

// Devices are the devices of this machine, and why there are none.
type Devices struct {
	Rows  []DeviceRow
	Why   string // why there are none; empty if there are some
	Built bool   // this program can use devices
}

// FindDevices looks for the devices of this machine.
func FindDevices() Devices {
	all, err := cuda.Devices()
	missing, _ := errors.AsType[*cuda.UnavailableError](err)
	found := Devices{Built: missing == nil || missing.Missing != cuda.NoSupport}
	if err != nil && len(all) == 0 {
		found.Why = err.Error()
		return found
	}
	for _, d := range all {
		info := d.Info()
		row := gpucheck.NewDevice("cuda", info)
		if err := d.Close(); err != nil {
			row.Notes = append(row.Notes, err.Error())
		}
		found.Rows = append(found.Rows, row)
	}
	if found.Rows == nil {
		found.Why = "this machine has none"
	}
	return found
}

// List returns a line for each device.
func (d Devices) List() string {
	var b strings.Builder
	for _, r := range d.Rows {
		b.WriteString(report.Wrapped("device ", r.Long()))
	}
	return b.String()
}

// Unmet returns why a version can run neither on the cores of this machine, which on describes, nor on its
// devices. It returns "" if it can.
func (d Devices) Unmet(c versions.Constraints, on *versions.Target) string {
	if !strings.EqualFold(c.Kind, "cuda") {
		return c.Unmet(on)
	}
	if !d.Built {
		return "built without tag cuda"
	}
	if d.Why != "" {
		return "needs a CUDA device: " + d.Why
	}
	return ""
}

// RequestDevices checks the value of --devices. The error is a *cli.ListError.
func RequestDevices(s string) error {
	_, err := cuda.ParseRequest(s)
	if bad := (*cuda.RequestError)(nil); errors.As(err, &bad) {
		return &cli.ListError{Flag: "devices", Element: bad.Word, Allowed: DeviceWords}
	}
	return err
}

// DeviceWords lists the values of --devices.
const DeviceWords = "none, auto, sim or sim:2 for simulated ones, or real ones by number, as in cuda0,cuda1"

// WarnNoDevice warns, with the reason, if "auto" found no device.
func WarnNoDevice(a *cli.App, request string) (none bool) {
	if r, err := cuda.ParseRequest(request); err != nil || !r.Auto {
		return false
	}
	found := FindDevices()
	if found.Why == "" {
		return false
	}
	a.Warn("no device: " + found.Why)
	return true
}
