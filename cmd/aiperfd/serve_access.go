package main

import (
	"os"
	"path/filepath"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"aiperfd/internal/api/access"
)

// accessFlags are the flags of the daemon that say who may use its API.
type accessFlags struct {
	tokenFile, cert, key    string
	insecure, metricsPublic bool
	origins                 []string
}

// add adds the flags to those of the command.
func (f *accessFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.tokenFile, "token-file", "", "`file` with the hashes of bearer tokens; aiperfd token edits it. Callers need a token")
	fs.BoolVar(&f.insecure, "insecure-no-auth", false, "allow other machines to use the API without a token")
	fs.BoolVar(&f.metricsPublic, "metrics-public", false, "allow /metrics without a token")
	fs.StringVar(&f.cert, "tls-cert", "", "serve HTTPS with the certificate in this PEM `file`; needs --tls-key")
	fs.StringVar(&f.key, "tls-key", "", "PEM `file` with the key of the certificate")
	fs.StringSliceVar(&f.origins, "cors-origin", nil, "`origin` of web pages that may use the API, such as https://dashboard.example, or * (repeatable)")
}

// open reads the files and returns the guard of a daemon on a host.
func (f *accessFlags) open(host, dataDir string, log zerolog.Logger) (*access.Guard, error) {
	if len(f.origins) == 0 {
		var err error
		if f.origins, err = access.OriginsFromEnv(os.LookupEnv); err != nil {
			return nil, err
		}
	}
	return access.New(access.Options{
		Host: host, TokenFile: f.tokenFile, Insecure: f.insecure, MetricsPublic: f.metricsPublic, Origins: f.origins,
		Cert: f.cert, Key: f.key, AuditFile: filepath.Join(dataDir, "audit.jsonl"), Log: log,
	})
}
