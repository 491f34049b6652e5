package bench

import (
	"context"
	"time"
)

// meter turns the progress of la's calls into that of all that a Spec does:
// each run counts the same, and so does the verification, which costs about as
// many operations as a run.
type meter struct {
	report func(done, total int)
	stages int   // runs, and the verification
	stage  int   // those that have ended
	part   int   // of the parts of this stage, the one under way …
	parts  int   // … and how many there are
	most   []int // for each part, the most tasks that a call of it had
	paused bool
	said   int // what report has been told last

	stageBegins func(Stage)           // nil if nobody asks
	within      func(done, total int) // nil if nobody asks
}

// Stage is a part of what a Spec does.
type Stage struct {
	Name  string  // "preparation", "warm-up", "measuring the peak", "timed", "check"
	Run   int     // of that name, from 1; 0 if it is no run
	Runs  int     // 0 if nobody knows how many
	Flops float64 // of the run
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

// begin says that a stage begins.
func (m *meter) begin(s Stage) {
	if m.stageBegins != nil {
		m.stageBegins(s)
	}
}

// timed resets p, runs it once as the function timed does, and announces both: the run is
// run i, of so many, of the stages of a name.
func (m *meter) timed(ctx context.Context, p problem, once func(context.Context) error, name string, i, runs int) (time.Duration, error) {
	m.begin(Stage{Name: "preparation"})
	return timed(ctx, p, func(ctx context.Context) error {
		m.begin(Stage{name, i, runs, p.flops()})
		return once(ctx)
	})
}

// progress takes what la says of the call under way.
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
	// A total grows while tasks are submitted: the call of the run before tells how far it goes.
	for len(m.most) <= m.part {
		m.most = append(m.most, 0)
	}
	m.most[m.part] = max(m.most[m.part], total)
	within := (float64(m.part) + float64(done)/float64(m.most[m.part])) / float64(m.parts)
	// A stage whose calls are not announced by step may begin at 0 again: what has been said holds.
	m.said = max(m.said, m.stage*grain+min(grain, int(within*grain)))
	m.report(m.said, m.stages*grain)
}

// next ends a stage.
func (m *meter) next() {
	m.stage, m.part, m.parts = m.stage+1, 0, 1
	m.overall(0, 1)
}

// step says that the next call is the i-th, from 0, of n of this stage.
func (m *meter) step(i, n int) { m.part, m.parts = i, n }

// pause keeps the progress of runs that were not foreseen to itself.
func (m *meter) pause(on bool) { m.paused = on }
