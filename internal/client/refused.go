package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// Refused reports whether nobody listens at the address of the server.
func Refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// UnknownHost reports whether the name of the server does not exist.
func UnknownHost(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}

// UnknownAuthority reports whether no known authority has signed the certificate of the
// server.
func UnknownAuthority(err error) bool {
	var unknown x509.UnknownAuthorityError
	return errors.As(err, &unknown)
}

// PlainServer reports whether the server does not use TLS, although its URL says https.
func PlainServer(err error) bool {
	var record tls.RecordHeaderError
	return errors.As(err, &record) || strings.Contains(errorText(err), http.ErrSchemeMismatch.Error())
}

// TLSServer reports whether the server needs https.
func TLSServer(err error) bool {
	var p *Problem
	return errors.As(err, &p) && p.Name == "" && p.Status == http.StatusBadRequest
}

// untrusted reports whether the certificate of the server is not accepted.
func untrusted(err error) bool {
	var invalid *tls.CertificateVerificationError
	return errors.As(err, &invalid) || PlainServer(err)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
