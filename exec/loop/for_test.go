package loop_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/exec/trace"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start returns a runtime that is closed at the end of the test.
func start(t testing.TB, opt exec.Options) *exec.Local {
	t.Helper()
	opt.Float = true
	rt, err := exec.NewLocal(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	return rt
}

// plans returns plans of all schemes, layouts and victims.
func plans() (all []loop.Plan) {
	for i, s := range loop.Schemes() {
		for k, l := range loop.Layouts() {
			v := loop.Victims()
			all = append(all, loop.Plan{Scheme: s, Layout: l, Victim: v[(i+k)%len(v)], Shares: (i+k)%2 == 0, Grain: i % 3})
		}
	}
	return append(all, loop.Plan{}, loop.Plan{NewPartitioner: func(loop.Shape) loop.Partitioner { return three{} }})
}

// three is a scheme of chunks of three.
type three struct{}

func (three) Next(int) int { return 3 }

// TestFor: each item once under all plans, whichever workers there are; the statistics say so.
func TestFor(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		rt := start(t, exec.Options{Workers: workers})
		for _, p := range plans() {
			for _, n := range []int{0, 1, 3, 1000} {
				hits := make([]atomic.Int32, n)
				var s loop.Stats
				err := loop.For(t.Context(), rt, n, loop.Options{Plan: p, Stats: &s, Spans: true}, func(c loop.Chunk) error {
					for i := c.Lo; i < c.Hi; i++ {
						hits[i].Add(1)
					}
					return nil
				})
				if err != nil {
					t.Fatalf("%v: %v", p, err)
				}
				for i := range hits {
					if hits[i].Load() != 1 {
						t.Fatalf("%v: item %d of %d was executed %d times", p, i, n, hits[i].Load())
					}
				}
				checkStats(t, &s, n, workers)
			}
		}
	}
}

// checkStats checks that statistics agree with themselves.
func checkStats(t *testing.T, s *loop.Stats, n, workers int) {
	t.Helper()
	items, at := 0, 0
	for _, w := range s.Workers {
		items += w.Items
		if w.Busy > s.Took {
			t.Errorf("%v: busy for %v of %v", s.Plan, w.Busy, s.Took)
		}
	}
	for _, x := range s.Spans {
		if x.Lo != at || x.Start > x.End || x.End > s.Took {
			t.Errorf("%v: span %+v at %d of %v", s.Plan, x, at, s.Took)
		}
		at = x.Hi
	}
	if s.Items != n || items != n || at != n || len(s.Workers) != workers || s.Chunks() != len(s.Spans) || s.Imbalance() < 0 || s.Imbalance() >= 1 {
		t.Errorf("%v: %d items on %d workers: %+v", s.Plan, n, workers, s)
	}
}

// TestForFails: of several chunks that fail the one with the smallest items is reported,
// under all plans; those before it have been executed.
func TestForFails(t *testing.T) {
	rt := start(t, exec.Options{Workers: 3})
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, p := range plans() {
		const n = 300
		first := rnd.IntN(n)
		bad := map[int]bool{first: true}
		for range 5 {
			bad[first+rnd.IntN(n-first)] = true
		}
		done := make([]atomic.Bool, n)
		err := loop.For(t.Context(), rt, n, loop.Options{Plan: p}, func(c loop.Chunk) error {
			for i := c.Lo; i < c.Hi; i++ {
				if bad[i] {
					return fmt.Errorf("item %d", i)
				}
				done[i].Store(true)
			}
			return nil
		})
		var ce *loop.ChunkError
		if !errors.As(err, &ce) || ce.Err.Error() != fmt.Sprintf("item %d", first) || first < ce.Lo || first >= ce.Hi {
			t.Errorf("%v: %v, want item %d", p, err, first)
		}
		for i := range first {
			if !done[i].Load() {
				t.Errorf("%v: item %d before the failure at %d was not executed", p, i, first)
			}
		}
	}
}

// TestForPanics: a body that panics, or ends its goroutine, fails its chunk alone.
func TestForPanics(t *testing.T) {
	rt := start(t, exec.Options{Workers: 2})
	cause := errors.New("on purpose")
	for name, end := range map[string]func(){"panic": func() { panic(cause) }, "goexit": runtime.Goexit} {
		for _, p := range []loop.Plan{{Scheme: loop.SS, Grain: 10}, {Scheme: loop.SS, Grain: 10, Layout: loop.PerCore, Shares: true}} {
			for round := range 20 {
				var before atomic.Int32
				got := make(chan error, 1)
				go func() {
					var err error
					// Goexit in the caller's place ends the caller, too.
					defer func() { got <- err }()
					err = errors.New("ended by Goexit")
					err = loop.For(context.Background(), rt, 1000, loop.Options{Plan: p}, func(c loop.Chunk) error {
						if c.Lo < 500 {
							before.Add(int32(c.Len()))
						}
						if c.Lo == 500 {
							end()
						}
						return nil
					})
				}()
				err := <-got
				var pe *exec.PanicError
				var ce *loop.ChunkError
				guest := name == "goexit" && err.Error() == "ended by Goexit"
				if !guest && (!errors.As(err, &pe) || !errors.As(err, &ce) || ce.Lo != 500 || name == "panic" && !errors.Is(err, cause)) {
					t.Fatalf("%s, %v: %v", name, p, err)
				}
				if before.Load() != 500 {
					t.Fatalf("%s, %v, round %d: %d items before the failure", name, p, round, before.Load())
				}
			}
		}
	}
}

// TestPartitionerPanics: a scheme of the program's own that panics fails the loop.
func TestPartitionerPanics(t *testing.T) {
	rt := start(t, exec.Options{Workers: 2})
	err := loop.For(t.Context(), rt, 100, loop.Options{Plan: loop.Plan{NewPartitioner: func(loop.Shape) loop.Partitioner { return broken{} }}},
		func(loop.Chunk) error { return nil })
	var pe *exec.PanicError
	if !errors.As(err, &pe) || !strings.Contains(err.Error(), "Partitioner") {
		t.Error(err)
	}
}

type broken struct{}

func (broken) Next(remaining int) int {
	if remaining < 90 {
		panic("on purpose")
	}
	return 1
}

// TestForEnds: the end of the context, and of the runtime, end a loop at the next chunk.
func TestForEnds(t *testing.T) {
	cause := errors.New("enough")
	for _, p := range []loop.Plan{{}, {Scheme: loop.SS}, {Scheme: loop.SS, Layout: loop.PerCore, Shares: true}} {
		for _, closes := range []bool{false, true} {
			rt := start(t, exec.Options{Workers: 2})
			ctx, cancel := context.WithCancelCause(t.Context())
			closed := make(chan struct{})
			var chunks, items atomic.Int64
			want := cause
			if closes {
				want = exec.ErrClosed
			}
			err := loop.For(ctx, rt, 1<<30, loop.Options{Plan: p, Stats: new(loop.Stats)}, func(c loop.Chunk) error {
				items.Add(int64(c.Len()))
				if chunks.Add(1) == 1 {
					if closes {
						go func() { rt.Close(); defer func() { closed <- struct{}{} }() }()
						<-time.After(time.Millisecond)
					} else {
						cancel(cause)
					}
				}
				return nil
			})
			// Auto may have begun with chunks so large that none was left.
			if !errors.Is(err, want) && !(err == nil && items.Load() == 1<<30) {
				t.Errorf("%v: %v, want %v", p, err, want)
			}
			if closes {
				<-closed
			}
			cancel(nil)
			if closes {
				ctx = t.Context()
			}
			if err := loop.For(ctx, rt, 5, loop.Options{Plan: p}, func(loop.Chunk) error { t.Error("executed"); return nil }); !errors.Is(err, want) {
				t.Errorf("%v, afterwards: %v", p, err)
			}
		}
	}
}

// TestRecorded: a loop is in traces by the name of its site, on the rows of the workers that
// took part.
func TestRecorded(t *testing.T) {
	var r trace.Recorder
	rt := start(t, exec.Options{Workers: 2, Recorder: &r})
	site := &loop.Site{Name: "sweep"}
	for range 3 {
		if err := loop.For(t.Context(), rt, 100, loop.Options{Site: site}, func(loop.Chunk) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if err := loop.For(t.Context(), rt, 100, loop.Options{}, func(loop.Chunk) error { return nil }); err != nil {
		t.Fatal(err)
	}
	names := map[string]int{}
	for _, e := range r.Events() {
		names[e.Op]++
		if e.Failed {
			t.Errorf("%+v", e)
		}
	}
	if names["sweep"] != 6 || names["loop"] != 2 || len(names) != 2 {
		t.Errorf("%v", names)
	}
}

// TestForParts: each item once, in chunks that lie in one part, under all schemes.
func TestForParts(t *testing.T) {
	rt := start(t, exec.Options{Workers: 3})
	parts := []loop.Part{{Items: 50}, {Items: 0, Location: 5}, {Items: 200, Location: 1}, {Items: 7}}
	for _, s := range append(loop.Schemes(), loop.Auto) {
		var hits [257]atomic.Int32
		var stats loop.Stats
		var site loop.Site
		opt := loop.Options{Plan: loop.Plan{Scheme: s}, Site: &site, Parts: parts, Stats: &stats, Spans: true}
		if err := loop.For(t.Context(), rt, len(hits), opt, func(c loop.Chunk) error {
			for i := c.Lo; i < c.Hi; i++ {
				hits[i].Add(1)
			}
			if c.Lo < 50 != (c.Hi <= 50) || c.Lo < 250 != (c.Hi <= 250) || c.Queue != []int{0, 2, 3}[min(c.Lo/50, 1)+c.Lo/250] {
				return fmt.Errorf("%v", c)
			}
			return nil
		}); err != nil {
			t.Fatalf("%v: %v", s, err)
		}
		for i := range hits {
			if hits[i].Load() != 1 {
				t.Fatalf("%v: item %d was executed %d times", s, i, hits[i].Load())
			}
		}
		checkStats(t, &stats, len(hits), 3)
		lessons := site.Explain().Lessons
		if s == loop.Auto && (len(lessons) != 1 || lessons[0].Parts != len(parts)) || s != loop.Auto && lessons != nil {
			t.Errorf("%v: %v", s, lessons)
		}
		if opt.Site = nil; s != loop.Auto {
			continue
		}
		if err := loop.For(t.Context(), rt, len(hits), opt, func(loop.Chunk) error { return nil }); err != nil || stats.Plan.Scheme != loop.FAC2 {
			t.Errorf("without a site: %v, %v", err, stats.Plan)
		}
	}
	nothing := func(loop.Chunk) error { return nil }
	for _, bad := range []loop.Options{
		{Parts: parts}, {Parts: []loop.Part{{Items: -1}, {Items: 11}}}, {Parts: []loop.Part{{Items: 11}}}, {Parts: []loop.Part{}},
		{Parts: []loop.Part{{Items: 10}}, Plan: loop.Plan{Scheme: loop.SS, Shares: true}}, {Parts: []loop.Part{{Items: 10}}, Deterministic: true},
	} {
		var oe *loop.OptionsError
		if err := loop.For(t.Context(), rt, 10, bad, nothing); !errors.As(err, &oe) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestBadOptions: everything that is wrong is said at once.
func TestBadOptions(t *testing.T) {
	rt := start(t, exec.Options{Workers: 1})
	nothing := func(loop.Chunk) error { return nil }
	err := loop.For(t.Context(), rt, 1, loop.Options{Plan: loop.Plan{Scheme: 99, Layout: 99, Victim: 99, Grain: -1}, Spans: true}, nothing)
	var oe *loop.OptionsError
	if !errors.As(err, &oe) || len(oe.Problems) != 5 {
		t.Error(err)
	}
	err = loop.For(t.Context(), rt, 1, loop.Options{Plan: loop.Plan{Layout: loop.PerCore}}, nothing)
	if !errors.As(err, &oe) || !strings.Contains(err.Error(), "Auto") {
		t.Error(err)
	}
	for want, f := range map[loop.Error]func(){
		loop.ErrItems: func() { _ = loop.For(t.Context(), rt, -1, loop.Options{}, nothing) },
		loop.ErrBody:  func() { _ = loop.For(t.Context(), rt, 1, loop.Options{}, nil) },
	} {
		func() {
			defer func() {
				if v := recover(); v != want {
					t.Errorf("%v, want %v", v, want)
				}
			}()
			f()
		}()
	}
}
