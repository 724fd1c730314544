package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// encode is json.Marshal without the escapes for HTML, which would make what a
// person is asked to approve hard to read.
func encode(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// decode reads a recorded result. An absent one is null.
func decode[T any](raw json.RawMessage, stepID string) (T, error) {
	var v T
	if isNull(raw) {
		raw = json.RawMessage("null")
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		var zero T // not v: a part of a result must not be mistaken for one
		return zero, fmt.Errorf("decode result of step %s as %T: %w", stepID, zero, err)
	}
	return v, nil
}

func isNull(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}

// clip shortens s to at most n bytes of valid UTF-8.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if len(s) <= n {
		return s
	}
	const more = "…"
	return s[:runePrefix(s, n-len(more))] + more
}

// runePrefix is the length of the longest prefix of s that has at most n bytes
// and ends between two runes.
func runePrefix(s string, n int) int {
	if len(s) <= n {
		return len(s)
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}
