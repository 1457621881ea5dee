package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/rs/zerolog"
)

// paper is a terminal that interprets the output of a screen: lines, carriage
// return, cursor up, erase below.
type paper struct {
	width int
	rows  []string
	y, x  int
}

func (p *paper) Write(b []byte) (int, error) {
	text := string(b)
	for text != "" {
		var n int
		switch {
		case strings.HasPrefix(text, "\x1b[J"):
			p.rows, text = p.rows[:p.y], text[3:]
		case strings.HasPrefix(text, "\x1b["):
			if _, err := fmt.Sscanf(text, "\x1b[%dA", &n); err != nil {
				return 0, fmt.Errorf("unknown sequence %q", text)
			}
			p.y, text = p.y-n, text[strings.IndexByte(text, 'A')+1:]
		case text[0] == '\r':
			p.x, text = 0, text[1:]
		case text[0] == '\n':
			p.y, p.x, text = p.y+1, 0, text[1:]
		default:
			if p.x == p.width {
				p.y, p.x = p.y+1, 0
			}
			for len(p.rows) <= p.y {
				p.rows = append(p.rows, "")
			}
			r := []rune(text)[0]
			p.rows[p.y] += string(r)
			p.x, text = p.x+1, text[len(string(r)):]
		}
	}
	return len(b), nil
}

func TestScreen(t *testing.T) {
	p := &paper{width: 20}
	s := &Screen{out: p, width: func() int { return p.width }}
	step := func(name, want string, act func()) {
		t.Helper()
		act()
		if got := strings.Join(p.rows, "\n"); got != want {
			t.Errorf("%s: the terminal shows\n%s\nwant\n%s", name, got, want)
		}
	}
	step("a line before any status", "first", func() { fmt.Fprintln(s, "first") })
	step("a status", "first\nbar 1\nlive 1", func() { s.Show("bar 1", "live 1") })
	step("a new status", "first\nbar 2", func() { s.Show("bar 2") })
	step("a line above the status", "first\nsecond\nbar 2", func() { fmt.Fprintln(s, "second") })
	step("a long line", "first\nsecond\na line that is wider\n    than the\n    terminal\nbar 2", func() { fmt.Fprintln(s, "a line that is wider than the terminal") })
	step("a terminal that has become narrower", "first\nsecond\na line that is wider\n    than the\n    terminal\nnew", func() {
		s.Show("0123456789")
		p.width = 5
		p.rows = append(p.rows[:len(p.rows)-1], "01234", "56789")
		p.y++
		s.Show("new")
	})
	step("no status", "first\nsecond\na line that is wider\n    than the\n    terminal", func() { s.Show() })
}

func TestASCIIOnly(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"LANG": "en_US.UTF-8"}, false},
		{map[string]string{"LANG": "C.utf8"}, false},
		{map[string]string{"LC_ALL": "C", "LANG": "en_US.UTF-8"}, true},
		{map[string]string{"LC_CTYPE": "UTF-8", "LANG": "C"}, false},
		{map[string]string{"LANG": "de_DE.ISO8859-1"}, true},
		{nil, true},
	} {
		if got := ASCIIOnly(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("ASCIIOnly(%v) = %v, want %v", c.env, got, c.want)
		}
	}
}

func TestColorWanted(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"TERM": "xterm"}, true},
		{map[string]string{"TERM": "dumb"}, false},
		{map[string]string{"NO_COLOR": "1"}, false},
		{map[string]string{"NO_COLOR": ""}, true}, // as no-color.org has it
	} {
		if got := colorWanted(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("colorWanted(%v) = %v, want %v", c.env, got, c.want)
		}
	}
}

// Texts of a server cannot control the terminal, neither in the log nor in the error
// of the command.
func TestServerTextIsHarmless(t *testing.T) {
	const hostile = "gone\x1b[2J\x1b]0;owned\a\u202e\r\x00"
	var out bytes.Buffer
	log := zerolog.New(LogWriter(&out, "15:04", false))
	log.Warn().Str("server", hostile).Err(errors.New(hostile)).Msg(hostile)
	PrintError(&out, errors.New("first "+hostile+"\n  second"))
	for _, r := range out.String() {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Errorf("there is %U in %q", r, out.String())
		}
	}
	if !strings.HasSuffix(out.String(), "aiperfd: first gone[2J]0;owned \n  second\n") {
		t.Errorf("printed %q", out.String())
	}
}

// A line of a sweep is wrapped between numbers with their names: a number that is cut is another number.
func TestPrintWraps(t *testing.T) {
	var out strings.Builder
	p := Progress{Draw: true, Screen: &Screen{out: &out, width: func() int { return 80 }}}
	p.Print("[4/9] concurrency 4 (run 2)  63.0 req/s  8,064 tok/s  TTFT p99 24.0 ms  latency p99 118 ms")
	want := "[4/9] concurrency 4 (run 2)  63.0 req/s  8,064 tok/s  TTFT p99 24.0 ms\n    latency p99 118 ms\n"
	if got := out.String(); got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}
