// Package neon has the kernels in the vector instructions of arm64, which every such processor
// has (Advanced SIMD, NEON). A vector of the tables is a pair of registers of 128 bits: a tile of
// 4 rows and 3 vectors fills 24 of the 32 registers.
package neon

//go:generate go run ./internal/gen
