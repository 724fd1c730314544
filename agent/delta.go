package agent

import (
	"strings"
	"unicode/utf8"
)

const (
	// maxDelta bounds the data of one delta, in bytes of UTF-8, as the kernel
	// does.
	maxDelta = 7000
	// maxDeltaQueue bounds how many deltas wait for a slow kernel.
	maxDeltaQueue = 64
)

// delta is the body of one request to a step's stream route.
type delta struct {
	Seq  int64  `json:"seq"`
	Data string `json:"data"`
}

// deltaQueue cuts text into deltas that are valid UTF-8 and short enough, and
// keeps those that wait. Text that comes while a delta waits is appended to it,
// so a slow kernel gets fewer and longer ones. When the queue is full, text is
// dropped, and the sequence skips a number for it.
type deltaQueue struct {
	next    int64 // sequence number of the next delta
	waiting []delta
	gap     bool   // text was dropped since the last delta was made
	tail    string // the beginning of a rune whose rest is still to come
}

// add takes text, which may begin and end within a rune.
func (q *deltaQueue) add(text string) {
	text = q.tail + text
	cut := len(text) - partialRune(text)
	q.tail = text[cut:]
	q.append(text[:cut])
}

// flush takes the text to be at its end: a rune that is still incomplete will
// stay so.
func (q *deltaQueue) flush() {
	tail := q.tail
	q.tail = ""
	q.append(tail)
}

// take removes the oldest delta.
func (q *deltaQueue) take() (delta, bool) {
	if len(q.waiting) == 0 {
		return delta{}, false
	}
	d := q.waiting[0]
	q.waiting = q.waiting[1:]
	return d, true
}

func (q *deltaQueue) append(text string) {
	// Replaced here, and not by the JSON encoder, which would make the data
	// longer after it was measured.
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	for text != "" {
		if !q.gap && len(q.waiting) > 0 {
			last := &q.waiting[len(q.waiting)-1]
			n := runePrefix(text, maxDelta-len(last.Data))
			last.Data += text[:n]
			text = text[n:]
			if text == "" {
				return
			}
		}
		if len(q.waiting) == maxDeltaQueue {
			if !q.gap {
				q.next++
			}
			q.gap = true
			return
		}
		n := runePrefix(text, maxDelta)
		q.waiting = append(q.waiting, delta{Seq: q.next, Data: text[:n]})
		q.next++
		q.gap = false
		text = text[n:]
	}
}

// partialRune is how many bytes at the end of s are the beginning of a rune
// that more bytes could complete.
func partialRune(s string) int {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		c := s[len(s)-n]
		if !utf8.RuneStart(c) {
			continue
		}
		if c >= utf8.RuneSelf && !utf8.FullRuneInString(s[len(s)-n:]) {
			return n
		}
		return 0
	}
	return 0
}
