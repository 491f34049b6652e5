package matcalls

import (
	"context"
	"encoding/json"
	"math"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quick() Config { return Config{Workers: 2, Repeat: 3, Warmup: 1, Seed: 7} }

// A turn repeats short calls until its time is over.
func TestTurns(t *testing.T) {
	calls := 0
	c := &contender{
		enter:    func() {},
		call:     func() { calls++; time.Sleep(2 * time.Millisecond) },
		residual: func() float64 { return float64(calls) },
	}
	if err := c.turn(context.Background(), Config{Turn: 10 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if calls < 1 || calls > 5 || len(c.times) != calls || c.worst != float64(calls) {
		t.Errorf("%d calls, %d times, residual %g", calls, len(c.times), c.worst)
	}
	calls, c.call = 0, func() { calls++ }
	if err := c.turn(context.Background(), Config{Turn: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if calls != maxCalls {
		t.Errorf("%d calls", calls)
	}
}

func TestSide(t *testing.T) {
	c := &contender{times: []time.Duration{4 * time.Second, time.Second, 2 * time.Second, 8 * time.Second}, worst: math.Inf(1)}
	s := c.side(6e9)
	if s.SecondsBest != 1 || s.SecondsMedian != 3 || s.GFLOPSBest != 6 || s.GFLOPSMedian != 2 || s.Calls != 4 {
		t.Errorf("%+v", s)
	}
	text, err := json.Marshal(s)
	if want := `{"seconds_best":1,"seconds_median":3,"gflops_best":6,"gflops_median":2,"residual":null,"calls":4,"seconds":[4,1,2,8]}`; err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
}
