//go:build unix

package listen

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

const exhaustedEnv = "TESSERA_LISTEN_TEST"

// TestMain makes this program a server with few descriptors, if TestExhausted has started it.
func TestMain(m *testing.M) {
	if os.Getenv(exhaustedEnv) == "" {
		os.Exit(m.Run())
	}
	if err := serveFew(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// serveFew answers each connection, of which it may have few, and says what it hears of accept.
func serveFew() error {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	few := syscall.Rlimit{Cur: 24, Max: 24}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		return err
	}
	l := New(inner, Options{Strangers: 1000, Tell: func(err error, _ int) { fmt.Println("told:", err) }})
	fmt.Println(l.Addr())
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			b := make([]byte, 1)
			if _, err := c.Read(b); err == nil {
				_, _ = c.Write(b)
			}
		}()
	}
}

// TestExhausted: a server that strangers have left no descriptor goes on, says so, and answers who
// comes then.
func TestExhausted(t *testing.T) {
	p := exec.Command(os.Args[0])
	p.Env = append(os.Environ(), exhaustedEnv+"=1")
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	}()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("it does not listen")
	}
	address := lines.Text()
	var idle []net.Conn
	defer func() {
		for _, c := range idle {
			c.Close()
		}
	}()
	for range 60 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, c)
	}
	if !lines.Scan() || !strings.Contains(lines.Text(), "told: ") || !strings.Contains(lines.Text(), "too many open files") {
		t.Errorf("it says %q", lines.Text())
	}
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Errorf("it does not answer any more: %v", err)
	}
}
