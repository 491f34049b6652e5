// Package transporttest tests that transports keep the contract of transport.Transport: one suite
// for all of them.
package transporttest
