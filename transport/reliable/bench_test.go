package reliable_test

import (
	"fmt"
	"testing"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/reliable"
)

// BenchmarkSend is a message of 100 bytes within a process, without and with this package:
// many to one node, and one that goes and comes back.
func BenchmarkSend(b *testing.B) {
	for _, with := range []bool{false, true} {
		for _, ping := range []bool{false, true} {
			b.Run(fmt.Sprintf("reliable=%v/ping=%v", with, ping), func(b *testing.B) {
				net := transport.NewNetwork()
				joined, back := make(chan struct{}, 2), make(chan struct{}, 1)
				all := make([]transport.Transport, 2)
				for i := range all {
					x, err := net.Node(fmt.Sprint(i))
					if err == nil && with {
						x, err = reliable.New(x, reliable.Options{})
					}
					if err != nil {
						b.Fatal(err)
					}
					defer x.Close()
					all[i] = x
				}
				got := 0
				handle := func(from string, m []byte) {
					if got++; from == "1" || !ping && got == b.N {
						back <- struct{}{}
					} else if ping {
						if err := all[1].Send(b.Context(), "0", m); err != nil {
							b.Error(err)
						}
					}
				}
				for _, x := range all {
					if err := x.Start(handle, func(transport.Event) { joined <- struct{}{} }); err != nil {
						b.Fatal(err)
					}
				}
				<-joined
				<-joined
				m := make([]byte, 100)
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					if err := all[0].Send(b.Context(), "1", m); err != nil {
						b.Fatal(err)
					}
					if ping {
						<-back
					}
				}
				if !ping {
					<-back
				}
			})
		}
	}
}
