package pack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
)

// A stored body begins with its form and ends with its checksum.
//
//	stored   = formText  text crc
//	         | formZstd  frame crc
//	         | formParts literal sources parts crc
//	literal  = size 0 bytes | size storedSize frame   ; what no earlier body stores; sizes > 0
//	sources  = n pos*                                 ; positions of events, ascending, as differences
//	parts    = n (source length [offset])*            ; source 0: the next bytes of literal, without offset
//	crc      = 4 bytes, little endian                 ; CRC-32C of all before it
//
// All numbers are unsigned varints (encoding/binary).
const (
	formText byte = iota + 1
	formZstd
	formParts
)

const (
	maxText    = 1 << 28 // of a body, in bytes: far above any limit on requests
	maxSources = 64      // of one body: each is a look-up when it is read
	maxParts   = 4096
)

// ErrCorrupt is the error of stored bytes that no packed body consists of.
var ErrCorrupt = errors.New("the stored body is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// part is a piece of a text: where it lies in the text, and where it is stored.
type part struct {
	at, length int
	source     int64 // position of the event that stores it; 0: the body itself
	offset     int   // in the literal bytes of the source
}

// seal ends stored bytes with their checksum.
func seal(stored []byte) []byte {
	return binary.LittleEndian.AppendUint32(stored, crc32.Checksum(stored, castagnoli))
}

// unseal is what was sealed.
func unseal(stored []byte) ([]byte, error) {
	n := len(stored) - crc32.Size
	if n < 1 || binary.LittleEndian.Uint32(stored[n:]) != crc32.Checksum(stored[:n], castagnoli) {
		return nil, fmt.Errorf("%w: its checksum does not fit", ErrCorrupt)
	}
	return stored[:n], nil
}

// appendParts encodes the sources and parts of a text.
func appendParts(dst []byte, parts []part) []byte {
	sources := sourcesOf(parts)
	dst = binary.AppendUvarint(dst, uint64(len(sources)))
	last := int64(0)
	for _, pos := range sources {
		dst = binary.AppendUvarint(dst, uint64(pos-last))
		last = pos
	}
	dst = binary.AppendUvarint(dst, uint64(len(parts)))
	for _, p := range parts {
		if p.source == 0 {
			dst = binary.AppendUvarint(dst, 0)
			dst = binary.AppendUvarint(dst, uint64(p.length))
			continue
		}
		i, _ := slices.BinarySearch(sources, p.source)
		dst = binary.AppendUvarint(dst, uint64(i)+1)
		dst = binary.AppendUvarint(dst, uint64(p.length))
		dst = binary.AppendUvarint(dst, uint64(p.offset))
	}
	return dst
}

// sourcesOf are the positions that parts refer to, ascending.
func sourcesOf(parts []part) []int64 {
	var sources []int64
	for _, p := range parts {
		if p.source == 0 {
			continue
		}
		if i, found := slices.BinarySearch(sources, p.source); !found {
			sources = slices.Insert(sources, i, p.source)
		}
	}
	return sources
}

// reader takes numbers and bytes off a sealed body.
type reader struct {
	left []byte
	bad  bool
}

func (r *reader) number(limit uint64) uint64 {
	n, size := binary.Uvarint(r.left)
	if size <= 0 || n > limit {
		r.bad = true
		return 0
	}
	r.left = r.left[size:]
	return n
}

func (r *reader) bytes(n int) []byte {
	if n > len(r.left) {
		r.bad = true
		return nil
	}
	b := r.left[:n]
	r.left = r.left[n:]
	return b
}

// readParts decodes what appendParts wrote.
func readParts(r *reader) (parts []part, sources []int64, err error) {
	last := int64(0)
	for n := r.number(maxSources); n > 0 && !r.bad; n-- {
		last += int64(r.number(1<<62 - uint64(last)))
		sources = append(sources, last)
	}
	at, own := 0, 0
	for n := r.number(maxParts); n > 0 && !r.bad; n-- {
		p := part{at: at}
		i := r.number(uint64(len(sources)))
		p.length = int(r.number(uint64(maxText - at)))
		if i == 0 {
			p.offset = own
			own += p.length
		} else {
			p.source, p.offset = sources[i-1], int(r.number(maxText))
		}
		at += p.length
		parts = append(parts, p)
	}
	if r.bad || len(r.left) != 0 {
		return nil, nil, fmt.Errorf("%w: its parts cannot be read", ErrCorrupt)
	}
	return parts, sources, nil
}
