package web

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
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
