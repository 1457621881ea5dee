// Package request lies between the load and an endpoint type: it makes requests of the
// turns of a plan's conversations, and answers of their responses.
package request
