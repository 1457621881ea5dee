package plan

import (
	"errors"
	"net/url"

	"aiperfd/internal/engine/endpoint"
)

// FunctionURL returns the URL of another function of the server. Paths at the root are
// not below a version such as /v1.
func (t *Target) FunctionURL(path string, atRoot bool) (*url.URL, error) {
	path, query := cutQuery(path)
	joined, err := endpoint.JoinURL(t.Root, endpoint.Kind{Path: path, RootPath: atRoot}, false, nil, "")
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(endpoint.WithQuery(joined, query))
	if err != nil {
		return nil, errors.New("the path is not valid in a URL")
	}
	return u, nil
}

// ModelList returns the URL of the list of models; ok = false if the API is known not
// to have one.
func (t *Target) ModelList() (list *url.URL, ok bool) {
	if !endpoint.ListsModels(t.URL) {
		return nil, false
	}
	list, err := t.FunctionURL("/v1/models", false)
	return list, err == nil // the URL of the requests was joined from the same base
}

func cutQuery(path string) (bare, query string) {
	if u, err := url.Parse(path); err == nil {
		return u.EscapedPath(), u.RawQuery
	}
	return path, ""
}
