// Package peak measures what this machine could do at best: the rate of fused
// multiply-adds that the vector units sustain, on one core and on all, and
// the bandwidth of main memory. The speed of a kernel is judged as a fraction
// of these numbers, which no data sheet gives for a machine whose clock
// depends on temperature, on the neighbours and on the instructions used.
//
// The FMA loop keeps enough independent sums in registers to fill two vector
// pipes of four to six cycles latency and touches no memory. It is written in
// assembly for AVX-512 and AVX2 on amd64 and NEON on arm64; elsewhere, and with the build tag
// noasm, a loop in Go takes its place, which measures what compiled Go
// reaches without vector instructions.
package peak
