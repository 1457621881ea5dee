// Package file reads the files of datasets: it opens and unpacks them and splits them
// into records, each one JSON object with its place.
package file
