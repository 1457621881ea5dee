package main

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"

	"aiperfd/internal/api/access"
)

// The names of the security schemes.
const (
	bearerScheme  = "bearer"
	sessionScheme = "session"
)

func securitySchemes() openapi3.SecuritySchemes {
	bearer := openapi3.NewSecurityScheme().WithType("http").WithScheme("bearer").
		WithDescription("A token of the daemon's token file. The scopes are read, submit and admin; each includes those before it, and x-required-scope says which one a route needs. A daemon without a token file needs no token.")
	session := openapi3.NewSecurityScheme().WithType("apiKey").WithIn("cookie").WithName(access.CookieName).
		WithDescription("The session of a browser, from POST /api/session.")
	return openapi3.SecuritySchemes{
		bearerScheme: &openapi3.SecuritySchemeRef{Value: bearer}, sessionScheme: &openapi3.SecuritySchemeRef{Value: session},
	}
}

// protect says which scope an operation needs, and which answers follow from that.
func protect(op *openapi3.Operation, scope access.Scope) error {
	if scope == 0 {
		return errors.New(op.OperationID + " has no scope")
	}
	if scope == access.Open {
		op.Security = &openapi3.SecurityRequirements{}
		return nil
	}
	op.Security = &openapi3.SecurityRequirements{{}, {bearerScheme: {}}, {sessionScheme: {}}}
	op.Extensions = map[string]any{"x-required-scope": scope.String()}
	for status, text := range map[int]string{
		http.StatusUnauthorized: "No valid token", http.StatusForbidden: "The token lacks a scope, or the origin of the page is not allowed",
	} {
		op.Responses.Set(strconv.Itoa(status), problemResponse(text))
	}
	return nil
}

// problemResponse is an answer that is a problem.
func problemResponse(text string) *openapi3.ResponseRef {
	schema := openapi3.NewSchemaRef("#/components/schemas/wire.Problem", nil)
	out := openapi3.NewResponse().WithContent(openapi3.NewContentWithJSONSchemaRef(schema)).WithDescription(text)
	return &openapi3.ResponseRef{Value: out}
}
