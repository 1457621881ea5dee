package main

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"
)

// What libraries log about servers does not reach the terminal: a server decides how much
// of it there is, and what its text says.
func TestLibrariesAreQuiet(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			group.Go(func() { answerWithUnknownFrames(c) })
		}
	})
	screen := string(runCommand(t, t.TempDir(), []string{
		"profile", "--url", "http://" + ln.Addr().String(), "--http-version", "h2c", "--model", "m", "--tokenizer", "builtin",
		"--endpoint-type", "embeddings", "--request-count", "1", "--isl", "2", "--ui", "none",
	}))
	ln.Close()
	group.Wait()
	if strings.Contains(screen, "unhandled response frame") || !strings.Contains(screen, "Error Summary") && !strings.Contains(screen, "HTTP 500") {
		t.Errorf("screen: %s", screen)
	}
}

// answerWithUnknownFrames answers every request on a connection of HTTP/2 with a frame of an
// unknown type and status 500.
func answerWithUnknownFrames(c net.Conn) {
	defer c.Close()
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	w := http2.NewFramer(c, c)
	if w.WriteSettings() != nil {
		return
	}
	for {
		f, err := w.ReadFrame()
		if err != nil {
			return
		}
		if f.Header().Type != http2.FrameHeaders {
			continue
		}
		if w.WriteRawFrame(0xbe, 0, 0, nil) != nil {
			return
		}
		const status500 = 0x8e // an indexed field of HPACK's table
		if w.WriteHeaders(http2.HeadersFrameParam{StreamID: f.Header().StreamID, BlockFragment: []byte{status500}, EndHeaders: true, EndStream: true}) != nil {
			return
		}
	}
}
