// Package testcert makes certificates for tests: an authority, and a certificate
// of it for a server or a client.
package testcert

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Made is an authority and a certificate of it, also as PEM files in a folder of
// the test. Each Made has an authority of its own.
type Made struct {
	CAFile, CertFile, KeyFile string
	Pool                      *x509.CertPool // of the authority
	Pair                      tls.Certificate
}

// New makes a certificate for hosts (names or IP addresses), good for servers
// and clients, valid for an hour before and after now.
func New(t testing.TB, hosts ...string) *Made {
	t.Helper()
	authority := template(1, "test authority")
	authority.IsCA, authority.BasicConstraintsValid, authority.KeyUsage = true, true, x509.KeyUsageCertSign
	caKey, key := newKey(t), newKey(t)
	caDER, err := x509.CreateCertificate(rand.Reader, authority, authority, &caKey.PublicKey, caKey)
	if err != nil {
		t.Fatal(err)
	}
	leaf := template(2, "test certificate")
	leaf.KeyUsage = x509.KeyUsageDigitalSignature
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, authority, &key.PublicKey, caKey)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	m := &Made{
		CAFile:   write(t, dir, "ca.pem", "CERTIFICATE", caDER),
		CertFile: write(t, dir, "cert.pem", "CERTIFICATE", der),
		KeyFile:  write(t, dir, "key.pem", "PRIVATE KEY", keyDER),
		Pool:     x509.NewCertPool(),
		Pair:     tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
	}
	ca, err := x509.ParseCertificate(caDER)
	if err != nil {
		t.Fatal(err)
	}
	m.Pool.AddCert(ca)
	return m
}

func template(serial int64, name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func write(t testing.TB, dir, name, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
