// Package machinefile reads and writes descriptions of machines for package sim, in TOML. It brings
// the machines on which the papers that Tessera follows measured ([Names]).
package machinefile
