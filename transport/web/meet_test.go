package web_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/web"
)

// TestMeet: nodes that know one address, and start at the same time, have all met long before the
// next greetings are due, which here is never.
func TestMeet(t *testing.T) {
	leaves(t)
	const nodes = 5
	for range 3 {
		var starts, ends sync.WaitGroup
		begin, met, all := make(chan bool), make(chan bool, nodes*nodes), make([]transport.Transport, nodes)
		for i := range all {
			o := web.Options{Name: fmt.Sprint("node", i), Listen: "127.0.0.1:0", Plain: true, Greet: time.Hour}
			if i > 0 {
				o.Peers = []string{web.Address(all[0])}
			}
			x, err := web.New(o)
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			all[i] = x
			starts.Go(func() {
				if i > 0 {
					<-begin
				}
				if err := x.Start(func(string, []byte) {}, func(e transport.Event) {
					if e.Joined {
						met <- true
					}
				}); err != nil {
					t.Error(err)
				}
				if i == 0 { // it has to be there, or else it is greeted in an hour
					close(begin)
				}
			})
		}
		starts.Wait()
		late := time.After(5 * time.Minute)
		for range nodes * (nodes - 1) {
			select {
			case <-met:
			case <-late:
				for _, x := range all {
					t.Errorf("%s has met %v", x.Self(), x.Nodes())
				}
				t.FailNow()
			}
		}
		for _, x := range all {
			ends.Go(func() { x.Close() })
		}
		ends.Wait()
	}
}
