// Package file reads the files of datasets as records. It opens and unpacks a file,
// detects its container (JSONL, a JSON document, CSV, Parquet, Arrow) and splits it into
// records, each one JSON object with its place. It holds one record at a time, of
// Parquet and Arrow files a page of each column or a record batch.
package file
