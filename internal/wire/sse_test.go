package wire_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/wire"
)

func TestAppendFrame(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   wire.Frame
		want string
	}{
		{"all", wire.Frame{ID: "7", Event: "step.allowed", Data: []byte(`{"a":1}`)}, "id: 7\nevent: step.allowed\ndata: {\"a\":1}\n\n"},
		{"data only", wire.Frame{Data: []byte("x")}, "data: x\n\n"},
		{"no data is still a message", wire.Frame{Event: "lagged"}, "event: lagged\ndata: \n\n"},
		{"lines", wire.Frame{Data: []byte("a\nb\r\nc\rd\n")}, "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"},
		{"forged", wire.Frame{ID: "1\ndata: x", Event: "e\r\x00f"}, "id: 1data: x\nevent: ef\ndata: \n\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, string(wire.AppendFrame(nil, tt.in))); diff != "" {
				t.Errorf("AppendFrame (-want +got):\n%s", diff)
			}
		})
	}
	if got := string(wire.AppendComment(nil, "keep\nalive")); got != ": keepalive\n\n" {
		t.Errorf("AppendComment = %q", got)
	}
}

// frames reads all of a stream; the data is copied, for it lives until the next Scan only.
func frames(r io.Reader, limit int) (got []wire.Frame, lastID string, err error) {
	s := wire.NewScanner(r, limit)
	for s.Scan() {
		f := s.Frame()
		f.Data = bytes.Clone(f.Data)
		got = append(got, f)
	}
	return got, s.LastID(), s.Err()
}

func TestScanner(t *testing.T) {
	t.Parallel()
	frame := func(id, event, data string) wire.Frame {
		return wire.Frame{ID: id, Event: event, Data: []byte(data)}
	}
	tests := []struct {
		name   string
		in     string
		want   []wire.Frame
		lastID string
	}{
		{"empty", "", nil, ""},
		{"one", "id: 1\nevent: e\ndata: x\n\n", []wire.Frame{frame("1", "e", "x")}, "1"},
		{"comments", ": hello\n\n:\ndata: x\n: in between\n\n", []wire.Frame{frame("", "", "x")}, ""},
		{"several lines", "data: a\ndata:\ndata: b\n\n", []wire.Frame{frame("", "", "a\n\nb")}, ""},
		{"one space is dropped", "data:  a\n\ndata:a\n\n", []wire.Frame{frame("", "", " a"), frame("", "", "a")}, ""},
		{"field without colon", "data\n\n", []wire.Frame{frame("", "", "")}, ""},
		{"no data, no message", "event: e\nid: 4\n\ndata: x\n\n", []wire.Frame{frame("", "", "x")}, "4"},
		{"event does not last", "event: e\ndata: 1\n\ndata: 2\n\n", []wire.Frame{frame("", "e", "1"), frame("", "", "2")}, ""},
		{"id lasts", "id: 1\ndata: 1\n\ndata: 2\n\n", []wire.Frame{frame("1", "", "1"), frame("", "", "2")}, "1"},
		{"empty id forgets", "id: 1\ndata: 1\n\nid\ndata: 2\n\n", []wire.Frame{frame("1", "", "1"), frame("", "", "2")}, ""},
		{"NUL in id", "id: 1\x002\ndata: 1\n\n", []wire.Frame{frame("", "", "1")}, ""},
		{"unknown fields", "retry: 5\nfoo: bar\ndata: 1\n\n", []wire.Frame{frame("", "", "1")}, ""},
		{"line ends", "data: 1\r\n\r\ndata: 2\r\rdata: 3\n\n", []wire.Frame{frame("", "", "1"), frame("", "", "2"), frame("", "", "3")}, ""},
		{"byte order mark", "\uFEFFdata: 1\n\n\uFEFFdata: 2\n\n", []wire.Frame{frame("", "", "1")}, ""},
		{"unfinished frame", "data: 1\n\nid: 9\ndata: 2\n", []wire.Frame{frame("", "", "1")}, ""},
		{"unfinished line", "data: 1\n\ndata: 2", []wire.Frame{frame("", "", "1")}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for name, r := range map[string]io.Reader{
				"at once": strings.NewReader(tt.in), "by bytes": iotest.OneByteReader(strings.NewReader(tt.in)),
			} {
				got, lastID, err := frames(r, 0)
				if err != nil {
					t.Errorf("%s: Err = %v", name, err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s: frames (-want +got):\n%s", name, diff)
				}
				if lastID != tt.lastID {
					t.Errorf("%s: LastID = %q, want %q", name, lastID, tt.lastID)
				}
			}
		})
	}
}

func TestScannerBounds(t *testing.T) {
	t.Parallel()
	const limit = 5000 // more than one buffer of the reader
	tests := []struct {
		name string
		in   string
		want error
	}{
		{"line that fits", "data: " + strings.Repeat("x", limit-6) + "\n\n", nil},
		{"long line", "data: " + strings.Repeat("x", limit-5) + "\n\n", wire.ErrFrameTooLarge},
		{"long comment", ":" + strings.Repeat("x", limit) + "\n\n", wire.ErrFrameTooLarge},
		{"endless line", strings.Repeat("x", 10*limit), wire.ErrFrameTooLarge},
		{"many lines", strings.Repeat("data: x\n", limit), wire.ErrFrameTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, _, err := frames(strings.NewReader(tt.in), limit); !errors.Is(err, tt.want) {
				t.Errorf("Err = %v, want %v", err, tt.want)
			}
		})
	}
}

func TestScannerReportsABrokenStream(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	r := io.MultiReader(strings.NewReader("data: 1\n\ndata: 2\n"), iotest.ErrReader(broken))
	got, _, err := frames(r, 0)
	if len(got) != 1 || !errors.Is(err, broken) {
		t.Errorf("frames = %v, %v, want one and %v", got, err, broken)
	}
}

// TestScannerDoesNotWait: a message is there when its empty line is, whatever
// kind of line end the writer uses.
func TestScannerDoesNotWait(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n", "\r\n", "\r"} {
		r, w := io.Pipe()
		done := make(chan bool)
		go func() {
			s := wire.NewScanner(r, 0)
			done <- s.Scan()
		}()
		if _, err := io.WriteString(w, "data: x"+end+end); err != nil {
			t.Fatal(err)
		}
		if !<-done { // hangs when the scanner reads on
			t.Errorf("%q: no message", end)
		}
		_ = w.Close()
	}
}

func FuzzScanner(f *testing.F) {
	f.Add([]byte("id: 1\nevent: e\ndata: x\ndata: y\n\n: c\r\ndata\r\r"))
	f.Add([]byte("\uFEFFdata: 1\n\nretry: 5\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 64
		got, lastID, err := frames(bytes.NewReader(in), limit)
		slow, slowID, slowErr := frames(iotest.OneByteReader(bytes.NewReader(in)), limit)
		if diff := cmp.Diff(got, slow); diff != "" || lastID != slowID || (err == nil) != (slowErr == nil) {
			t.Fatalf("by bytes another reading (-at once +by bytes):\n%s\n%q %q, %v %v", diff, lastID, slowID, err, slowErr)
		}
		var out []byte
		for _, f := range got {
			if len(f.Data) > limit {
				t.Fatalf("data of %d bytes, want at most %d", len(f.Data), limit)
			}
			out = wire.AppendFrame(out, f)
		}
		again, _, err := frames(bytes.NewReader(out), 0)
		if diff := cmp.Diff(stripNUL(got), again); diff != "" || err != nil {
			t.Fatalf("written and read again: %v (-want +got):\n%s", err, diff)
		}
	})
}

// stripNUL is what writing does to the frames that reading found.
func stripNUL(in []wire.Frame) (out []wire.Frame) {
	for _, f := range in {
		f.Event = strings.ReplaceAll(f.Event, "\x00", "")
		out = append(out, f)
	}
	return out
}
