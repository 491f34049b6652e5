package peers

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
)

// Config says how to compare. Workers and Repeat must be positive.
type Config struct {
	Workers int           // of ours, and threads of the library
	Repeat  int           // turns of each side
	Warmup  int           // turns before that are not timed
	Turn    time.Duration // a turn repeats short calls until this time has passed
	Settle  time.Duration // pause before each turn: the library's threads spin for a while after a call
	Seed    uint64

	Only    []string          // versions that our side may run; empty: all of the build
	Profile *versions.Profile // what is known of the versions; nil: nothing
}

// Side is the time that one side took.
type Side struct {
	SecondsBest   float64 `json:"seconds_best"`
	SecondsMedian float64 `json:"seconds_median"`
	GFLOPSBest    float64 `json:"gflops_best"`
	GFLOPSMedian  float64 `json:"gflops_median"`
	Residual      float64 `json:"residual"` // the largest of all turns
	Calls         int     `json:"calls"`    // timed
}

// MarshalJSON writes a residual that is not finite as null.
func (s Side) MarshalJSON() ([]byte, error) {
	type plain Side // without this method
	out := struct {
		plain
		Residual *float64 `json:"residual"` // shadows plain's
	}{plain: plain(s)}
	if !math.IsInf(s.Residual, 0) && !math.IsNaN(s.Residual) {
		out.Residual = &s.Residual
	}
	return json.Marshal(out)
}

// Result is the comparison of one operation on one size.
type Result struct {
	Op      string `json:"op"`
	Type    string `json:"type"`
	M       int    `json:"m"`
	N       int    `json:"n"`
	Workers int    `json:"workers"`
	Library string `json:"library"` // "openblas" or "mkl"
	Core    string `json:"core"`    // the processor that its kernels are for
	Config  string `json:"config"`

	NB       int               `json:"nb"` // the tile size, which la chose
	Versions map[string]string `json:"versions"`
	Ours     Side              `json:"ours"`
	Peer     Side              `json:"peer"`
	PeerUplo string            `json:"peer_uplo,omitempty"`

	RatioBest   float64 `json:"ratio_best"` // of GFLOPSBest, ours to the peer's
	RatioMedian float64 `json:"ratio_median"`

	PeakGFLOPS float64 `json:"peak_gflops"` // FMA peak of the workers' cores; left to the caller
	Passed     bool    `json:"passed"`
}

// ErrNoLibrary is returned by Compare in a build without a C library.
var ErrNoLibrary = errors.New("peers: this build has no BLAS library to compare with; build with -tags openblas or -tags mkl")

// Size returns the shape of A.
func (r *Result) Size() Size { return Size{r.M, r.N} }

// Compare compares op on matrices of T of a size. The error is ErrNoLibrary, la's,
// or the cause of the context's end; a wrong result is none, but not Passed.
func Compare[T matgen.Element](ctx context.Context, cfg Config, op Op, size Size) (Result, error) {
	lib, ok := linked[T]()
	if !ok {
		return Result{}, ErrNoLibrary
	}
	info, _ := cpu.BLASLibrary()
	r, err := compare(ctx, cfg, lib, op, size)
	r.Library, r.Core, r.Config = info.Name, info.Core, info.Config
	return r, err
}

// contender is one side of a comparison.
type contender struct {
	enter    func()                        // before a turn
	restore  func()                        // before each call
	call     func() (time.Duration, error) // makes one, and returns what it took
	residual func() float64                // of the last call's result
	times    []time.Duration
	worst    float64
}

func compare[T matgen.Element](ctx context.Context, cfg Config, lib library[T], op Op, size Size) (r Result, err error) {
	var zero T
	r = Result{Op: op.String(), Type: "f64", M: size.M, N: size.N, Workers: cfg.Workers}
	if _, single := any(zero).(float32); single {
		r.Type = "f32"
	}
	if cfg.Profile == nil {
		cfg.Profile = new(versions.Profile)
	}
	p, err := newProblem[T](cfg, lib, op, size)
	if err != nil {
		return r, err
	}
	defer p.close()
	defer lib.threads(1)
	// What was made and dropped before must not be collected in between.
	runtime.GC()

	ours, err := p.ours()
	if err != nil {
		return r, err
	}
	peer, err := p.fasterPeer(ctx, &r)
	if err != nil {
		return r, err
	}
	if err := alternate(ctx, cfg, cfg.Repeat, ours, peer); err != nil {
		return r, err
	}
	if r.NB, r.Versions, err = p.chosen(); err != nil {
		return r, err
	}
	r.Ours, r.Peer = ours.side(op.flops(size)), peer.side(op.flops(size))
	r.RatioBest = r.Ours.GFLOPSBest / r.Peer.GFLOPSBest
	r.RatioMedian = r.Ours.GFLOPSMedian / r.Peer.GFLOPSMedian
	r.Passed = r.Ours.Residual < p.routine.bound() && r.Peer.Residual < p.routine.bound()
	return r, nil
}

// alternate lets the contenders take turns: the warm-up, and then the number
// of turns that is timed.
func alternate(ctx context.Context, cfg Config, turns int, sides ...*contender) error {
	for i := range cfg.Warmup + turns {
		if i == cfg.Warmup {
			for _, c := range sides {
				c.times = nil
			}
		}
		for _, c := range sides {
			if err := c.turn(ctx, cfg); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxCalls bounds the calls of a turn: tiny ones would fill it with times
// that nobody needs.
const maxCalls = 100

// turn makes calls until the time of a turn is over, and judges the last one's
// result.
func (c *contender) turn(ctx context.Context, cfg Config) error {
	c.enter()
	select {
	case <-time.After(cfg.Settle):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	var spent time.Duration
	for calls := 0; calls == 0 || spent < cfg.Turn && calls < maxCalls; calls++ {
		c.restore()
		took, err := c.call()
		if err != nil {
			return err
		}
		spent += took
		c.times = append(c.times, took)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	c.worst = max(c.worst, c.residual())
	return nil
}

// side condenses the times.
func (c *contender) side(flops float64) Side {
	times := slices.Sorted(slices.Values(c.times))
	best, median := times[0].Seconds(), times[len(times)/2].Seconds()
	if len(times)%2 == 0 {
		median = (median + times[len(times)/2-1].Seconds()) / 2
	}
	return Side{SecondsBest: best, SecondsMedian: median, GFLOPSBest: flops / best / 1e9, GFLOPSMedian: flops / median / 1e9,
		Residual: c.worst, Calls: len(times)}
}

// thread runs functions on one operating system thread of its own: a library
// built on OpenMP has a team of threads for each thread that calls it.
type thread struct{ do chan func() }

func newThread() *thread {
	t := &thread{do: make(chan func())}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for f := range t.do {
			f()
		}
	}()
	return t
}

// time runs f and returns how long it took, without the way to the thread.
func (t *thread) time(f func()) time.Duration {
	took := make(chan time.Duration, 1)
	t.do <- func() {
		begin := time.Now()
		f()
		took <- time.Since(begin)
	}
	return <-took
}

func (t *thread) close() { close(t.do) }

// engine returns an engine with our workers. A recorder may be nil.
func (cfg *Config) engine(r *trace.Recorder) (*la.Engine, error) {
	return la.NewEngine(la.Options{Workers: cfg.Workers, Thorough: true, Only: cfg.Only, Profile: cfg.Profile, Trace: r})
}
