// Package access decides who may use the API: bearer tokens with scopes (RFC 6750),
// sessions of browsers, the origins of web pages, and the certificate of the listener.
// It also keeps the audit log. Files are read again when they change.
package access

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// Scope is what a token permits. Each scope from Read on includes those before it,
// but for Worker, which is beside them. The zero Scope permits nothing.
type Scope uint8

// The scopes.
const (
	Open   Scope = iota + 1 // what everybody may do, without a token
	Worker                  // join as a worker; of the API what everybody may do
	Read                    // see runs, results and metrics
	Submit                  // start runs; cancel and delete runs that the token has started
	Admin                   // cancel and delete all runs, and shut down
)

// Scopes returns the scopes that a token may have for the API, the smallest first.
func Scopes() []Scope { return []Scope{Read, Submit, Admin} }

// String returns the name of the scope in token files.
func (s Scope) String() string {
	switch s {
	case Open:
		return "open"
	case Worker:
		return "worker"
	case Read:
		return "read"
	case Submit:
		return "submit"
	case Admin:
		return "admin"
	}
	return "none"
}

// ParseScope returns the scope of a name.
func ParseScope(name string) (Scope, error) {
	for _, s := range append(Scopes(), Worker) {
		if s.String() == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("scope %q: must be read, submit, admin or worker", name)
}

// Identity is who sent a request, and what it may do. The zero Identity may do
// nothing.
type Identity struct {
	Name string // of the token; empty = unknown

	scope   Scope
	token   digest // zero = none
	session digest // zero = the request has no valid cookie
	refused bool   // the request has an Authorization header that is not valid
}

// The reasons of a [Refusal].
var (
	ErrUnauthorized = errors.New("unauthorized")       // no valid token
	ErrScope        = errors.New("insufficient scope") // the token does not permit the request
)

// Refusal is the error of a request that is not permitted.
type Refusal struct {
	Reason    error  // ErrUnauthorized or ErrScope
	Detail    string // for people
	Challenge string // value of the header WWW-Authenticate
}

// Error implements error.
func (r *Refusal) Error() string { return r.Reason.Error() + ": " + r.Detail }

// Unwrap returns the reason.
func (r *Refusal) Unwrap() error { return r.Reason }

const challenge = `Bearer realm="aiperfd"`

// Admit returns nil if the identity has a scope, else a *Refusal.
func (id Identity) Admit(s Scope) error {
	switch {
	case s != 0 && s <= id.scope:
		return nil
	case id.refused:
		return &Refusal{ErrUnauthorized, "The header Authorization does not contain one valid bearer token", challenge + `, error="invalid_token"`}
	case id.scope <= Open:
		return &Refusal{ErrUnauthorized, "A bearer token is required", challenge}
	}
	return &Refusal{
		ErrScope, fmt.Sprintf("The scope %s is required; the caller has the scope %s", s, id.scope),
		fmt.Sprintf(`%s, error="insufficient_scope", scope="%s"`, challenge, s),
	}
}

// AdmitOwner returns nil if the identity may cancel or delete a run, or remove a revision of a
// baseline, that a token has submitted: with the scope admin any, with the scope submit those of the
// same token.
func (id Identity) AdmitOwner(submittedBy string) error {
	if id.scope == Submit && id.Name != "" && id.Name == submittedBy {
		return nil
	}
	err := id.Admit(Admin)
	var refusal *Refusal
	if errors.As(err, &refusal) && errors.Is(err, ErrScope) {
		refusal.Detail += "; the scope submit is enough for what the same token has submitted"
	}
	return err
}

// Scope returns what the identity may do.
func (id Identity) Scope() Scope { return id.scope }

// InSession reports whether the request had the cookie of a session.
func (id Identity) InSession() bool { return id.session != digest{} }

// Bearer reports whether the request had a valid bearer token of its own.
func (id Identity) Bearer() bool { return id.token != digest{} && id.session == digest{} }

// key is the key of the identity in a context.
type key struct{}

// Of returns the identity of the request of a context. It is the zero Identity
// outside [Guard.Identify].
func Of(ctx context.Context) Identity {
	id, _ := ctx.Value(key{}).(Identity)
	return id
}

// Caller returns the name of the token of the request of a context; empty = unknown.
func Caller(ctx context.Context) string { return Of(ctx).Name }

// Loopback reports whether only this machine can reach a listener on a host.
func Loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
