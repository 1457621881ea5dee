package memnet

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestStreamInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := Listen()
		srv := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for i := range 3 {
				time.Sleep(time.Second)
				fmt.Fprintf(w, "%d\n", i)
				w.(http.Flusher).Flush()
			}
		})}
		go srv.Serve(ln)
		defer srv.Close()
		tr := &http.Transport{DialContext: ln.DialContext}
		defer tr.CloseIdleConnections()
		start := time.Now()
		resp, err := (&http.Client{Transport: tr}).Get("http://mem/")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var got []time.Duration
		for sc := bufio.NewScanner(resp.Body); sc.Scan(); {
			got = append(got, time.Since(start))
		}
		if want := "[1s 2s 3s]"; fmt.Sprint(got) != want {
			t.Errorf("lines arrived at %v, want %v", got, want)
		}
	})
}

func TestConnEnds(t *testing.T) {
	tests := []struct {
		name string
		end  func(*Conn)
		want string // what the peer reads
		err  error
	}{
		{"close lets the peer read what is buffered", func(c *Conn) { c.Close() }, "data", nil},
		{"reset drops what is buffered", func(c *Conn) { c.Reset() }, "", syscall.ECONNRESET},
		{"linger 0 is a reset", func(c *Conn) { c.SetLinger(0); c.Close() }, "", syscall.ECONNRESET},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, b := Pipe()
			io.WriteString(a, "data")
			tt.end(a)
			got, err := io.ReadAll(b)
			if string(got) != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("ReadAll = %q, %v; want %q, %v", got, err, tt.want, tt.err)
			}
			if _, err := io.WriteString(b, "x"); err == nil {
				t.Error("Write to a closed peer succeeded")
			}
		})
	}
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := Pipe()
		a.SetReadDeadline(time.Now().Add(time.Minute))
		start := time.Now()
		_, err := a.Read(make([]byte, 1))
		if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("Read = %v after %v, want deadline exceeded after 1m", err, time.Since(start))
		}
	})
}

func TestWriteWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe()
		go func() {
			time.Sleep(time.Hour)
			io.Copy(io.Discard, b)
		}()
		start := time.Now()
		if _, err := io.WriteString(a, strings.Repeat("x", bufferSize+1)); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(start); got != time.Hour {
			t.Errorf("Write took %v, want 1h", got)
		}
		a.Close()
	})
}

func TestDialAfterClose(t *testing.T) {
	ln := Listen()
	ln.Close()
	if _, err := ln.Dial(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("Dial = %v, want connection refused", err)
	}
}
