package api

import (
	"net/http"
	"path"
	"sync"

	"github.com/go-chi/chi/v5"

	"aiperfd/internal/api/respond"
	"aiperfd/openapi"
	"aiperfd/web"
)

// pages handles the routes of the embedded pages and documents.
type pages struct{ out *respond.Responder }

// getDocument serves the API document.
//
//	@Summary	Get this document
//	@Tags		service
//	@Success	200	{object}	object
//	@Router		/openapi.json [get]
func (p pages) getDocument(w http.ResponseWriter, r *http.Request) error {
	return p.sendDocument(w, r, "application/json", openapi.JSON, nil)
}

// documentYAML serves the API document as YAML.
//
//	@Summary	Get this document as YAML
//	@Tags		service
//	@Success	200	{object}	object
//	@Header		200	{string}	ETag	"Changes with the document"
//	@Success	304
//	@Failure	400	{object}	wire.Problem
//	@Produce	application/yaml
//	@Router		/openapi.yaml [get]
func (p pages) documentYAML() handler {
	convert := sync.OnceValues(openapi.YAML)
	return func(w http.ResponseWriter, r *http.Request) error {
		body, err := convert()
		return p.sendDocument(w, r, "application/yaml", body, err)
	}
}

// sendDocument serves a document, unless it could not be made.
func (p pages) sendDocument(w http.ResponseWriter, r *http.Request, mediaType string, body []byte, err error) error {
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-cache")
	p.out.SendTagged(w, r, mediaType, body)
	return nil
}

// getSchema serves the JSON Schema of documents.
//
//	@Summary		Get the JSON Schema of benchmark documents
//	@Description	Draft 2020-12, for editors and validators.
//	@Tags			service
//	@Success		200	{object}	object
//	@Failure		400	{object}	wire.Problem
//	@Router			/api/config/schema [get]
func (p pages) getSchema(w http.ResponseWriter, r *http.Request) error {
	schema, err := openapi.DocumentSchema()
	return p.sendDocument(w, r, "application/json", schema, err)
}

// pagePolicy is the Content-Security-Policy of pages: nothing from elsewhere,
// nothing inline except the small images of the editor.
const pagePolicy = "default-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// page serves one of the embedded pages.
func (p pages) page(name string) handler {
	return func(w http.ResponseWriter, r *http.Request) error { return p.sendAsset(w, r, name) }
}

// getAsset serves a file that belongs to a page. Its name contains a hash of what it holds.
func (p pages) getAsset(w http.ResponseWriter, r *http.Request) error {
	return p.sendAsset(w, r, "assets/"+chi.URLParam(r, "file"))
}

// sendAsset serves an embedded file.
func (p pages) sendAsset(w http.ResponseWriter, r *http.Request, name string) error {
	body, ok := web.File(name)
	if !ok {
		return respond.ErrNotFound
	}
	header := w.Header()
	header.Set("Content-Security-Policy", pagePolicy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-cache")
	if path.Dir(name) == "assets" {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	p.out.SendTagged(w, r, assetTypes()[path.Ext(name)], body)
	return nil
}

// assetTypes are the media types of the embedded files.
func assetTypes() map[string]string {
	return map[string]string{
		".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	}
}
