package api

import (
	"net/http"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/respond"
)

// sessionHandler handles the sessions of browsers.
type sessionHandler struct {
	*base
	access *access.Guard
}

// begin begins a session.
//
//	@Summary		Begin a session
//	@Description	For browsers: the bearer token of this request becomes the cookie aiperfd_session, which is valid for 12 hours. Without a token file, nobody needs a session and no cookie is set.
//	@Tags			service
//	@Success		204	"The session has begun"
//	@Failure		400	{object}	wire.Problem
//	@Failure		403	{object}	wire.Problem
//	@Produce		json
//	@Router			/api/session [post]
func (h *sessionHandler) begin(w http.ResponseWriter, r *http.Request) error {
	cookie, err := h.access.Login(r)
	if err != nil {
		return err
	}
	if cookie != nil {
		http.SetCookie(w, cookie)
	}
	w.Header().Set("Cache-Control", respond.NoStore)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// end ends a session.
//
//	@Summary		End a session
//	@Description	Ends the session of the cookie, and the feeds that were opened with it.
//	@Tags			service
//	@Success		204	"The session has ended, or there was none"
//	@Failure		400	{object}	wire.Problem
//	@Failure		403	{object}	wire.Problem
//	@Produce		json
//	@Router			/api/session [delete]
func (h *sessionHandler) end(w http.ResponseWriter, r *http.Request) error {
	http.SetCookie(w, h.access.Logout(r))
	w.Header().Set("Cache-Control", respond.NoStore)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
