package endpoint

import "time"

// The limits that the tests of whole codecs count on.
const (
	bigBody       = 64 << 10 // documents that are checked in another way
	mostValues    = 1 << 20  // JSON values of a document
	longestError  = 4 << 10  // bytes of an error message
	longestWait   = 10 * 365 * 24 * time.Hour
	mostItems     = 1024 // Output items of an answer
	mostTimes     = 64   // server times of an answer
	longestJobID  = 512
	largestRun    = 10 << 20 // Body for Runpod's /run
	largestRunNow = 20 << 20 // … and for /runsync
	formBoundary  = "aiperfd-form-5d0c9e3a7b41f286"
)
