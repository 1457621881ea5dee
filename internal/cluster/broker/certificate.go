//go:build !nobus

package broker

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
)

// tls returns the configuration of a server; nil = there is no certificate.
func (o *ServerOptions) tls() (*tls.Config, error) {
	switch {
	case o.Cert == "" && o.Key == "" && o.ClientCA == "":
		return nil, nil
	case o.Cert == "" || o.Key == "":
		return nil, errors.New("TLS of the bus: the certificate and its key must be given together")
	}
	pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate of the bus: %w", err)
	}
	var last atomic.Pointer[tls.Certificate] // stands in while the files are being replaced
	last.Store(&pair)
	out := &tls.Config{MinVersion: tls.VersionTLS13}
	out.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if pair, err := tls.LoadX509KeyPair(o.Cert, o.Key); err == nil {
			last.Store(&pair)
		}
		return last.Load(), nil
	}
	if o.ClientCA != "" {
		out.ClientAuth = tls.RequireAndVerifyClientCert
		if out.ClientCAs, err = authorities(o.ClientCA); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// tls returns the configuration of a connection.
func (o *Options) tls() (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS13}
	if o.CA != "" {
		pool, err := authorities(o.CA)
		if err != nil {
			return nil, err
		}
		out.RootCAs = pool
	}
	switch {
	case o.Cert != "" && o.Key != "":
		out.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
			return &pair, err
		}
	case o.Cert+o.Key != "":
		return nil, errors.New("TLS of the bus: the certificate and its key must be given together")
	}
	return out, nil
}

// authorities reads certificates from a PEM file.
func authorities(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read certificates of authorities: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read certificates of authorities: %s has none", file)
	}
	return pool, nil
}
