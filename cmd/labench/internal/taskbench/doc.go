// Package taskbench measures the overhead of the task runtime with the patterns of Task Bench. These are graphs
// of Width points and Steps time steps. The task of a point at a step needs the results of some points of the
// previous step, and checks that it got them. The result is METG(50 %), the minimum effective task granularity:
// how short tasks may be while the machine still reaches half of the rate that it has with long ones. Command
// labench metg prints it.
//
// Reference: Slaughter et al., "Task Bench: A Parameterized Benchmark for
// Evaluating Parallel Runtime Performance", SC20.
package taskbench
