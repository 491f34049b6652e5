package exec_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// study is one setting of the studies of Elshazly et al., "Accelerated execution
// via eager release of dependencies in task-based workflows" (2021), section 5:
// producers that make one output after the other, and a consumer for each
// output. Tasks sleep instead of computing, so that the number of workers is not
// bound by the machine's cores.
type study struct {
	name      string
	workers   int
	producers []int // outputs of each
	make      time.Duration
	consume   time.Duration
	bytes     int  // of an output, which is written and read besides
	together  bool // all outputs of a producer are there only at its end
	ordered   bool // the producers wait for consumers, and see which have run
}

func studies() []study {
	return []study{
		{name: "outputs=10", workers: 4, producers: []int{10}, make: 4 * time.Millisecond, consume: 4 * time.Millisecond},
		{name: "outputs=100", workers: 4, producers: []int{100}, make: time.Millisecond, consume: time.Millisecond},
		{name: "outputs=1000", workers: 4, producers: []int{1000}, make: 200 * time.Microsecond, consume: 200 * time.Microsecond},
		{name: "outputs=10000", workers: 4, producers: []int{10000}, make: 50 * time.Microsecond, consume: 50 * time.Microsecond},
		{name: "size=4KiB", workers: 2, producers: []int{256}, bytes: 4 << 10},
		{name: "size=256KiB", workers: 2, producers: []int{64}, bytes: 256 << 10},
		{name: "size=4MiB", workers: 2, producers: []int{16}, bytes: 4 << 20},
		{name: "unequal", workers: 4, producers: []int{10, 40, 90}, make: time.Millisecond, consume: 2 * time.Millisecond},
		{name: "together", workers: 4, producers: []int{50, 50}, make: time.Millisecond, consume: time.Millisecond, together: true},
		// One generator of subdomains and a solver for each of them, as many
		// workers as keep up with it.
		{name: "domain", workers: 8, producers: []int{100}, make: time.Millisecond, consume: 7 * time.Millisecond},
	}
}

// run returns how long the last producer took and the whole.
func (s *study) run(tb testing.TB, eager bool) (producer, total time.Duration) {
	rt := start(tb, exec.Options{Workers: s.workers, Float: true})
	defer rt.Close()
	job := rt.NewJob(context.Background())
	begin := time.Now()
	ends := make([]time.Duration, len(s.producers))
	var consumers []graph.Spec
	for k, n := range s.producers {
		data := make([]graph.Datum, n)
		consumed := make([]atomic.Bool, n)
		memory := make([]byte, n*s.bytes)
		output := func(i int) []byte { return memory[i*s.bytes : (i+1)*s.bytes] }
		spec := graph.Spec{Priority: 1, Op: opOf("produce", func(c *versions.Call) error {
			for i := range n {
				if s.make > 0 {
					time.Sleep(s.make)
				}
				for x := output(i); len(x) > 0; x = x[1:] {
					x[0] = byte(len(x))
				}
				if eager && !s.together {
					c.Finished(i)
					for s.ordered && !consumed[i].Load() {
						if time.Since(begin) > 5*time.Minute {
							return fmt.Errorf("output %d is not consumed before the end of its producer", i)
						}
						time.Sleep(time.Microsecond)
					}
				}
			}
			for i := range consumed {
				if s.ordered && (!eager || s.together) && consumed[i].Load() {
					return fmt.Errorf("output %d was consumed before it was finished", i)
				}
			}
			if eager && s.together {
				for i := range n {
					c.Finished(i)
				}
			}
			ends[k] = time.Since(begin)
			return nil
		})}
		consume := opOf("consume", func(c *versions.Call) error {
			if s.consume > 0 {
				time.Sleep(s.consume)
			}
			i := c.Args[0].(int)
			for at, x := range output(i) {
				if x != byte(s.bytes-at) {
					return fmt.Errorf("byte %d of output %d is %d", at, i, x)
				}
			}
			consumed[i].Store(true)
			return nil
		})
		for i := range data {
			data[i].Value = i
			spec.Operands = append(spec.Operands, out(&data[i]))
			consumers = append(consumers, graph.Spec{Op: consume, Operands: []graph.Operand{in(&data[i])}})
		}
		submit(tb, job, spec)
	}
	for i := range consumers {
		submit(tb, job, consumers[i])
	}
	if err := job.Wait(); err != nil {
		tb.Fatalf("%s, eager %v: %v", s.name, eager, err)
	}
	for _, e := range ends {
		producer = max(producer, e)
	}
	return producer, time.Since(begin)
}

// TestEagerStudies goes through the studies, with tasks that take no time, and
// holds the runtime to the order that eager release promises whatever the machine
// does meanwhile: a producer that waits, before its next output, for the consumer
// of the one before gets there; and without eager release, and where all outputs
// are there at the end only, no consumer runs before the end of its producer. How
// much time that saves is for BenchmarkEagerStudies to say.
func TestEagerStudies(t *testing.T) {
	for _, s := range studies() {
		s.make, s.consume, s.ordered = 0, 0, true
		for _, eager := range []bool{true, false} {
			if n := s.producers[0]; eager && n > 1000 {
				s.producers = []int{1000} // each output is waited for
			}
			s.run(t, eager)
		}
	}
}

// BenchmarkEagerStudies says what part of the lazy time eager release saves, and
// how much longer than the last producer the whole takes. Lazy and eager runs take
// turns, and the best of each are compared. "domain" should save 40 %, "together"
// nothing.
func BenchmarkEagerStudies(b *testing.B) {
	for _, s := range studies() {
		b.Run(s.name, func(b *testing.B) {
			var producer, eager, lazy time.Duration
			for b.Loop() {
				p, e := s.run(b, true)
				_, l := s.run(b, false)
				if eager == 0 || e < eager {
					eager, producer = e, p
				}
				if lazy == 0 || l < lazy {
					lazy = l
				}
			}
			b.ReportMetric(100*(1-float64(eager)/float64(lazy)), "%saved")
			b.ReportMetric(100*(float64(eager)/float64(producer)-1), "%more-than-producer")
		})
	}
}

// BenchmarkEagerRelease is what it costs to hand on an output of a task with
// many.
func BenchmarkEagerRelease(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		for _, eager := range []bool{false, true} {
			s := study{workers: 2, producers: []int{n}}
			b.Run(fmt.Sprintf("outputs=%d/eager=%v", n, eager), func(b *testing.B) {
				for b.Loop() {
					s.run(b, eager)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/output")
			})
		}
	}
}
