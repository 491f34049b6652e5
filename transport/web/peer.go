package web

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
)

// errNoName is why a certificate is refused that names no node.
var errNoName = errors.New("the certificate has no DNS name")

// verify checks the certificate of the other side but for its name.
func verify(c tls.ConnectionState, base *tls.Config) error {
	if len(c.PeerCertificates) == 0 {
		return errors.New("no certificate")
	}
	opt := x509.VerifyOptions{Roots: base.RootCAs, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if base.Time != nil {
		opt.CurrentTime = base.Time()
	}
	for _, x := range c.PeerCertificates[1:] {
		opt.Intermediates.AddCert(x)
	}
	_, err := c.PeerCertificates[0].Verify(opt)
	return err
}

// peer returns the name of the node on the other side.
func peer(c tls.ConnectionState) (string, error) {
	if len(c.PeerCertificates) == 0 || len(c.PeerCertificates[0].DNSNames) == 0 {
		return "", errNoName
	}
	return c.PeerCertificates[0].DNSNames[0], nil
}

// speaks reports whether who has the certificate of a node may be the node of a name: that node
// itself, or one that it has named after itself, as "node1/job7". A certificate for a name with a
// slash is nobody's.
func speaks(certificate, name string) bool {
	node, ok := nodeOf(name)
	return ok && node == certificate
}

// nodeOf returns the node in a name, and reports whether it is a name: that of a node has no
// slash, and what a node names after itself has one, with letters and digits behind it.
func nodeOf(name string) (node string, ok bool) {
	node, own, slash := strings.Cut(name, "/")
	strange := strings.ContainsFunc(own, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9')
	})
	return node, node != "" && slash == (own != "") && !strange
}
