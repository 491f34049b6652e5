package bench

import (
	"context"
	"time"
)

// meter converts the progress of calls of la into the progress of the whole Spec. Each run counts as one stage,
// and so does the verification, which takes about as many operations as a run.
type meter struct {
	report func(done, total int)
	stages int   // runs and the verification
	stage  int   // number of ended stages
	part   int   // index of the current part of this stage …
	parts  int   // … and the number of its parts
	most   []int // for each part, the largest number of tasks of a call
	paused bool
	said   int // the progress that was last reported

	stageBegins func(Stage)           // nil if not wanted
	within      func(done, total int) // nil if not wanted
}

// grain is the resolution of the progress of one stage.
const grain = 1000

func newMeter(s Spec) *meter {
	m := &meter{report: s.Progress, stageBegins: s.Stage, within: s.Within, stages: max(s.Warmup, 0) + s.Repeat, parts: 1}
	if s.Verify {
		m.stages++
	}
	return m
}

// begin announces a stage.
func (m *meter) begin(s Stage) {
	if m.stageBegins != nil {
		m.stageBegins(s)
	}
}

// timed resets p and runs it once with timed. It announces both as run i of the stages called name.
func (m *meter) timed(ctx context.Context, p problem, once func(context.Context) error, name string, i, runs int) (time.Duration, error) {
	m.begin(Stage{Name: "preparation"})
	return timed(ctx, p, func(ctx context.Context) error {
		m.begin(Stage{name, i, runs, p.flops()})
		return once(ctx)
	})
}

// progress takes the progress of the current call of la.
func (m *meter) progress(done, total int) {
	if m.within != nil {
		m.within(done, total)
	}
	m.overall(done, total)
}

// overall reports the progress of all stages.
func (m *meter) overall(done, total int) {
	if m.report == nil || m.paused || total == 0 {
		return
	}
	// total grows while tasks are submitted. Its final value is known from the same call of the run before.
	for len(m.most) <= m.part {
		m.most = append(m.most, 0)
	}
	m.most[m.part] = max(m.most[m.part], total)
	within := (float64(m.part) + float64(done)/float64(m.most[m.part])) / float64(m.parts)
	// The progress of calls that are not announced with step may start at 0 again. What was reported stays.
	m.said = max(m.said, m.stage*grain+min(grain, int(within*grain)))
	m.report(m.said, m.stages*grain)
}

// next ends a stage.
func (m *meter) next() {
	m.stage, m.part, m.parts = m.stage+1, 0, 1
	m.overall(0, 1)
}

// step announces that the next call is the i-th, from 0, of n calls of this stage.
func (m *meter) step(i, n int) { m.part, m.parts = i, n }

// pause suppresses the progress of unplanned runs.
func (m *meter) pause(on bool) { m.paused = on }

// timed resets p, runs it once and returns the time of the run.
func timed(ctx context.Context, p problem, once func(context.Context) error) (time.Duration, error) {
	p.reset()
	begin := time.Now()
	err := once(ctx)
	return max(time.Since(begin), 1), err // a coarse clock may show no time at all
}

// cause returns the cause of the end of ctx if it has ended, else err.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
