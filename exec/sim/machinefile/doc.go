// Package machinefile reads and writes descriptions of machines for package sim, in TOML.
package machinefile
