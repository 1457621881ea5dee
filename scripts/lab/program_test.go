package lab

import (
	"os"
	"runtime"
	"testing"
)

func TestMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	now, err := Memory(os.Getpid(), "VmRSS")
	if err != nil || now < 1 {
		t.Errorf("memory of this process: %v MiB, %v", now, err)
	}
	if most, err := Memory(os.Getpid(), "VmHWM"); err != nil || most < now {
		t.Errorf("its peak: %v MiB of %v, %v", most, now, err)
	}
	if _, err := Memory(os.Getpid(), "VmNone"); err == nil {
		t.Error("a field that does not exist has a value")
	}
}
