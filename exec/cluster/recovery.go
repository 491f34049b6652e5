package cluster

import (
	"cmp"
	"context"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
)

// withRecovery makes a job compute lost data again.
//
//	paused, and no task in flight ─► recoverAndResume ─► recoverLost:
//	  PlanFor ─► replay ─► run ─► adopt ─► end ─► nothing is lost ─► the job goes on
//	     ▲                 more is lost ──► end ─┐
//	     └───────────────────────────────────────┘
//
// Lost data are replaced when a replay has made all of them.
func withRecovery(j *job) *job {
	j.recover = j.recoverAndResume
	return j
}

// recoverAndResume computes the job's lost data again, when none of its tasks is in flight, and
// lets the job go on.
func (j *job) recoverAndResume() {
	j.mu.Lock()
	rest := j.recoveryDelay
	j.recoveryDelay = 0
	j.mu.Unlock()
	j.pause(rest)
	err := j.recoverLost()
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		j.outcome.Abort(err)
	}
	stuck := j.stuck
	j.stuck, j.sched.Paused, j.recover = nil, false, j.recoverAndResume
	j.pushReady(stuck, -1)
	j.place()
	j.retryStarving(&j.placement)
	j.news.Broadcast()
}

// maxFailedRounds bounds the recoveries that fail in a row without the loss of another node.
const maxFailedRounds = 20

// recoverLost computes lost data again. It repeats that if another node is lost meanwhile. It also repeats it,
// after a pause and a limited number of times, if nodes cannot give data that the recovery needs.
func (j *job) recoverLost() (err error) {
	for failures, losses := 0, j.lossCount(); ; {
		j.mu.Lock()
		var lost []*core.Entry
		for e := range j.entries {
			if e.Lost() {
				lost = append(lost, e)
			}
		}
		plan, gone := core.PlanFor(lost)
		why := j.latestLoss()
		j.mu.Unlock()
		switch {
		case gone != nil:
			why.Data = gone.Title()
			return why
		case len(lost) == 0:
			return nil
		}
		said := []any{"data", len(lost), "tasks", len(plan.Tasks)}
		if why.Node != "" { // otherwise the failed fetches were logged
			said = append(said, "node", why.Node)
		}
		j.opt.Log.Info("what was lost with a node is made again", said...)
		r := j.replay(plan)
		if err = r.run(lost); err == nil {
			r.adopt(lost)
		}
		r.end()
		if _, again := err.(*NodeLostError); err != nil && !again {
			return err
		}
		if now := j.lossCount(); now > losses {
			failures, losses = 0, now
		} else if failures++; err != nil && failures > maxFailedRounds || j.ctx.Err() != nil {
			return cmp.Or(context.Cause(j.ctx), err)
		}
		if err != nil {
			j.pause(backoff(failures))
		}
	}
}

// replay executes a plan as a job of its own, on stand-ins of the lost data.
type replay struct {
	*job
	parent *job
	core.Reconstruction
	keptReplicas []*core.Entry // replicas that must not make room meanwhile
}

// replay returns a replay of the plan. Meanwhile the replicas that the plan reads are not evicted.
func (j *job) replay(p core.Plan) *replay {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := &replay{job: newJob(j.host, j.fleet, j.ctx, j.nodes), parent: j}
	r.Reconstruction = core.NewReconstruction(p, j.number, r.job.newName)
	r.recovering = true
	for x, s := range p.Sources {
		if c := x.Of.Replica.Entry; c != nil && s.Ref == c.Ref && c.Evictable {
			c.Evictable, r.keptReplicas = false, append(r.keptReplicas, c)
		}
	}
	r.stories, r.retellsTask, r.graph.Observer = j.stories, map[graph.TaskID]graph.TaskID{}, nil
	return r
}

// run submits the tasks of the plan and waits for them. If the latest version of a lost datum has a replica,
// run copies the replica instead.
func (r *replay) run(lost []*core.Entry) error {
	r.mu.Lock()
	err := r.begin()
	r.mu.Unlock()
	if err != nil {
		return err
	}
	r.mu.Lock()
	specs := r.Specs(r.data, lost)
	for i, x := range r.Plan.Tasks {
		if x.Job == r.parent.order && r.stories != nil {
			r.retellsTask[graph.TaskID(i+1)] = x.ID
		}
	}
	for _, x := range r.StandIns { // stand-ins of the program's data can go to the driver
		r.entries[x] = true
		if home := r.parent.homes[x.StandsFor]; home != nil {
			r.homes[x] = home
		}
	}
	scrap := r.Temporary(lost)
	r.onUnused = func(x *core.Entry) {
		if scrap[x] {
			r.sched.Discard(x)
		}
	}
	for _, spec := range specs {
		for _, o := range spec.Operands {
			r.data.Of(o.Datum).Users++
		}
	}
	r.mu.Unlock()
	for _, spec := range specs {
		if err == nil {
			_, err = r.Submit(spec)
		}
		r.mu.Lock()
		for _, o := range spec.Operands {
			r.release(r.data.Of(o.Datum))
		}
		r.mu.Unlock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.awaitTasks()
	return r.Err()
}

// adopt replaces the lost data by their stand-ins.
func (r *replay) adopt(lost []*core.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Adopt(lost, r.sched)
	for d, e := range r.parent.data.All() {
		e.ShowHolders(d)
	}
}

// end drops the stand-ins that no datum has adopted.
func (r *replay) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.StandIns {
		r.sched.Discard(x)
	}
	for _, kept := range r.keptReplicas {
		kept.Evictable = true
	}
	delete(r.starving, &r.placement)
	defer r.retryStarving(&r.placement)
	number := r.number
	if number == 0 {
		return
	}
	r.fleet.recomputed += int64(r.done)
	r.mu.Unlock()
	r.stopping()
	r.host.endJob(number, r.nodes, nil)
	r.mu.Lock()
	r.number, r.data, r.entries, r.names, r.homes = 0, nil, nil, nil, nil
	r.graph.Release()
}
