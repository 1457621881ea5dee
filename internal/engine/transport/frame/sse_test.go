package frame

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
)

func TestSSE(t *testing.T) {
	for _, tt := range []struct {
		name  string
		reads []in
		end   bench.End
		want  string
	}{
		{
			"LF, CR and CRLF mixed", []in{{1 * ms, "data: 1\n\ndata: 2\r\rdata: 3\r\n\r\ndata: 4\r\n\ndata: 5\n\r"}}, bench.EndEOF,
			"1ms #1 \"1\"\n1ms #1 \"2\"\n1ms #1 \"3\"\n1ms #1 \"4\"\n1ms #1 \"5\"\nframing 2",
		},
		{
			"CR at the end of a read ends the event at once", []in{{1 * ms, "data: 1\r\n\r"}, {2 * ms, "\ndata: 2\n\n"}}, bench.EndEOF,
			"1ms #1 \"1\"\n2ms #2 \"2\"\nframing 2",
		},
		{
			"a byte order mark in three reads", []in{{1 * ms, "\xef"}, {2 * ms, "\xbb"}, {3 * ms, "\xbfdata: 1\n\n"}}, bench.EndEOF,
			"3ms #3 \"1\"\nframing 2",
		},
		{
			"only one byte order mark is dropped", []in{{1 * ms, bom + bom + "data: 1\n\ndata: 2\n\n"}}, bench.EndEOF,
			"1ms #1 \"2\"\nframing 2",
		},
		{
			"the start of a byte order mark is text", []in{{1 * ms, "\xef\xbb"}, {2 * ms, "data: 1\n\ndata: 2\n\n"}}, bench.EndEOF,
			"2ms #2 \"2\"\nframing 2",
		},
		{
			"exactly one space goes", []in{{1 * ms, "data:  a \n\ndata:b\n\n"}}, bench.EndEOF,
			"1ms #1 \" a \"\n1ms #1 \"b\"\nframing 2",
		},
		{
			"data lines are joined with LF", []in{{1 * ms, "data: a\ndata\ndata: c\n\n"}}, bench.EndEOF,
			"1ms #1 \"a\\n\\nc\"\nframing 2",
		},
		{
			"names, ids and unknown fields", []in{{1 * ms, "id: 7\nretry: 5\nevent: a\nevent: b\nfoo: x\nDATA: y\ndata: 1\n\ndata: 2\n\n"}}, bench.EndEOF,
			"1ms #1 b \"1\"\n1ms #1 \"2\"\nframing 2",
		},
		{
			"comments and empty data are heart-beats", []in{{1 * ms, ": x\n\n:\n\ndata:\n\ndata:  \n\nevent: ping\n\nid: 3\n\n"}}, bench.EndEOF,
			"framing 2",
		},
		{
			"an error event without data keeps its comments", []in{{1 * ms, ": old\n\nevent: error\n: one\n:two\n\n"}}, bench.EndEOF,
			"1ms #1 error \"\" : \"one\\ntwo\"\nframing 2",
		},
		{
			"nothing after an error, but the marker", []in{{1 * ms, "event: error\ndata: {}\n\ndata: 1\n\ndata: [DONE]\n\n"}}, bench.EndEOF,
			"1ms #1 error \"{}\"\nframing 2 done",
		},
		{
			"an error object ends the events", []in{{1 * ms, "data: {\"error\": {\"message\":\"x\"}}\n\ndata: 1\n\n"}}, bench.EndEOF,
			"1ms #1 \"{\\\"error\\\": {\\\"message\\\":\\\"x\\\"}}\"\nframing 2",
		},
		{
			"an empty error object ends nothing", []in{{1 * ms, "data: {\"error\":{}}\n\ndata: {\"error\":\"\"}\n\ndata: {\"error\":null}\n\ndata: 1\n\n"}}, bench.EndEOF,
			"1ms #1 \"{\\\"error\\\":{}}\"\n1ms #1 \"{\\\"error\\\":\\\"\\\"}\"\n1ms #1 \"{\\\"error\\\":null}\"\n1ms #1 \"1\"\nframing 2",
		},
		{
			"the marker with blanks and a name", []in{{1 * ms, "event: data\ndata: \t[DONE] \n\n"}}, bench.EndEOF,
			"framing 2 done",
		},
		{
			"a no-break space is not trimmed", []in{{1 * ms, "data: [DONE]\u00a0\n\n"}}, bench.EndEOF,
			"1ms #1 \"[DONE]\\u00a0\"\nframing 2",
		},
		{
			"data after the marker", []in{{1 * ms, "data: [DONE]\n\ndata: 1\n\n: c\n\ndata:\n\ndata: 2"}}, bench.EndEOF,
			"framing 2 done map[data_after_done:2]",
		},
		{
			"an open event that is whole", []in{{1 * ms, "data: {\"a\":1}"}, {2 * ms, "\n"}, {3 * ms, ": beat\n"}}, bench.EndEOF,
			"2ms #2 \"{\\\"a\\\":1}\"\nframing 2 map[unterminated_final_event:1]",
		},
		{
			"an open marker needs no warning", []in{{1 * ms, "data: [DONE]"}}, bench.EndEOF,
			"framing 2 done",
		},
		{
			"an open event that is cut", []in{{1 * ms, "data: 1\n\ndata: {\"a\":"}}, bench.EndEOF,
			"1ms #1 \"1\"\nframing 2 map[malformed_event:1]",
		},
		{
			"an open event after a reset", []in{{1 * ms, "data: 1\n\ndata: {\"a\":1}\n"}}, bench.EndReset,
			"1ms #1 \"1\"\nframing 2",
		},
		{
			"an open error event", []in{{1 * ms, "event: error\n: boom"}}, bench.EndEOF,
			"1ms #1 error \"\" : \"boom\"\nframing 2",
		},
		{
			"a raw line break in a string", []in{{1 * ms, "data: {\"a\":\"x\n: y\nz: \"}\n\ndata: 2\n\n"}}, bench.EndEOF,
			"1ms #1 \"{\\\"a\\\":\\\"x\\\\n: y\\\\nz: \\\"}\"\n1ms #1 \"2\"\nframing 2 map[repaired_event:1]",
		},
		{
			"a raw line break in the last string", []in{{1 * ms, "data: {\"a\":\"x\ny\"}\n"}}, bench.EndEOF,
			"1ms #1 \"{\\\"a\\\":\\\"x\\\\ny\\\"}\"\nframing 2 map[repaired_event:1 unterminated_final_event:1]",
		},
		{
			"an unknown field beside good data repairs nothing", []in{{1 * ms, "data: {}\nfoo: 1\n\n"}}, bench.EndEOF,
			"1ms #1 \"{}\"\nframing 2",
		},
		{
			"what cannot be repaired stays", []in{{1 * ms, "data: {\"a\nfoo: 1\n\n"}}, bench.EndEOF,
			"1ms #1 \"{\\\"a\"\nframing 2",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, show(cut(stream, tt.end, tt.reads...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
