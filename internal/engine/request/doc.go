// Package request makes requests of the turns of a plan's conversations, with the body of the
// endpoint type, and answers of their responses.
package request
