// Package value contains the types of plain values in documents.
package value
