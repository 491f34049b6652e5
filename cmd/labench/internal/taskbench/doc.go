// Package taskbench measures the overhead of the task runtime with the patterns
// of Task Bench: graphs of Width points and Steps time steps, in which the task
// of a point at a step needs the results of some points of the step before, and
// checks that it got them. The figure is METG(50 %), the minimum effective task
// granularity: how short tasks may be for the machine to still do half of what
// it could.
//
// Reference: Slaughter et al., "Task Bench: A Parameterized Benchmark for
// Evaluating Parallel Runtime Performance", SC20.
package taskbench
