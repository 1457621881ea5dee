package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/spf13/pflag"
)

// mockTLS is the TLS configuration of the simulator. The zero value means plain
// HTTP.
type mockTLS struct {
	cert, key  string // PEM files
	selfSigned string // PEM file; a new self-signed certificate is written to it
}

func (t *mockTLS) register(fs *pflag.FlagSet) {
	fs.StringVar(&t.cert, "tls-cert", "", "serve HTTPS with the certificate in this PEM `file`; needs --tls-key")
	fs.StringVar(&t.key, "tls-key", "", "PEM `file` with the key of the certificate")
	fs.StringVar(&t.selfSigned, "tls-self-signed", "", "serve HTTPS with a new certificate, written to this `file` for clients to trust (profile --tls-ca-file)")
}

// config returns the configuration of a listener for a host; nil = plain HTTP.
func (t *mockTLS) config(host string) (*tls.Config, error) {
	switch {
	case *t == mockTLS{}:
		return nil, nil
	case t.selfSigned != "" && t.cert+t.key != "":
		return nil, errors.New("--tls-self-signed cannot be combined with --tls-cert and --tls-key")
	case t.cert == "":
		if t.selfSigned != "" {
			break
		}
		return nil, errors.New("--tls-key needs --tls-cert")
	case t.key == "":
		return nil, errors.New("--tls-cert needs --tls-key")
	}
	pair, err := t.pair(host)
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}, nil
}

func (t *mockTLS) pair(host string) (tls.Certificate, error) {
	if t.selfSigned == "" {
		pair, err := tls.LoadX509KeyPair(t.cert, t.key)
		if err != nil {
			err = fmt.Errorf("load certificate: %w", err)
		}
		return pair, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make key: %w", err)
	}
	const validity = 365 * 24 * time.Hour
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "aiperfd mock"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validity),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA: true, BasicConstraintsValid: true,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = append(template.IPAddresses, ip)
	} else if host != "" {
		template.DNSNames = append(template.DNSNames, host)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make certificate: %w", err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(t.selfSigned, text, 0o644); err != nil {
		return tls.Certificate{}, fmt.Errorf("write certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
