package pack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// disk stores bodies by position, as the log does.
type disk struct {
	codec  Codec
	stored map[int64][]byte
	bytes  int
}

func (d *disk) source(pos int64) ([]byte, error) {
	stored, ok := d.stored[pos]
	if !ok {
		return nil, fmt.Errorf("nothing is stored at %d", pos)
	}
	return d.codec.Literal(stored)
}

// put stores a body and returns it as later ones can refer to it.
func (d *disk) put(t testing.TB, body []byte, bases ...Text) Text {
	t.Helper()
	stored, text, err := d.codec.Pack(body, bases...)
	if err != nil {
		t.Fatal(err)
	}
	if d.stored == nil {
		d.stored = make(map[int64][]byte)
	}
	pos := int64(len(d.stored))*7 + 3
	d.stored[pos] = bytes.Clone(stored)
	d.bytes += len(stored)
	back, err := d.codec.Unpack(d.stored[pos], d.source)
	if err != nil {
		t.Fatalf("unpack body %d: %v", pos, err)
	}
	if !bytes.Equal(back.JSON, body) {
		t.Fatalf("body %d of %d bytes came back as %d other ones", pos, len(body), len(back.JSON))
	}
	if fmt.Sprint(back.parts) != fmt.Sprint(text.parts) {
		t.Fatalf("body %d: packed in parts %v, read in parts %v", pos, text.parts, back.parts)
	}
	return text.At(pos)
}

// noise are n bytes that do not compress much.
func noise(r *rand.Rand, n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	var b strings.Builder
	for range n {
		b.WriteByte(letters[r.IntN(len(letters))])
	}
	return b.String()
}

// conversation is what an agent sends to a model at its n-th call: everything
// said so far, about 2 KB more each time.
func conversation(said []string, n int) []byte {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var messages []message
	for i, text := range said[:n] {
		messages = append(messages, message{[]string{"user", "assistant"}[i%2], text})
	}
	text, err := json.Marshal(map[string]any{"messages": messages, "model": "m-1", "temperature": 0.2, "tools": []string{"search", "mail"}})
	if err != nil {
		panic(err)
	}
	return text
}

// TestConversation: what grows with every call costs what it grows by, even
// when nothing of it compresses.
func TestConversation(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var said []string
	for range 100 {
		said = append(said, noise(r, 2000))
	}
	var d disk
	var bases []Text
	raw := 0
	for n := 1; n <= len(said); n++ {
		body := conversation(said, n)
		raw += len(body)
		bases = []Text{d.put(t, body, bases...)}
	}
	if share := float64(d.bytes) / float64(raw); share > 0.06 {
		t.Errorf("%d bytes of conversation take %d on the disk, %.1f %%: want at most 6 %%", raw, d.bytes, 100*share)
	}
}

// TestEdits: references survive what real conversations do beside growing.
func TestEdits(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	long := noise(r, 40_000)
	for name, edited := range map[string]string{
		"a clock at the beginning":     `{"now":"12:00:01",` + long[20:] + "x",
		"the middle cut out":           long[:15_000] + long[25_000:],
		"a mark that moves":            long[:9_000] + `"cache":true` + long[9_000:30_000] + long[30_012:],
		"two parts change their place": long[20_000:] + long[:20_000],
		"wrapped":                      `[{"inner":` + long + `}]`,
		"shortened":                    long[:5000],
		"the same":                     long,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var d disk
			base := d.put(t, []byte(long))
			before := d.bytes
			d.put(t, []byte(edited), base)
			if cost := d.bytes - before; cost > 400 {
				t.Errorf("the edit costs %d bytes", cost)
			}
		})
	}
}

// TestUnrelated: what shares nothing with a base does not come to depend on it,
// and small bodies stay what they are.
func TestUnrelated(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	var d disk
	base := d.put(t, []byte(noise(r, 10_000)))
	for _, size := range []int{0, 1, Min - 1, Min, 10_000} {
		body := []byte(noise(r, size))
		text := d.put(t, body, base)
		if len(text.parts) != 1 || text.parts[0].source == base.parts[0].source {
			t.Errorf("%d bytes of noise are stored as %v", size, text.parts)
		}
	}
	if stored, _, err := d.codec.Pack([]byte(`{"a":1}`), base); err != nil || !bytes.Contains(stored, []byte(`{"a":1}`)) || len(stored) > 12 {
		t.Errorf("a small body is stored as %q, %v", stored, err)
	}
	if stored, _, err := d.codec.Pack([]byte(strings.Repeat("again ", 1000)), base); err != nil || len(stored) > 100 {
		t.Errorf("a body that compresses is stored in %d bytes, %v", len(stored), err)
	}
}

// TestSourcesAreBounded: a body is read with a bounded number of look-ups,
// however many bodies came before it.
func TestSourcesAreBounded(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	var d disk
	var last Text
	body := noise(r, 3000)
	for range 4 * maxSources {
		body += noise(r, 100)
		last = d.put(t, []byte(body), last)
		if n := len(sourcesOf(last.parts)); n > maxSources+1 {
			t.Fatalf("a body refers to %d others", n)
		}
	}
}

// TestRoundTrip packs bodies made of pieces of each other.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		var d disk
		var texts []Text
		for range rapid.IntRange(1, 12).Draw(rt, "bodies") {
			var body []byte
			for range rapid.IntRange(0, 6).Draw(rt, "pieces") {
				if len(texts) > 0 && rapid.Bool().Draw(rt, "copy") {
					from := texts[r.IntN(len(texts))].JSON
					i := r.IntN(len(from) + 1)
					body = append(body, from[i:i+r.IntN(len(from)-i+1)]...)
					continue
				}
				body = append(body, noise(r, rapid.IntRange(0, 3000).Draw(rt, "size"))...)
			}
			if rapid.IntRange(0, 9).Draw(rt, "odd") == 0 {
				body = append([]byte{byte(r.IntN(4))}, body...)
			}
			texts = append(texts, d.put(t, body, texts[max(0, len(texts)-4):]...))
		}
	})
}

// TestDamage: every flipped bit of a packed body is found, and so is a lost end.
func TestDamage(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 10))
	var d disk
	text := strings.Repeat(noise(r, 100), 40)
	base := d.put(t, []byte(text))
	d.put(t, []byte(text[:2000]+noise(r, 50)+text[2000:]), base)
	d.put(t, []byte(`{"small":true}`))
	for pos, stored := range d.stored {
		check := func(what string, damaged []byte) {
			if back, err := d.codec.Unpack(damaged, d.source); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("body %d, %s: %d bytes, %v", pos, what, len(back.JSON), err)
			}
		}
		for bit := range 8 * len(stored) {
			stored[bit/8] ^= 1 << (bit % 8)
			check(fmt.Sprintf("bit %d", bit), stored)
			stored[bit/8] ^= 1 << (bit % 8)
		}
		for n := range stored {
			check(fmt.Sprintf("%d bytes", n), stored[:n])
		}
	}
}

// TestMissingSource: the error of a look-up comes through.
func TestMissingSource(t *testing.T) {
	t.Parallel()
	var d disk
	text := noise(rand.New(rand.NewPCG(1, 1)), 5000)
	d.put(t, []byte(text+"!"), d.put(t, []byte(text)))
	gone := errors.New("erased")
	if _, err := d.codec.Unpack(d.stored[10], func(int64) ([]byte, error) { return nil, gone }); !errors.Is(err, gone) {
		t.Errorf("unpack without its source: %v", err)
	}
	if _, err := d.codec.Unpack(d.stored[10], func(int64) ([]byte, error) { return []byte("short"), nil }); !errors.Is(err, ErrCorrupt) {
		t.Errorf("unpack with a wrong source: %v", err)
	}
}

// FuzzUnpack: no stored bytes make it panic, and what it accepts packs again.
func FuzzUnpack(f *testing.F) {
	var d disk
	text := strings.Repeat(noise(rand.New(rand.NewPCG(1, 1)), 100), 40)
	d.put(f, []byte(text+"!"), d.put(f, []byte(text)))
	for _, stored := range d.stored {
		f.Add(stored[:len(stored)-4])
	}
	f.Add([]byte{formText, '0'})
	var codec Codec
	f.Fuzz(func(t *testing.T, stored []byte) {
		source := func(int64) ([]byte, error) { return []byte(text), nil }
		for _, s := range [][]byte{stored, seal(bytes.Clone(stored))} {
			back, err := codec.Unpack(s, source)
			if err != nil {
				if !errors.Is(err, ErrCorrupt) {
					t.Fatalf("unpack: %v", err)
				}
				continue
			}
			again, _, err := codec.Pack(back.JSON)
			if err != nil {
				t.Fatal(err)
			}
			if twice, err := codec.Unpack(again, source); err != nil || !bytes.Equal(twice.JSON, back.JSON) {
				t.Fatalf("pack again: %v", err)
			}
		}
	})
}

// FuzzPack: whatever text and base are, the text comes back.
func FuzzPack(f *testing.F) {
	text := strings.Repeat(noise(rand.New(rand.NewPCG(1, 1)), 300), 20)
	f.Add([]byte(text), []byte(text[500:]))
	f.Add([]byte(text), []byte{})
	f.Fuzz(func(t *testing.T, text, base []byte) {
		var d disk
		d.put(t, text, d.put(t, base))
	})
}

func BenchmarkPack(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var said []string
	for range 100 {
		said = append(said, noise(r, 2000))
	}
	prose := strings.Repeat("The quick brown fox jumps over the lazy dog while "+noise(r, 20), 900)
	for _, bench := range []struct {
		name       string
		body, base string
	}{
		{"next call of 200 KB", string(conversation(said, 100)), string(conversation(said, 99))},
		{"noise of 64 KB", noise(r, 65536), noise(r, 65536)},
		{"noise of 64 KB alone", noise(r, 65536), ""},
		{"text of 64 KB alone", prose[:60000], ""},
		{"noise of 4 KB alone", noise(r, 4096), ""},
		{"text of 4 KB alone", prose[:4096], ""},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var d disk
			var bases []Text
			if bench.base != "" {
				bases = append(bases, d.put(b, []byte(bench.base)))
			}
			body := []byte(bench.body)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				stored, _, err := d.codec.Pack(body, bases...)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(stored)), "stored-B")
			}
		})
	}
}
