package collect

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// text writes lines at once.
func text(to writerTo) encoder[string] {
	flush := func() error { return nil }
	return encoder[string]{func(line string) error {
		_, err := to.Write([]byte(line + "\n"))
		return err
	}, flush, flush}
}

type writerTo interface{ Write([]byte) (int, error) }

// Record files stop before the disk is full, for good, and say what they lack.
func TestReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var free atomic.Int64
		free.Store(1000)
		var alarms []string
		var mu sync.Mutex
		d := &disk{reserve: 100, free: func(string) (int64, error) { return free.Load(), nil }, alarm: func(text string) {
			mu.Lock()
			defer mu.Unlock()
			alarms = append(alarms, text)
		}}
		path := filepath.Join(t.TempDir(), "records")
		file, err := createParts(path, 0)
		if err != nil {
			t.Fatal(err)
		}
		f := recordFile[string]{disk: d}
		f.start(file, text(file))
		f.write("one")
		free.Store(99)
		time.Sleep(1100 * time.Millisecond)
		f.write("two")
		free.Store(1000)
		time.Sleep(5 * time.Second)
		f.write("three")
		if err := f.close(); err != nil {
			t.Errorf("close = %v", err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != "one\n" {
			t.Errorf("file = %q, %v; want the first line alone", got, err)
		}
		names, w := d.incomplete()
		if fmt.Sprint(names) != "[records]" || w.Code != "disk-full" || !strings.Contains(w.Detail, "records lacks the last 2 or more") {
			t.Errorf("incomplete = %v, %v", names, w)
		}
		if len(alarms) != 1 {
			t.Errorf("alarms = %q, want one", alarms)
		}
	})
}

// A small disk is not reserved as a whole.
func TestReserveOfSmallDisk(t *testing.T) {
	dir := t.TempDir()
	if d := newDisk(dir, 1<<62, nil); d.reserve >= 1<<62 {
		t.Error("more than the disk is reserved")
	}
	if d := newDisk(filepath.Join(dir, "none"), 7, nil); d.reserve != 7 {
		t.Errorf("reserve of an unknown disk = %d, want 7", d.reserve)
	}
}

// fullFile is a file on a disk with room for some bytes.
type fullFile struct {
	data []byte
	room int
}

func (f *fullFile) Write(b []byte) (int, error) {
	n := min(len(b), f.room-len(f.data))
	f.data = append(f.data, b[:n]...)
	if n < len(b) {
		return n, &os.PathError{Op: "write", Path: "records", Err: syscall.ENOSPC}
	}
	return n, nil
}

func (f *fullFile) Seek(offset int64, _ int) (int64, error) { return offset, nil }

func (f *fullFile) Truncate(size int64) error {
	f.data = f.data[:size]
	return nil
}

// A disk that is full at once ends a file after its last complete line.
func TestDiskFull(t *testing.T) {
	full := &fullFile{room: 10}
	out := text(&whole{file: full})
	d := &disk{}
	var err error
	for err == nil {
		err = out.write("four")
	}
	if !d.filled("records", err) || string(full.data) != "four\nfour\n" {
		t.Errorf("file = %q after %v, want two lines", full.data, err)
	}
	if d.filled("records", errors.New("other")) || !d.stopped("records") {
		t.Error("other errors are not those of a full disk, and the file stays stopped")
	}
	var none *disk
	if none.filled("records", err) || none.stopped("records") {
		t.Error("without a reserve, the error of a full disk is an error")
	}
}
