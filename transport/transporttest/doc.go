// Package transporttest holds transports to what transport.Transport says: one suite for
// all of them.
package transporttest
