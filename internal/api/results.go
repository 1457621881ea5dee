package api

import (
	"net/http"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/bundle"
)

// resultRoutes returns the routes of what runs have left behind.
func resultRoutes(files *fileHandler) []route {
	get := http.MethodGet
	return []route{
		{method: get, pattern: "/api/runs/{id}/artifacts", scope: access.Read, handle: files.listFiles, query: none()},
		{method: get, pattern: "/api/runs/{id}/artifacts/*", scope: access.Read, handle: files.getFile, query: none()},
		{method: get, pattern: "/api/runs/{id}/artifacts.zip", scope: access.Read, handle: files.bundle(bundle.Zip), query: none()},
		{method: get, pattern: "/api/runs/{id}/artifacts.tar.gz", scope: access.Read, handle: files.bundle(bundle.TarGz), query: none()},
	}
}
