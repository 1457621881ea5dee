// Package store keeps runs on disk: an index to list them by, and a folder for the files
// of each. A [Store] is a folder with a SQLite
// database, which is authoritative for the runs and their states, and one folder
// per run with its artifacts. Each folder also contains a copy of the run, so that
// it is complete without the database, and a lost database can be rebuilt. A [Single]
// keeps one command's runs in memory and their artifacts in one given folder.
//
// After a crash of the process or a power failure, a change whose method returned
// without an error is present, and one whose method did not return is present
// completely or not at all.
package store
