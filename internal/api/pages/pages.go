// Package pages serves the embedded pages and documents.
package pages

import (
	"net/http"
	"path"

	"github.com/go-chi/chi/v5"

	"aiperfd/internal/api/respond"
	"aiperfd/openapi"
	"aiperfd/web"
)

// Handler handles the routes of embedded files.
type Handler struct {
	*respond.Responder
	// YAML returns the API document as YAML.
	YAML func() ([]byte, error)
}

// Document serves the API document.
//
//	@Summary	Get this document
//	@Tags		service
//	@Success	200	{object}	object
//	@Produce	json
//	@Router		/openapi.json [get]
func (h *Handler) Document(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-cache")
	h.SendTagged(w, r, "application/json", openapi.JSON)
	return nil
}

// DocumentYAML serves the API document as YAML.
//
//	@Summary	Get this document as YAML
//	@Tags		service
//	@Success	200	{object}	object
//	@Header		200	{string}	ETag	"Changes with the document"
//	@Success	304
//	@Failure	400	{object}	wire.Problem
//	@Produce	application/yaml
//	@Router		/openapi.yaml [get]
func (h *Handler) DocumentYAML(w http.ResponseWriter, r *http.Request) error {
	body, err := h.YAML()
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-cache")
	h.SendTagged(w, r, "application/yaml", body)
	return nil
}

// DocumentSchema serves the JSON Schema of documents.
//
//	@Summary		Get the JSON Schema of benchmark documents
//	@Description	Draft 2020-12, for editors and validators.
//	@Tags			service
//	@Success		200	{object}	object
//	@Failure		400	{object}	wire.Problem
//	@Produce		json
//	@Router			/api/config/schema [get]
func (h *Handler) DocumentSchema(w http.ResponseWriter, r *http.Request) error {
	schema, err := openapi.DocumentSchema()
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-cache")
	h.SendTagged(w, r, "application/json", schema)
	return nil
}

// Policy is the Content-Security-Policy of pages: nothing from elsewhere,
// nothing inline except the small images of the editor.
const Policy = "default-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Page serves one of the embedded pages.
func (h *Handler) Page(name string) func(w http.ResponseWriter, r *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error { return h.sendAsset(w, r, name) }
}

// Asset serves a file that belongs to a page. Its name contains a hash of what it holds.
func (h *Handler) Asset(w http.ResponseWriter, r *http.Request) error {
	return h.sendAsset(w, r, "assets/"+chi.URLParam(r, "file"))
}

// sendAsset serves an embedded file.
func (h *Handler) sendAsset(w http.ResponseWriter, r *http.Request, name string) error {
	body, ok := web.File(name)
	if !ok {
		return respond.ErrNotFound
	}
	header := w.Header()
	header.Set("Content-Security-Policy", Policy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-cache")
	if path.Dir(name) == "assets" {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.SendTagged(w, r, assetTypes()[path.Ext(name)], body)
	return nil
}

// assetTypes are the media types of the embedded files.
func assetTypes() map[string]string {
	return map[string]string{
		".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	}
}
