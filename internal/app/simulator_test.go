package app

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"aiperfd/internal/engine/allow"
)

// All clients get the same server; where runs must not reach it, none is started.
func TestSimulator(t *testing.T) {
	s := &simulator{targets: allow.New(allow.Options{Open: true})}
	first, err := s.get()
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.get()
	if err != nil || again != first {
		t.Errorf("second = %v, %v, want %v", again, err, first)
	}
	answer, err := http.Get(first.URL + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("GET /v1/models = %s", answer.Status)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
	if _, err := http.Get(first.URL); err == nil {
		t.Error("the server answers after close")
	}

	closed := &simulator{targets: allow.New(allow.Options{})}
	_, err = closed.get()
	if denied, ok := errors.AsType[*allow.Denied](err); !ok || !strings.Contains(denied.Error(), "--allow-target") {
		t.Errorf("get = %v, want a denied target", err)
	}
	if closed.at != "" || closed.close() != nil {
		t.Error("a server that is not allowed was kept")
	}
}
