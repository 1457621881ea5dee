package access

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"os"
	"sync/atomic"
)

// certificate is the certificate of a listener.
type certificate struct {
	pair atomic.Pointer[tls.Certificate]
}

// separator is between the two files of a pair. PEM files contain no such byte.
const separator = "\x00"

// readPair reads a certificate and its key.
func readPair(cert, key string) ([]byte, error) {
	first, err := os.ReadFile(cert)
	if err != nil {
		return nil, fmt.Errorf("read TLS certificate: %w", err)
	}
	second, err := os.ReadFile(key)
	if err != nil {
		return nil, fmt.Errorf("read TLS key: %w", err)
	}
	return bytes.Join([][]byte{first, second}, []byte(separator)), nil
}

// load replaces the certificate by what readPair has read.
func (c *certificate) load(text []byte) error {
	cert, key, _ := bytes.Cut(text, []byte(separator))
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("load TLS certificate: %w", err)
	}
	c.pair.Store(&pair)
	return nil
}
