// Package text generates texts of an exact number of tokens. They are cut out of
// corpora, which are generated with a fixed seed and encoded once per tokenizer.
package text
