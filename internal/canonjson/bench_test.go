package canonjson_test

import (
	"strings"
	"testing"

	"github.com/agentkernel/kernelctl/internal/canonjson"
)

var texts = []struct{ name, text string }{
	{"canonical", `{"command":"ls -la /tmp","cwd":"/home/agent","env":{"HOME":"/home/agent","LANG":"C.UTF-8"},"timeout":30}`},
	{"spaced", `{"timeout": 30, "command": "ls -la /tmp", "env": {"LANG": "C.UTF-8", "HOME": "/home/agent"}, "cwd": "/home/agent"}`},
	{"escaped", `{"text": "line one\nline two \"quoted\"\n\u00e9\n", "path": "C:\\temp\\x"}`},
	{"llm16k", `{"model":"gpt-large","messages":[` + strings.Repeat(`{"role":"user","content":"The quick brown fox jumps over the lazy dog. Ünïcödé, too."},`, 180) + `{"role":"user","content":""}]}`},
}

func BenchmarkCheck(b *testing.B) {
	for _, c := range texts {
		b.Run(c.name, func(b *testing.B) {
			text := []byte(c.text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := canonjson.Check(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, c := range texts {
		b.Run(c.name, func(b *testing.B) {
			text := []byte(c.text)
			dst := make([]byte, 0, 2*len(text))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := canonjson.Append(dst, text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendChecked(b *testing.B) {
	for _, c := range texts {
		b.Run(c.name, func(b *testing.B) {
			text := []byte(c.text)
			dst := make([]byte, 0, 2*len(text))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				canonjson.AppendChecked(dst, text)
			}
		})
	}
}

func BenchmarkDigest(b *testing.B) {
	for _, c := range texts {
		b.Run(c.name, func(b *testing.B) {
			text := []byte(c.text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				canonjson.Digest(text)
			}
		})
	}
}

func BenchmarkLookup(b *testing.B) {
	text := []byte(texts[0].text)
	key := canonjson.Key("timeout")
	b.ReportAllocs()
	for b.Loop() {
		canonjson.Lookup(text, key)
	}
}

func BenchmarkMembersBytes(b *testing.B) {
	text := []byte(texts[0].text)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		if err := canonjson.MembersBytes(text, func(name, _ []byte) error { n += len(name); return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// TestNoAllocations holds what the hot path relies on.
func TestNoAllocations(t *testing.T) {
	key, dst := canonjson.Key("cwd"), make([]byte, 0, 4096)
	for _, c := range texts[:3] {
		text := []byte(c.text)
		for what, run := range map[string]func(){
			"Check":         func() { _ = canonjson.Check(text) },
			"Append":        func() { _, _ = canonjson.Append(dst, text) },
			"AppendChecked": func() { canonjson.AppendChecked(dst, text) },
			"Digest":        func() { canonjson.Digest(text) },
			"Lookup":        func() { canonjson.Lookup(text, key) },
		} {
			if got := testing.AllocsPerRun(100, run); got != 0 {
				t.Errorf("%s of %s: %v allocations, want none", what, c.name, got)
			}
		}
	}
}
