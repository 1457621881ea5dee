package api

import (
	"net/http"
	"path"

	"github.com/go-chi/chi/v5"

	"aiperfd/openapi"
	"aiperfd/web"
)

// pageHandler handles the routes of embedded files.
type pageHandler struct {
	*base
	yaml func() ([]byte, error) // the API document; converted once
}

// getDocument serves the API document.
//
//	@Summary	Get this document
//	@Tags		service
//	@Success	200	{object}	object
//	@Produce	json
//	@Router		/openapi.json [get]
func (h *pageHandler) getDocument(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-cache")
	h.writeTagged(w, r, bodyTag(openapi.JSON), openapi.JSON)
	return nil
}

// getDocumentYAML serves the API document as YAML.
//
//	@Summary	Get this document as YAML
//	@Tags		service
//	@Success	200	{object}	object
//	@Header		200	{string}	ETag	"Changes with the document"
//	@Success	304
//	@Failure	400	{object}	wire.Problem
//	@Produce	application/yaml
//	@Router		/openapi.yaml [get]
func (h *pageHandler) getDocumentYAML(w http.ResponseWriter, r *http.Request) error {
	body, err := h.yaml()
	if err != nil {
		return err
	}
	header := w.Header()
	header.Set("Cache-Control", "no-cache")
	header.Set("Etag", bodyTag(body))
	if tagged(r.Header.Values("If-None-Match"), bodyTag(body)) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	header.Set("Content-Type", "application/yaml")
	h.write(w, http.StatusOK, body)
	return nil
}

// getDocumentSchema serves the JSON Schema of documents.
//
//	@Summary		Get the JSON Schema of benchmark documents
//	@Description	Draft 2020-12, for editors and validators.
//	@Tags			service
//	@Success		200	{object}	object
//	@Failure		400	{object}	wire.Problem
//	@Produce		json
//	@Router			/api/config/schema [get]
func (h *pageHandler) getDocumentSchema(w http.ResponseWriter, r *http.Request) error {
	schema, err := openapi.DocumentSchema()
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-cache")
	h.writeTagged(w, r, bodyTag(schema), schema)
	return nil
}

// pagePolicy is the Content-Security-Policy of pages: nothing from elsewhere,
// nothing inline except the small images of the editor.
const pagePolicy = "default-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// page serves one of the embedded pages.
func (h *pageHandler) page(name string) handler {
	return func(w http.ResponseWriter, r *http.Request) error { return h.sendAsset(w, r, name) }
}

// getAsset serves a file that belongs to a page. Its name contains a hash of what it holds.
func (h *pageHandler) getAsset(w http.ResponseWriter, r *http.Request) error {
	return h.sendAsset(w, r, "assets/"+chi.URLParam(r, "file"))
}

// sendAsset serves an embedded file.
func (h *pageHandler) sendAsset(w http.ResponseWriter, r *http.Request, name string) error {
	body, ok := web.File(name)
	if !ok {
		return errNotFound
	}
	header := w.Header()
	header.Set("Content-Security-Policy", pagePolicy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-cache")
	if path.Dir(name) == "assets" {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	tag := bodyTag(body)
	header.Set("Etag", tag)
	if tagged(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	header.Set("Content-Type", assetTypes()[path.Ext(name)])
	h.write(w, http.StatusOK, body)
	return nil
}

// assetTypes are the media types of the embedded files.
func assetTypes() map[string]string {
	return map[string]string{
		".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	}
}
