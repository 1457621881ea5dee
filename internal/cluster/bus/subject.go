package bus

import (
	"slices"
	"strings"
)

// The subjects that all workers share. The controller has subscribed to them.
const (
	Join  = "aiperfd.join"  // asks to become a member
	Clock = "aiperfd.clock" // asks for the time
)

// AllWorkers is what a controller subscribes to for the messages of all workers, see [FromWorker].
const AllWorkers = "aiperfd.v1.*.out.>"

// FromWorker returns the subject of a kind of messages that a worker sends.
func FromWorker(id, kind string) string { return "aiperfd.v1." + id + ".out." + kind }

// ToWorker returns the subject of a kind of messages that a worker receives.
func ToWorker(id, kind string) string { return "aiperfd.v1." + id + ".in." + kind }

// Sender returns the instance id of the worker that has sent a message to a subject of [FromWorker], and the kind. A
// bus lets nobody else send there. ok = false if it is another subject.
func Sender(subject string) (id, kind string, ok bool) {
	rest, ok := strings.CutPrefix(subject, "aiperfd.v1.")
	if !ok {
		return "", "", false
	}
	id, rest, _ = strings.Cut(rest, ".")
	kind, ok = strings.CutPrefix(rest, "out.")
	return id, kind, ok && ValidID(id) && kind != ""
}

// ValidID reports whether a text can be the id of an instance of a worker: 16 to 64 lower-case letters or digits.
func ValidID(id string) bool {
	return len(id) >= 16 && len(id) <= 64 && Consists(id, "") && id == strings.ToLower(id)
}

// ValidName reports whether bulk data can have a name.
func ValidName(name string) bool { return name != "" && len(name) <= 128 && Consists(name, "._-") }

// Consists reports whether a text has nothing but ASCII letters, digits, and characters of a list. It is no regular
// expression, because compiling one costs every start of the program more than the rest of this package.
func Consists(text, others string) bool {
	for _, c := range []byte(text) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9') && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return true
}

// Permissions say what a connection may do.
type Permissions struct {
	Publish   []string // subjects that it may send to, with wildcards
	Subscribe []string // subjects that it may receive; one with wildcards includes narrower ones
	Put       bool     // bulk data; everybody may get it
}

// Everything returns the permissions of a controller.
func Everything() Permissions {
	return Permissions{Publish: []string{">"}, Subscribe: []string{">"}, Put: true}
}

// OfWorker returns the permissions of a worker. It may also answer what it is asked.
func OfWorker(id string) Permissions {
	return Permissions{
		Publish:   []string{FromWorker(id, ">"), Join, Clock},
		Subscribe: []string{ToWorker(id, ">")},
	}
}

// MayPublish reports whether the permissions allow to send to a subject.
func (p *Permissions) MayPublish(subject string) bool { return covered(p.Publish, subject) }

// MaySubscribe reports whether the permissions allow to subscribe to a subject.
func (p *Permissions) MaySubscribe(subject string) bool { return covered(p.Subscribe, subject) }

func covered(patterns []string, subject string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return Matches(pattern, subject) })
}

// Matches reports whether a pattern includes a subject, or all subjects of a narrower pattern.
func Matches(pattern, subject string) bool {
	for {
		first, patterns, more := strings.Cut(pattern, ".")
		token, tokens, also := strings.Cut(subject, ".")
		switch {
		case first == ">":
			return true
		case token == ">", first != "*" && first != token:
			return false
		case !more || !also:
			return more == also
		}
		pattern, subject = patterns, tokens
	}
}

// CheckSubject returns an error if a subject is not one to send to, or to subscribe to if it may have wildcards.
func CheckSubject(subject string, wildcards bool) error {
	tokens := strings.Split(subject, ".")
	for i, token := range tokens {
		wild := token == "*" || token == ">" && i == len(tokens)-1
		if token == "" || wild && !wildcards || !wild && strings.ContainsAny(token, "*> \t\r\n\x00") {
			return ErrSubject
		}
	}
	return nil
}
