//go:build !nobus

package broker

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"aiperfd/internal/cluster/bus"
)

// A connection needs a token, and gets the place that the token pays for.
func TestTokens(t *testing.T) {
	s := listen(t, nil)
	connect := func(id, token string) error {
		b, err := Connect(t.Context(), Options{URL: s.URL(), ID: id, Token: token})
		if err == nil {
			t.Cleanup(b.Close)
		}
		return err
	}
	third := strings.Repeat("3", 16)
	wantErr(t, "wrong token", connect(first, "aiperfd_WRONG"), ErrRefused)
	if err := connect(first, token); err != nil {
		t.Fatal(err)
	}
	wantErr(t, "another token with the same instance id", connect(first, foreign), ErrRefused)
	if err := connect(first, token); err != nil {
		t.Errorf("the same worker again, whose first connection is not yet gone: %v", err)
	}
	b := join(t, s, second)
	wantErr(t, "a third worker with a token for two", connect(third, token), ErrRefused)
	b.Close()
	eventually(t, "the place of a worker that is gone is free", func() bool { return connect(third, token) == nil })

	for name, option := range map[string]nats.Option{
		"no credentials":                       nats.Name(""),
		"a token instead of user and password": nats.Token(token),
		"the controller with a worker's token": nats.UserInfo(controller, token),
		"the controller without a password":    nats.UserInfo(controller, ""),
		"an instance id with a wildcard":       nats.UserInfo("0123456789abcde*", token),
		"an instance id of two words":          nats.UserInfo("01234567.9abcdef", token),
	} {
		if c, err := nats.Connect(s.URL(), option); !errors.Is(err, nats.ErrAuthorization) {
			c.Close()
			t.Errorf("%s: %v, want %v", name, err, nats.ErrAuthorization)
		}
	}
}

// raw is a connection of a worker that keeps no rules of its own.
func raw(t *testing.T, s *Server) (c *nats.Conn, refusals chan string) {
	t.Helper()
	refusals = make(chan string, 100) // more than a test causes
	c, err := nats.Connect(s.URL(), nats.UserInfo(first, token), nats.CustomInboxPrefix(inboxOf("", first)),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refusals <- err.Error() }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, refusals
}

// A worker whose code is foreign can speak for nobody else, hears nothing that is not meant for it, and manages no
// bulk data.
func TestForeignSubjects(t *testing.T) {
	s := listen(t, nil)
	controller := connected(t)(s.Connect(t.Context()))
	if err := controller.Put(t.Context(), "data", strings.NewReader("text")); err != nil {
		t.Fatal(err)
	}
	everything := collect(t, controller, ">")
	c, refusals := raw(t, s)
	bucket := bucketOf("")
	for _, subject := range []string{
		bus.FromWorker(second, "snapshot"), bus.ToWorker(second, "stop"), bus.ToWorker(first, "stop"), "aiperfd.v1.x", "other",
		inboxOf("", "controller") + ".x", inboxOf("", second) + ".x",
		"$O." + bucket + ".M.ZGF0YQ==", "$O." + bucket + ".C.x", "$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.PING.CONNZ",
		"$JS.API.INFO", "$JS.API.STREAM.LIST", "$JS.API.STREAM.CREATE.x", "$JS.API.STREAM.INFO.OBJ_" + bucket,
		"$JS.API.STREAM.DELETE.OBJ_" + bucket, "$JS.API.STREAM.PURGE.OBJ_" + bucket, "$JS.API.STREAM.RESTORE.x",
		"$JS.API.STREAM.SNAPSHOT.OBJ_" + bucket, "$JS.API.STREAM.MSG.DELETE.OBJ_" + bucket,
		"$JS.API.CONSUMER.CREATE.OBJ_" + bucket, "$JS.API.CONSUMER.LIST.OBJ_" + bucket, "$JS.API.DIRECT.GET.OBJ_other",
	} {
		if err := c.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
		if why := next(t, refusals); !strings.Contains(why, fmt.Sprintf("Publish to %q", subject)) {
			t.Errorf("publish to %s: %s", subject, why)
		}
	}
	for _, subject := range []string{
		">", "aiperfd.>", bus.AllWorkers, "aiperfd.v1.*.in.>", bus.ToWorker(second, ">"), bus.Join, bus.Clock,
		"_INBOX.>", inboxOf("", "controller") + ".>", inboxOf("", "*") + ".>", "$SYS.>", "$JS.>", "$O.>",
	} {
		if _, err := c.Subscribe(subject, func(*nats.Msg) {}); err != nil {
			t.Fatal(err)
		}
		if why := next(t, refusals); !strings.Contains(why, fmt.Sprintf("Subscription to %q", subject)) {
			t.Errorf("subscribe to %s: %s", subject, why)
		}
		if _, err := c.QueueSubscribe(subject, "queue", func(*nats.Msg) {}); err != nil {
			t.Fatal(err)
		}
		if why := next(t, refusals); !strings.Contains(why, "Permissions Violation for Subscription") {
			t.Errorf("subscribe to %s with a queue: %s", subject, why)
		}
	}
	// What it may send arrives, and is the first that does.
	if err := c.Publish(bus.FromWorker(first, "snapshot"), []byte("own")); err != nil {
		t.Fatal(err)
	}
	if got, want := next(t, everything), bus.FromWorker(first, "snapshot")+" own"; got != want {
		t.Errorf("the controller has received %q, want %q", got, want)
	}
}

// Who asks may not choose to whom the controller or the object store speaks.
func TestRedirectedAnswers(t *testing.T) {
	s := listen(t, nil)
	controller := connected(t)(s.Connect(t.Context()))
	answered := make(chan struct{}, 1)
	subscribe(t, controller, bus.Join, func(m bus.Message) {
		m.Reply([]byte("answer"))
		answered <- struct{}{}
	})
	if err := controller.Put(t.Context(), "data", strings.NewReader("text")); err != nil {
		t.Fatal(err)
	}
	victim := join(t, s, second)
	got := collect(t, victim, bus.ToWorker(second, ">"))
	c, _ := raw(t, s)
	target := bus.ToWorker(second, "stop")
	if err := c.PublishRequest(bus.Join, target, nil); err != nil {
		t.Fatal(err)
	}
	<-answered
	if err := c.PublishRequest(directGet(bucketOf("")), target, []byte(`{"seq":1}`)); err != nil {
		t.Fatal(err)
	}
	// Its own read comes after that, on the same connection.
	if _, err := c.Request(directGet(bucketOf("")), []byte(`{"seq":1}`), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	send(t, controller, target, "last")
	if text := next(t, got); text != target+" last" {
		t.Errorf("the other worker has received %q", text)
	}
}

// The server ends a connection that sends more than a message may have.
func TestTooLarge(t *testing.T) {
	s := listen(t, nil)
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(c, "CONNECT {\"user\":%q,\"pass\":%q,\"verbose\":false}\r\nPUB %s %d\r\n", first, token, bus.Join, 2*bus.MaxPayload)
	go io.Copy(c, bytes.NewReader(make([]byte, 2*bus.MaxPayload)))
	text, _ := io.ReadAll(bufio.NewReader(c)) // the connection may be reset
	if !strings.Contains(string(text), "Maximum Payload Violation") {
		t.Errorf("the server says %q", text)
	}
}

// There is no listener but the one that was asked for.
func TestOneListener(t *testing.T) {
	s := listen(t, nil)
	if s.nats.MonitorAddr() != nil || s.nats.ClusterAddr() != nil || s.nats.ProfilerAddr() != nil {
		t.Error("there is a listener for monitoring, routes or profiles")
	}
	v, err := s.nats.Varz(nil)
	if err != nil {
		t.Fatal(err)
	}
	if v.LeafNode.Port != 0 || v.Gateway.Port != 0 || v.MQTT.Port != 0 || v.Websocket.Port != 0 || v.Cluster.Port != 0 || v.HTTPPort != 0 {
		t.Errorf("ports: %+v", v)
	}
}

// What other machines can reach needs TLS, unless it is given up explicitly.
func TestExposed(t *testing.T) {
	for _, host := range []string{"0.0.0.0", "", "::", "192.0.2.1", "example.com"} {
		o := ServerOptions{Listen: net.JoinHostPort(host, "0"), Authenticate: authenticate}
		_, err := o.nats()
		wantErr(t, "listen on "+host, err, ErrExposed)
		o.Insecure = true
		if _, err := o.nats(); err != nil {
			t.Errorf("listen on %q, insecure: %v", host, err)
		}
	}
	secure := func(o Options) bool {
		o.ID, o.Token = first, token
		options, err := o.nats()
		if err != nil {
			t.Fatal(err)
		}
		var out nats.Options
		for _, set := range options {
			if err := set(&out); err != nil {
				t.Fatal(err)
			}
		}
		return out.Secure
	}
	for _, tt := range []struct {
		o    Options
		want bool
	}{
		{Options{URL: "nats://127.0.0.1:4222"}, false},
		{Options{URL: "nats://localhost:4222"}, false},
		{Options{URL: "tls://127.0.0.1:4222"}, true},
		{Options{URL: "nats://192.0.2.1:4222"}, true},
		{Options{URL: "nats://example.com:4222"}, true},
		{Options{URL: "nats://example.com:4222", Insecure: true}, false},
		{Options{URL: "tls://example.com:4222", Insecure: true}, true},
	} {
		if got := secure(tt.o); got != tt.want {
			t.Errorf("%+v: TLS %v, want %v", tt.o, got, tt.want)
		}
	}
}

// Options that cannot work are refused with what is accepted, and without a password.
func TestOptions(t *testing.T) {
	valid := Options{URL: "nats://127.0.0.1:1", ID: first, Token: token}
	for name, change := range map[string]func(*Options){
		"no URL":              func(o *Options) { o.URL = "" },
		"another scheme":      func(o *Options) { o.URL = "http://127.0.0.1:1" },
		"a password":          func(o *Options) { o.URL = "nats://user:" + token + "@127.0.0.1:1" },
		"no token":            func(o *Options) { o.Token = "" },
		"both":                func(o *Options) { o.Creds = "file" },
		"no id":               func(o *Options) { o.ID = "" },
		"a wildcard":          func(o *Options) { o.Prefix = "team.>" },
		"controller by token": func(o *Options) { o.Controller = true },
		"no such credentials": func(o *Options) { o.Token, o.Creds = "", filepath.Join(t.TempDir(), "none") },
		"half a certificate":  func(o *Options) { o.URL, o.Cert = "tls://127.0.0.1:1", "cert.pem" },
		"no such authorities": func(o *Options) { o.URL, o.CA = "tls://127.0.0.1:1", filepath.Join(t.TempDir(), "none") },
	} {
		o := valid
		change(&o)
		if _, err := o.nats(); err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// authority signs certificates for tests.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, key: must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), file: filepath.Join(t.TempDir(), "ca.pem")}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der := must(x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key))
	a.cert = must(x509.ParseCertificate(der))
	write(t, a.file, "CERTIFICATE", der)
	return a
}

func write(t *testing.T, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// sign writes a certificate for 127.0.0.1, and its key.
func (a *authority) sign(cert, key string, expires time.Time) {
	a.t.Helper()
	pair := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: expires.Add(-24 * time.Hour), NotAfter: expires, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	write(a.t, cert, "CERTIFICATE", must(x509.CreateCertificate(rand.Reader, template, a.cert, &pair.PublicKey, a.key)))
	write(a.t, key, "PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(pair)))
}

// Certificates must be valid on both sides; the server reads its own again for each connection.
func TestCertificates(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	later, before := time.Now().Add(time.Hour), time.Now().Add(-time.Minute)
	a.sign(at("server.pem"), at("server.key"), later)
	a.sign(at("client.pem"), at("client.key"), later)
	a.sign(at("old.pem"), at("old.key"), before)
	other.sign(at("other.pem"), at("other.key"), later)
	s := listen(t, func(o *ServerOptions) {
		o.Cert, o.Key, o.ClientCA = at("server.pem"), at("server.key"), a.file
	})
	if !strings.HasPrefix(s.URL(), "tls://") {
		t.Errorf("URL %s", s.URL())
	}
	connect := func(change func(*Options)) error {
		o := Options{URL: s.URL(), ID: first, Token: token, CA: a.file, Cert: at("client.pem"), Key: at("client.key")}
		if change != nil {
			change(&o)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		b, err := Connect(ctx, o)
		if err == nil {
			b.Close()
		}
		return err
	}
	if err := connect(nil); err != nil {
		t.Fatalf("valid certificates: %v", err)
	}
	b := connected(t)(s.Connect(t.Context())) // within the process: without TLS
	answer(t, b, bus.Join)
	refusals := []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"an expired client", func(o *Options) { o.Cert, o.Key = at("old.pem"), at("old.key") }, "expired"},
		{"a client of another authority", func(o *Options) { o.Cert, o.Key = at("other.pem"), at("other.key") }, "unknown certificate authority"},
		{"a client without a certificate", func(o *Options) { o.Cert, o.Key = "", "" }, "certificate required"},
		{"a server of another authority", func(o *Options) { o.CA = other.file }, "unknown authority"},
	}
	for _, tt := range refusals {
		err := connect(tt.change)
		if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want %q at once", tt.name, err, tt.want)
		}
	}
	wantErr(t, "a wrong token over TLS", connect(func(o *Options) { o.Token = "aiperfd_WRONG" }), ErrRefused)

	a.sign(at("server.pem"), at("server.key"), before)
	if err := connect(nil); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("an expired server: %v", err)
	}
	write(t, at("server.key"), "PRIVATE KEY", []byte("half")) // the last good pair stays
	if err := connect(nil); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("a key that cannot be read: %v", err)
	}
	a.sign(at("server.pem"), at("server.key"), later)
	if err := connect(nil); err != nil {
		t.Errorf("a new certificate: %v", err)
	}
}
