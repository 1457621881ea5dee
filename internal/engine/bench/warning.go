package bench

// Warning is a reason to question a run or its results. It stops nothing; it is shown
// with them.
type Warning struct {
	Pointer string `json:"pointer,omitempty"` // into the submitted document
	Code    string `json:"code"`              // kebab-case, stable
	Detail  string `json:"detail"`            // for people
}
