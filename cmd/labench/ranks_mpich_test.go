//go:build mpi && linux && cgo && mpich

package main

// launcher is MPICH's.
func launcher() []string { return []string{"mpirun.mpich"} }

// keeping are the options by which it keeps the other ranks when one is lost. It sends them
// SIGUSR1 then. UCX ends a process that reads the memory of a lost one (cma).
func keeping() []string { return []string{"-genv", "UCX_TLS", "^cma", "-disable-auto-cleanup"} }
