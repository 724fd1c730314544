package pack

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sort"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Min is the size in bytes from which on packing a body pays: a smaller one is
// stored as it is, and shares its page with others.
const Min = 2048

// minFrame is the size in bytes from which on compression pays.
const minFrame = 256

// Codec packs and unpacks. It is safe for concurrent use; the zero value is
// ready. What it needs it makes at its first use.
type Codec struct {
	encoder, decoder sync.Once
	enc              *zstd.Encoder
	dec              *zstd.Decoder
	failed           error
	indexes          sync.Pool // *[]uint32
}

// Text is a body, and how it is stored: what later bodies refer to.
type Text struct {
	JSON  []byte
	parts []part
}

// At is t stored at a position of the log.
func (t Text) At(pos int64) Text {
	parts := make([]part, len(t.parts))
	for i, p := range t.parts {
		if p.source == 0 {
			p.source = pos
		}
		parts[i] = p
	}
	return Text{t.JSON, parts}
}

// Pack encodes a text. Of the bases, which are stored already, the one most like
// it is referred to, if that pays. The text returned remembers how it is stored.
func (c *Codec) Pack(json []byte, bases ...Text) (stored []byte, t Text, err error) {
	whole := Text{json, []part{{length: len(json)}}}
	if len(json) < Min || len(json) > maxText {
		return Plain(json), whole, nil
	}
	if parts := c.refer(json, bases); parts != nil {
		stored, err := c.packParts(json, parts)
		return stored, Text{json, parts}, err
	}
	frame, err := c.compress([]byte{formZstd}, json)
	if err != nil || len(frame) > len(json)-len(json)/8 {
		return Plain(json), whole, err
	}
	return seal(frame), whole, nil
}

// Plain is a text stored as it is.
func Plain(json []byte) []byte {
	stored := make([]byte, 0, 1+len(json)+crc32.Size)
	return seal(append(append(stored, formText), json...))
}

// refer is text in parts, as far as a base has them; nil when that does not pay.
func (c *Codec) refer(text []byte, bases []Text) []part {
	if len(bases) == 0 {
		return nil
	}
	base := mostLike(text, bases)
	index, _ := c.indexes.Get().(*[]uint32) // the pool holds nothing else
	if index == nil {
		index = new([]uint32)
	}
	defer c.indexes.Put(index)
	var parts partList
	for _, m := range matches(text, base.JSON, index) {
		parts.literal(m.at)
		parts.copied(base.parts, m)
	}
	parts.literal(len(text))
	if parts.own > len(text)-len(text)/4 || len(parts.parts) > maxParts || len(sourcesOf(parts.parts)) > maxSources {
		return nil
	}
	return parts.parts
}

// mostLike is the base whose beginning and end text shares most of.
func mostLike(text []byte, bases []Text) Text {
	if len(bases) == 1 {
		return bases[0]
	}
	most, like := 0, -1
	for i, b := range bases {
		n := commonPrefix(text, b.JSON)
		if n += commonSuffix(text[n:], b.JSON[n:]); n > like {
			most, like = i, n
		}
	}
	return bases[most]
}

// partList builds the parts of a text in order.
type partList struct {
	parts []part
	end   int // of what is in parts, in the text
	own   int // bytes of it that are the text's own
}

// literal makes everything up to a place of the text its own.
func (l *partList) literal(to int) {
	if n := to - l.end; n > 0 {
		l.add(part{length: n, offset: l.own})
		l.own += n
	}
}

// copied refers to what stores the matched bytes of a base.
func (l *partList) copied(base []part, m match) {
	from, to := m.base, m.base+m.length
	for i := sort.Search(len(base), func(i int) bool { return base[i].at+base[i].length > from }); from < to; i++ {
		b := base[i]
		n := min(b.at+b.length, to) - from
		if n < minPart {
			l.literal(l.end + n)
		} else {
			l.add(part{length: n, source: b.source, offset: b.offset + from - b.at})
		}
		from += n
	}
}

func (l *partList) add(p part) {
	p.at = l.end
	l.end += p.length
	if n := len(l.parts); n > 0 {
		if last := &l.parts[n-1]; last.source == p.source && last.offset+last.length == p.offset {
			last.length += p.length
			return
		}
	}
	l.parts = append(l.parts, p)
}

func (c *Codec) packParts(json []byte, parts []part) ([]byte, error) {
	var own []byte
	for _, p := range parts {
		if p.source == 0 {
			own = append(own, json[p.at:p.at+p.length]...)
		}
	}
	stored := binary.AppendUvarint([]byte{formParts}, uint64(len(own)))
	frame, err := c.frame(own)
	if err != nil {
		return nil, err
	}
	if stored = binary.AppendUvarint(stored, uint64(len(frame))); frame == nil {
		stored = append(stored, own...)
	}
	return seal(appendParts(append(stored, frame...), parts)), nil
}

// frame is text compressed; nil when that does not pay.
func (c *Codec) frame(text []byte) ([]byte, error) {
	if len(text) < minFrame {
		return nil, nil
	}
	frame, err := c.compress(nil, text)
	if len(frame) > len(text)-len(text)/8 {
		return nil, err
	}
	return frame, err
}

func (c *Codec) compress(dst, text []byte) ([]byte, error) {
	c.encoder.Do(func() {
		c.enc, c.failed = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	})
	if c.enc == nil {
		return nil, fmt.Errorf("compress a body: %w", c.failed)
	}
	return c.enc.EncodeAll(text, dst), nil
}

func (c *Codec) decompress(frame []byte) ([]byte, error) {
	c.decoder.Do(func() {
		c.dec, _ = zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxText), zstd.WithDecoderLowmem(true)) // fails for wrong options only
	})
	text, err := c.dec.DecodeAll(frame, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return text, nil
}

// Literal are the bytes that a stored body stores itself, to which others refer.
// They may be a part of stored.
func (c *Codec) Literal(stored []byte) ([]byte, error) {
	open, err := unseal(stored)
	if err != nil {
		return nil, err
	}
	switch open[0] {
	case formText:
		return open[1:], nil
	case formZstd:
		return c.decompress(open[1:])
	case formParts:
		return c.literal(&reader{left: open[1:]})
	}
	return nil, fmt.Errorf("%w: it has a form that does not exist", ErrCorrupt)
}

// literal takes the literal bytes off a body in parts.
func (c *Codec) literal(r *reader) ([]byte, error) {
	size := int(r.number(maxText))
	framed := int(r.number(maxText))
	if framed == 0 {
		own := r.bytes(size)
		if r.bad {
			return nil, fmt.Errorf("%w: it ends early", ErrCorrupt)
		}
		return own, nil
	}
	frame := r.bytes(framed)
	if r.bad {
		return nil, fmt.Errorf("%w: it ends early", ErrCorrupt)
	}
	own, err := c.decompress(frame)
	if err == nil && len(own) != size {
		return nil, fmt.Errorf("%w: %d bytes instead of %d", ErrCorrupt, len(own), size)
	}
	return own, err
}

// Unpack decodes a stored body. source gives the literal bytes of the body of
// the event at a position; its error is passed on. The error for anything that
// Pack has not made is [ErrCorrupt].
func (c *Codec) Unpack(stored []byte, source func(pos int64) ([]byte, error)) (Text, error) {
	if len(stored) == 0 || stored[0] != formParts {
		json, err := c.Literal(stored)
		return Text{json, []part{{length: len(json)}}}, err
	}
	open, err := unseal(stored)
	if err != nil {
		return Text{}, err
	}
	r := reader{left: open[1:]}
	own, err := c.literal(&r)
	if err != nil {
		return Text{}, err
	}
	parts, sources, err := readParts(&r)
	if err != nil {
		return Text{}, err
	}
	literals := map[int64][]byte{0: own}
	for _, pos := range sources {
		if literals[pos], err = source(pos); err != nil {
			return Text{}, err
		}
	}
	size := 0
	for _, p := range parts {
		if p.offset+p.length > len(literals[p.source]) {
			return Text{}, fmt.Errorf("%w: it refers to more than event %d stores", ErrCorrupt, p.source)
		}
		size += p.length
	}
	json := make([]byte, 0, size)
	for _, p := range parts {
		json = append(json, literals[p.source][p.offset:p.offset+p.length]...)
	}
	return Text{json, parts}, nil
}
