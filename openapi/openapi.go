// Package openapi holds the OpenAPI 3.0.3 document of the HTTP API. The document
// is made from the annotations of the handlers by `go run ./openapi/gen`.
package openapi

import _ "embed"

// JSON is the document. It must not be changed.
//
//go:embed openapi.json
var JSON []byte
