package node

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/transport/web/certs"
)

// hostOf returns the host of an address, host:port.
func hostOf(address string) (host string, err error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", errors.New("want host:port")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", errors.New("its port is not a number from 0 to 65535")
	}
	return host, nil
}

// warnExposed warns of keys in dir that other users can read.
func warnExposed(a *cli.App, dir string) {
	if dir == "" {
		return
	}
	for _, path := range certs.Exposed(dir) {
		a.Warn(fmt.Sprintf("others can read the key %s, and be this node: chmod 600 %s", path, path))
	}
}

// trusted returns the TLS configuration for requests about jobs at an address. It is nil for a loopback address
// if no directory is given. The rule is the same for agents and clients: a program that reaches a loopback
// address is on the machine already, and all others must show a certificate.
func trusted(address, dir string) (config *tls.Config, err error) {
	host, err := hostOf(address)
	switch {
	case err != nil:
		return nil, cli.Usage(fmt.Errorf("%q is no address for jobs: %w", address, err))
	case dir != "":
		config, _, err = certs.Read(dir) // also for a loopback address, if a directory is given
		return config, err
	case !net.ParseIP(host).IsLoopback():
		return nil, cli.Usage(fmt.Errorf("without --certs jobs are taken on loopback addresses only, as 127.0.0.1:7500, and %s is none", address))
	}
	return nil, nil
}
