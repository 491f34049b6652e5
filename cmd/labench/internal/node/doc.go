// Package node makes this process a node of a cluster, as flags of labench ask: an agent, which computes for
// others and takes jobs, the driver of the nodes that --cluster names, or a rank of MPI. It provides the
// commands agent, cluster, submit, status, result and cancel.
//
// The files, from the bottom up: hosts, cores, trust, flags, slurm, where, ranks, spawn, drive, mpi, taking,
// jobs, cluster, agent.
package node
