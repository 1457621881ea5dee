// Package store keeps runs on disk. A [Store] is a folder with a SQLite
// database, which is the truth about the runs and their states, and one folder
// for each run with its artifacts. Each of these also holds a copy of the run,
// so that it stands alone and a lost database can be made again. A [Single]
// keeps one command's runs in memory and their artifacts in one given folder.
//
// Whatever happens to the process or the power, a change whose method returned
// without an error is there afterwards, and one that did not return is there
// as a whole or not at all.
package store
