//go:build mpi && linux && cgo

package mpi

import (
	"fmt"
	"testing"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/transporttest"
)

// pair returns two nodes that know one another, of which the second is another rank's and
// sends messages back.
func pair(b *testing.B, handle transport.Handler) (own transport.Transport, other *remote) {
	b.Helper()
	all := network(b, 2, 0, Options{})
	own, other = all[0], all[1].(*remote)
	b.Cleanup(func() { own.Close(); other.Close() })
	if _, err := other.call(b.Context(), "Echo", Order{}); err != nil {
		b.Fatal(err)
	}
	if err := own.Start(handle, func(transport.Event) {}); err != nil {
		b.Fatal(err)
	}
	for len(own.Nodes()) == 0 || len(other.Nodes()) == 0 {
		time.Sleep(time.Millisecond)
	}
	return own, other
}

// BenchmarkMessage is how long it takes until a message has gone and come back, and Many how long
// each of many takes that are sent at once.
func BenchmarkMessage(b *testing.B) {
	back := make(chan struct{}, 1000)
	own, other := pair(b, func(string, []byte) { back <- struct{}{} })
	message := make([]byte, 100)
	send := func(n int) {
		for range n {
			if err := own.Send(b.Context(), other.Self(), message); err != nil {
				b.Fatal(err)
			}
		}
		for range n {
			<-back
		}
	}
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			send(1)
		}
	})
	b.Run("many", func(b *testing.B) {
		for b.Loop() {
			send(500)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/500, "ns/message")
	})
}

// BenchmarkFetch is what it takes to fetch a value from another rank of this machine.
func BenchmarkFetch(b *testing.B) {
	own, other := pair(b, func(string, []byte) {})
	for i, size := range []int{8, 32 << 10, 2 << 20, 32 << 20} {
		r := transport.Ref{I: int32(i)}
		other.Publish(r, &transporttest.Value{Data: make([]byte, size)})
		b.Run(fmt.Sprint("bytes=", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			into := &transporttest.Value{}
			for b.Loop() {
				if err := own.Fetch(b.Context(), other.Self(), r, 0, into); err != nil {
					b.Fatal(err)
				}
			}
		})
		other.Drop(r)
	}
}
