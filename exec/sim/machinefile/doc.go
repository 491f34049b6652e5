// Package machinefile reads and writes descriptions of machines for package sim, in TOML, and
// has some: those on which the papers that Tessera follows measured ([Names]).
package machinefile
