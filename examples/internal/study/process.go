package study

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/tessera-la/tessera/exec/cluster"
)

// Start starts this program again as an agent that knows the address of peer. end stops it and waits for its
// end.
func Start(name, peer string) (p *os.Process, end func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	c := exec.Command(self, "agent", name, peer)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := c.Start(); err != nil {
		return nil, nil, err
	}
	end = func() {
		_ = in.Close()
		_ = c.Wait()
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		end()
		return nil, nil, fmt.Errorf("%s has not begun: %w", name, err)
	}
	return c.Process, end, nil
}

// Main runs drive. In a process that was started by [Start] it runs an agent instead, with the given name and
// peer, until standard input ends. That happens when the driver ends.
func Main(drive func() error, node func(name string, peers ...string) (cluster.Options, error)) error {
	if len(os.Args) != 4 || os.Args[1] != "agent" {
		return drive()
	}
	opt, err := node(os.Args[2], os.Args[3])
	if err != nil {
		return err
	}
	defer opt.Runtime.Close()
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	fmt.Println("an agent begins")
	if err := cluster.Serve(ctx, opt); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
