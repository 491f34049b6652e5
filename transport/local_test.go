package transport_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/transporttest"
	"github.com/tessera-la/tessera/versions"
	"go.uber.org/goleak"
)

func TestNetwork(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	transporttest.Run(t, func(t *testing.T, n int) (all []transport.Transport) {
		network := transport.NewNetwork()
		for i := range n {
			x, err := network.Node(fmt.Sprintf("node%d", i))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, x)
		}
		return all
	})
}

// TestName: a name is not given twice, and a node starts once.
func TestName(t *testing.T) {
	network := transport.NewNetwork()
	a, err := network.Node("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Send(t.Context(), "a", nil); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("before Start: %v", err)
	}
	start := func() error { return a.Start(func(string, []byte) {}, func(transport.Event) {}) }
	if err := start(); err != nil {
		t.Fatal(err)
	}
	if err := start(); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("started again: %v", err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	var taken *transport.NameError
	if _, err := network.Node("a"); !errors.As(err, &taken) || taken.Name != "a" {
		t.Errorf("the name of a node that has left: %v", err)
	}
}

// broken is a value that cannot be encoded.
type broken struct{ transporttest.Value }

var errBroken = errors.New("broken")

func (b *broken) Encode(io.Writer) error { return errBroken }

// TestBroken: what goes wrong at the publisher is the fetcher's error.
func TestBroken(t *testing.T) {
	network := transport.NewNetwork()
	a, err := network.Node("a")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.Start(func(string, []byte) {}, func(transport.Event) {}); err != nil {
		t.Fatal(err)
	}
	var v versions.Value = &broken{}
	a.Publish(transport.Ref{}, v)
	if err := a.Fetch(t.Context(), "a", transport.Ref{}, 0, &transporttest.Value{}); !errors.Is(err, errBroken) {
		t.Errorf("fetch: %v", err)
	}
	a.Drop(transport.Ref{})
}

// BenchmarkFetch is what it takes to fetch a value within a process.
func BenchmarkFetch(b *testing.B) {
	for _, size := range []int{8, 4 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			network := transport.NewNetwork()
			a, err := network.Node("a")
			if err != nil {
				b.Fatal(err)
			}
			defer a.Close()
			if err := a.Start(func(string, []byte) {}, func(transport.Event) {}); err != nil {
				b.Fatal(err)
			}
			v := &transporttest.Value{Data: make([]byte, size)}
			a.Publish(transport.Ref{}, v)
			into := &transporttest.Value{}
			for b.Loop() {
				if err := a.Fetch(b.Context(), "a", transport.Ref{}, 0, into); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
