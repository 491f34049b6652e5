package bench

import (
	"context"
	"time"

	"github.com/tessera-la/tessera/internal/peak"
	"github.com/tessera-la/tessera/internal/quiet"
	"github.com/tessera-la/tessera/internal/topo"
)

// PeakRate is a peak, and whether every measurement of it was disturbed.
type PeakRate struct {
	peak.Rate
	Disturbed bool
}

// Peak measures the FMA peak of a type on the given number of cores. It takes a third of a second, or up to
// three times that if the machine is disturbed.
func Peak(ctx context.Context, typ string, cores int) (PeakRate, error) {
	fma := peak.FMA[float64]
	if typ == "f32" {
		fma = peak.FMA[float32]
	}
	return SteadyPeak(ctx, fma, peak.Options{Duration: 50 * time.Millisecond, Cores: cores})
}

// SteadyPeak measures a peak, repeats that if it is disturbed, and returns the best.
func SteadyPeak(ctx context.Context, measure func(context.Context, peak.Options) (peak.Rate, error), o peak.Options) (best PeakRate, err error) {
	cores := o.Cores
	if cores == 0 {
		cores = topo.Detect().Workers()
	}
	_, best.Disturbed, err = quiet.Quietly(cores, func() error {
		r, err := measure(ctx, o)
		r.One, r.All = max(r.One, best.One), max(r.All, best.All)
		best.Rate = r
		return err
	})
	return best, err
}

// peak measures the FMA peak and keeps the larger of it and earlier ones. It is called before and after the
// timed runs. Otherwise a program that disturbs one measurement would make the runs look better.
func (r *Result) peak(ctx context.Context, s Spec, workers int) error {
	if s.NoPeak {
		return nil
	}
	rate, err := Peak(ctx, s.Type, workers)
	if err != nil {
		return cause(ctx, err)
	}
	first := r.PeakGFLOPS == 0
	r.PeakDisturbed = rate.Disturbed && (first || r.PeakDisturbed)
	r.PeakGFLOPS = max(r.PeakGFLOPS, rate.All)
	return nil
}
