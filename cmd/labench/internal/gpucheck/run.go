package gpucheck

import (
	"context"
	"time"

	"github.com/tessera-la/tessera/versions"
)

// Run checks a device. Errors of points are in the report. Run returns an error if the device cannot be opened,
// such as a *cuda.RequestError or *cuda.NoDeviceError, or the cause of the end of ctx, with the report so far.
func Run(ctx context.Context, opt Options) (Report, error) {
	if opt.Budget == 0 {
		opt.Budget = DefaultBudget
	}
	began := time.Now()
	c := &check{opt: opt, request: opt.Device, began: began, end: began.Add(opt.Budget), profile: new(versions.Profile)}
	if opt.Device == "auto" {
		c.request = "cuda0" // opening it reports why there is none
	}
	if err := c.introduce(); err != nil {
		return Report{}, err
	}
	c.sizes = full()
	if c.report.Small {
		c.sizes = small()
	}
	limited, stop := context.WithDeadline(ctx, c.end)
	defer stop()
	c.ctx = limited
	for _, section := range []func(){c.copies, c.tiles, c.again, c.whole} {
		section()
	}
	c.report.Seconds = time.Since(c.began).Seconds()
	if ctx.Err() != nil {
		return c.report, context.Cause(ctx)
	}
	c.save("")
	return c.report, nil
}
