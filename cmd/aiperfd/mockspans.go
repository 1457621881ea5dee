package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/rs/zerolog"
)

// spanTimeout is how long a request with spans may take.
const spanTimeout = 10 * time.Second

// spanSender returns a function that sends spans to a URL; without a path, to that of OTLP/HTTP. What is not taken is
// logged and lost.
func spanSender(to string, log zerolog.Logger) (func(payload []byte), error) {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("--otlp-traces-endpoint %q: want an http or https URL", to)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	client := &http.Client{Timeout: spanTimeout}
	return func(payload []byte) {
		if err := postSpans(client, u.String(), payload); err != nil {
			log.Warn().Err(err).Msg("spans are lost")
		}
	}, nil
}

// postSpans sends one request of OTLP/HTTP.
func postSpans(client *http.Client, to string, payload []byte) error {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, to, bytes.NewReader(payload))
	if err != nil {
		return fmt.Errorf("make the request: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("send spans: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("send spans: HTTP %s", resp.Status)
	}
	return nil
}
