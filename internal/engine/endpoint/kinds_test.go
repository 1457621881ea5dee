package endpoint

import "testing"

func TestKindsThatPoll(t *testing.T) {
	for _, k := range Kinds() {
		if k.Caps.Jobs != (k.Job != nil) {
			t.Errorf("%s: Caps.Jobs is %t", k.Name, k.Caps.Jobs)
		}
	}
}
