// Package jobs keeps the jobs of an agent: operations that somebody outside submits over HTTP,
// which outlive who did. Each runs as a process of its own, one after the other, in the order of
// their numbers.
//
//	submit ─► queued ─► running ─► done
//	             │         ├─────► failed
//	             └─────────┴─────► cancelled
//
// A job is a directory, spool/N: job.json says what it is and where it stands, and beside it are
// its input, its log, its report and the matrix of its result. So it also outlives the agent. What
// has no job.json is somebody else's, and is left alone.
//
// A [Queue] has the jobs and runs them, [NewServer] serves a queue, and a [Client] asks such a
// server.
package jobs
