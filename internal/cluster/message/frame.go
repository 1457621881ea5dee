package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"aiperfd/internal/cluster/bus"
)

// Version is the version of all messages. It changes with them: both sides must have the same.
const Version = 1

// Message is one of the messages. Its form in bytes is a line with the version, the kind and the size of the head, the
// head, which is JSON, and, of some kinds, a body of plain bytes.
type Message interface {
	kind() kind
	check() error // what JSON cannot say
}

// kind is a kind of messages.
type kind struct {
	name string
	most int // bytes of a message
}

// bodied is a message with a body.
type bodied interface {
	Message
	body() *[]byte
}

// maxLine is the size of the line before the head, in bytes.
const maxLine = 64

// Encode returns the bytes of a message, or what is wrong with it.
func Encode(m Message) ([]byte, error) {
	k := m.kind()
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("encode a message %s: %w", k.name, err)
	}
	head, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode a message %s: %w", k.name, err)
	}
	out := fmt.Appendf(nil, "%d %s %d\n", Version, k.name, len(head))
	out = append(out, head...)
	if b, ok := m.(bodied); ok {
		out = append(out, *b.body()...)
	}
	if err := k.fits(len(out)); err != nil {
		return nil, fmt.Errorf("encode a message %s: %w", k.name, err)
	}
	return out, nil
}

// Decode reads the bytes of a message of the kind of m into m, which must be zero. What it allocates is bounded by the
// limits of the kind. The body of m is a part of payload. A [*Refusal] in place of an answer is returned as the error.
func Decode(payload []byte, m Message) error {
	if err := decode(payload, m); err != nil {
		if refused := new(Refusal); decode(payload, refused) == nil {
			return refused
		}
		return fmt.Errorf("decode a message %s: %w", m.kind().name, err)
	}
	return nil
}

func decode(payload []byte, m Message) error {
	k := m.kind()
	if err := k.fits(len(payload)); err != nil {
		return err
	}
	line, _, ok := bytes.Cut(payload[:min(len(payload), maxLine)], []byte("\n"))
	words := strings.Split(string(line), " ")
	if !ok || len(words) != 3 {
		return errors.New("it does not begin with a version, a kind and a size")
	}
	rest := payload[len(line)+1:]
	size, err := strconv.Atoi(words[2])
	switch {
	case words[0] != strconv.Itoa(Version):
		return fmt.Errorf("version %q: this program speaks version %d", words[0], Version)
	case words[1] != k.name:
		return fmt.Errorf("kind %q: %s is expected", words[1], k.name)
	case err != nil || size < 0 || size > len(rest):
		return fmt.Errorf("size %q: what follows has %d bytes", words[2], len(rest))
	}
	if err := decodeStrictly(rest[:size], m); err != nil {
		return err
	}
	if b, ok := m.(bodied); ok {
		*b.body() = rest[size:]
	} else if size < len(rest) {
		return fmt.Errorf("%d bytes follow its end", len(rest)-size)
	}
	return m.check()
}

// fits returns an error if a message has too many bytes for its kind.
func (k kind) fits(size int) error {
	if size > k.most {
		return fmt.Errorf("%w: it has %d bytes; at most %d are accepted", bus.ErrTooLarge, size, k.most)
	}
	return nil
}

// decodeStrictly reads a JSON object without fields that nobody knows.
func decodeStrictly(data []byte, to any) error {
	if !bytes.HasPrefix(data, []byte("{")) {
		return errors.New("its head is not an object")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("its head goes on after its end")
	}
	return nil
}

// decodeList reads a JSON array of at most a number of objects, strictly. A list is bounded while it is read, because a
// short text can have a large one: [{},{},…].
func decodeList[T any](data []byte, most int, what string) (out []T, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	switch first, err := d.Token(); {
	case err != nil:
		return nil, err
	case first == nil: // null
		return nil, nil
	case first != json.Delim('['):
		return nil, fmt.Errorf("%s: must be a list", what)
	}
	for d.More() {
		if len(out) == most {
			return nil, fmt.Errorf("%s: at most %d are accepted", what, most)
		}
		var one T
		if err := d.Decode(&one); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		out = append(out, one)
	}
	return out, nil
}

// Refusal answers a message that its receiver cannot read. It is the error of [Decode] for who has sent that.
type Refusal struct {
	Problem string `json:"problem"`
}

// Error implements error.
func (r *Refusal) Error() string { return "the other side refuses the message: " + r.Problem }

// Refuse answers a message that could not be read.
func Refuse(m bus.Message, why error) {
	Reply(m, &Refusal{Problem: shortened(why.Error())})
}

// Reply answers a message. Who does not get the answer asks again.
func Reply(m bus.Message, answer Message) {
	data, err := Encode(answer)
	if err != nil {
		data, err = Encode(&Refusal{Problem: shortened(err.Error())})
	}
	if err == nil {
		_ = m.Reply(data)
	}
}
