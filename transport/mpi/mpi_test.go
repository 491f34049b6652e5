//go:build mpi && linux && cgo

package mpi

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"net/rpc"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/transporttest"
)

// Tests run in rank 0 of four. What they do with nodes of other ranks these are told over
// Unix sockets, in the directory control.
var control = flag.String("control", "", "directory of the tests' own sockets; set by TestMain")

const ranks = 4

// notified gets SIGUSR1, from before MPI was initialised.
var notified = make(chan os.Signal, 1)

func TestMain(m *testing.M) {
	flag.Parse()
	if *late {
		if err := closeLate(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if *absent != "" {
		if err := openAlone(*absent); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if *hang != "" {
		if err := hangIn(*hang); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if *tasks != "" {
		if err := beRank(*tasks); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if *control == "" {
		os.Exit(launch())
	}
	signal.Notify(notified, syscall.SIGUSR1)
	w, err := Open()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := 0
	if w.Rank() > 0 {
		err = obey(w)
	} else {
		theWorld.World = w
		code = m.Run()
		err = errors.Join(theWorld.dismiss(), w.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// launch runs the tests again, with mpirun.
func launch() int {
	dir, err := os.MkdirTemp("", "mpi")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	args := append(launcher(), os.Args[0])
	args = append(args, os.Args[1:]...)
	args = append(args, "-control", dir)
	c := exec.Command(args[0], args[1:]...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Run(); err != nil {
		fmt.Fprintln(os.Stderr, args[0], err)
		return 1
	}
	return 0
}

// commands are the other ranks, as seen from rank 0.
type commands struct {
	*World
	once sync.Once
	to   []*rpc.Client // by rank - 1
	err  error
}

var theWorld commands

// connect connects with the other ranks.
func (c *commands) connect() error {
	c.once.Do(func() {
		for rank := 1; rank < c.Size() && c.err == nil; rank++ {
			var conn net.Conn
			for end := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Millisecond) {
				if conn, c.err = net.Dial("unix", socket(rank)); c.err == nil || time.Now().After(end) {
					break
				}
			}
			if c.err == nil {
				c.to = append(c.to, rpc.NewClient(conn))
			}
		}
	})
	return c.err
}

// dismiss has the other ranks end.
func (c *commands) dismiss() error {
	if err := c.connect(); err != nil {
		return err
	}
	for _, to := range c.to {
		if err := to.Call("Rank.End", 0, new(int)); err != nil {
			return err
		}
		to.Close()
	}
	return nil
}

func socket(rank int) string { return filepath.Join(*control, fmt.Sprint("rank", rank)) }

// network returns n nodes of one network, of ranks 0 to n-1; that of rank first is the first.
func network(t testing.TB, n, first int, opt Options) (all []transport.Transport) {
	t.Helper()
	c := &theWorld
	if err := c.connect(); err != nil {
		t.Fatal(err)
	}
	if c.Size() != ranks {
		t.Fatalf("%d ranks, want %d", c.Size(), ranks)
	}
	var calls []*rpc.Call
	for _, to := range c.to {
		calls = append(calls, to.Go("Rank.New", Plan{n, opt.Timeout}, new(int), nil))
	}
	own, err := c.World.network(n, opt)
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, own)
	for i, call := range calls {
		<-call.Done
		if call.Error != nil {
			t.Fatal(call.Error)
		}
		if i+1 < n {
			all = append(all, &remote{to: c.to[i], name: c.Name(i + 1), node: *call.Reply.(*int)})
		}
	}
	return append(all[first:len(all):len(all)], all[:first]...)
}

// TestSuite holds ranks to what a transport promises.
func TestSuite(t *testing.T) {
	for first := range 2 {
		t.Run(fmt.Sprint("first=", first), func(t *testing.T) {
			transporttest.Run(t, func(t *testing.T, n int) []transport.Transport { return network(t, n, first, Options{}) })
		})
	}
}
