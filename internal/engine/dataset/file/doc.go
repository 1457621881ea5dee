// Package file reads the files of datasets as records. It opens and unpacks a file,
// detects its container (JSONL, a JSON document, CSV, Parquet, Arrow) and splits it into
// records, each one JSON object with its place. It holds one record at a time, of
// Parquet and Arrow files a page of each column or a record batch.
//
// Column names become members in the order of the schema. Text becomes a string, binary
// data a string of base64, a list an array, a struct an object, a map with text keys an
// object and any other map an array of objects with key and value. A timestamp becomes
// an RFC 3339 string in UTC; a date has the form 2006-01-02; a time of day or a duration
// is the number in the unit of the file. Numbers that JSON does not have (NaN and
// infinities) become null.
package file
