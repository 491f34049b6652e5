// Package jobs keeps the jobs of an agent: operations that clients submit over HTTP. A job does not depend on
// its client once it is submitted. Each job is a process. Jobs run one at a time, in the order of their
// numbers.
//
//	submit ─► queued ─► running ─► done
//	             │         ├─────► failed
//	             └─────────┴─────► cancelled
//
// A job is a directory, spool/N. job.json holds the job and its state; beside it are the input, the log, the
// report and the matrix of the result. So a job survives a restart of the agent. A directory without job.json
// is not a job and is left alone.
//
// A [Queue] holds the jobs and runs them, [NewServer] serves a queue over HTTP, and a [Client] sends requests
// to such a server.
package jobs
