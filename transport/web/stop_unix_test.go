//go:build unix

package web_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/transporttest"
	"github.com/tessera-la/tessera/transport/web"
)

const (
	stopGreet, stopTimeout = 100 * time.Millisecond, 1500 * time.Millisecond
	stopEnv                = "TESSERA_WEB_TEST_PEER"
)

// TestMain makes this program a node, if TestStopped has started it.
func TestMain(m *testing.M) {
	seed, name, ok := strings.Cut(os.Getenv(stopEnv), " ")
	if !ok {
		os.Exit(m.Run())
	}
	x, err := web.New(web.Options{Name: name, Listen: "127.0.0.1:0", Peers: []string{seed}, Plain: true, Greet: stopGreet, Timeout: stopTimeout})
	if err == nil {
		err = x.Start(func(string, []byte) {}, func(e transport.Event) { fmt.Println(e.Node, e.Joined) })
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// TestStopped: a process that is stopped has left for the others, which do not lose each
// other meanwhile; when it goes on, it has joined again.
func TestStopped(t *testing.T) {
	x, err := web.New(web.Options{Name: "a", Listen: "127.0.0.1:0", Plain: true, Greet: stopGreet, Timeout: stopTimeout})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	events := make(chan string, 100)
	if err := x.Start(func(string, []byte) {}, func(e transport.Event) { events <- fmt.Sprint("a: ", e.Node, " ", e.Joined) }); err != nil {
		t.Fatal(err)
	}
	process := map[string]*exec.Cmd{}
	for _, name := range []string{"b", "c"} {
		p := exec.Command(os.Args[0])
		p.Env = append(os.Environ(), stopEnv+"="+web.Address(x)+" "+name)
		in, err := p.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := p.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			p.Process.Signal(syscall.SIGCONT)
			in.Close()
			p.Process.Kill()
			p.Wait()
		}()
		go func() {
			for s := bufio.NewScanner(out); s.Scan(); {
				events <- name + ": " + s.Text()
			}
		}()
		process[name] = p
	}
	want := func(all ...string) {
		t.Helper()
		missing := map[string]bool{}
		for _, e := range all {
			missing[e] = true
		}
		for timeout := time.After(5 * time.Minute); len(missing) > 0; {
			select {
			case e := <-events:
				if !missing[e] {
					t.Errorf("event %s", e)
				}
				delete(missing, e)
			case <-timeout:
				t.Fatalf("in 5 minutes not: %v", missing)
			}
		}
	}
	want("a: b true", "a: c true", "b: a true", "b: c true", "c: a true", "c: b true")
	clock := awake(t)
	begin := clock()
	process["c"].Process.Signal(syscall.SIGSTOP)
	fetched := make(chan error, 1)
	go func() {
		var err error
		for absent := (*transport.NotHereError)(nil); err == nil || errors.As(err, &absent); { // it does not stop at once
			err = x.Fetch(t.Context(), "c", transport.Ref{}, 0, &transporttest.Value{})
		}
		fetched <- err
	}()
	want("a: c false", "b: c false")
	if err, u := <-fetched, (*transport.UnreachableError)(nil); !errors.As(err, &u) {
		t.Errorf("Fetch: %v, want an UnreachableError", err)
	}
	if d := clock() - begin; d > 2*stopTimeout {
		t.Errorf("seen after %v", d)
	}
	time.Sleep(stopTimeout) // nobody else leaves
	process["c"].Process.Signal(syscall.SIGCONT)
	want("a: c true", "b: c true")
}
