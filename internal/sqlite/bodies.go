package sqlite

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/pack"
	"github.com/agentkernel/kernelctl/internal/store"
)

const (
	// maxBases bounds the bodies kept in memory because later ones may repeat
	// them, in bytes. A conversation whose last call is not among them is read
	// from the disk.
	maxBases = 32 << 20
	// likeBases is how many bodies of one kind are kept of an execution: it may
	// hold several conversations at once.
	likeBases = 4
)

// packed is a body made ready for the disk before the writer's turn.
type packed struct {
	of     likeness
	digest kernel.Digest
	stored []byte
	text   pack.Text
	pos    int64 // where it was stored; 0: not
}

// likeness is what bodies that may repeat each other have in common.
type likeness struct {
	execution kernel.ExecutionID
	of        kernel.EventType
}

// pack makes bodies ready, in the caller's goroutine.
func (db *DB) pack(ctx context.Context, to []packed, bodies []store.Body) []packed {
	for _, b := range bodies {
		if b.JSON == nil {
			continue
		}
		p := packed{of: likeness{b.Execution, b.Of}, digest: b.Digest}
		if len(b.JSON) < pack.Min {
			p.stored = pack.Plain(b.JSON)
		} else {
			p.stored, p.text = db.packLarge(ctx, p.of, b.JSON)
		}
		to = append(to, p)
	}
	return to
}

func (db *DB) packLarge(ctx context.Context, of likeness, json []byte) ([]byte, pack.Text) {
	stored, text, err := db.codec.Pack(json, db.basesOf(ctx, of)...)
	if err != nil {
		db.log.Warn("a body is stored as it is", slog.Any("err", err))
		return pack.Plain(json), pack.Text{}
	}
	return stored, text
}

// basesOf are earlier bodies of the same kind, from memory or else the disk.
func (db *DB) basesOf(ctx context.Context, of likeness) []pack.Text {
	if of.execution.IsZero() {
		return nil
	}
	if kept := db.bases.get(of); kept != nil {
		return kept
	}
	var pos int64
	if err := db.queries.base.QueryRowContext(ctx, of.execution.UUID[:], int64(of.of)).Scan(&pos); err != nil {
		return nil // there is none, or it is not to be had: the body is stored by itself
	}
	text, err := db.unpacker(ctx).at(pos)
	if err != nil {
		return nil
	}
	return []pack.Text{text.At(pos)}
}

// stored is what to write of an event's body; nil when it has none.
func (t *tx) stored(e *kernel.Event) []byte {
	for i := range t.bodies {
		if p := &t.bodies[i]; p.digest == e.Digest {
			p.pos = e.Pos
			return p.stored
		}
	}
	if e.Body == nil {
		return nil
	}
	return pack.Plain(e.Body)
}

// bases keeps the bodies that were stored last, those used longest ago first to go.
type bases struct {
	mu    sync.Mutex
	kinds map[likeness]*list.Element
	used  list.List // of *baseList, the latest first
	bytes int
}

type baseList struct {
	of    likeness
	texts []pack.Text // the oldest first; never changed, only replaced
	bytes int
}

func (b *bases) get(of likeness) []pack.Text {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.kinds[of]
	if e == nil {
		return nil
	}
	b.used.MoveToFront(e)
	return entry(e).texts
}

// keep takes the bodies that an operation has stored.
func (b *bases) keep(bodies []packed) {
	for _, p := range bodies {
		if p.pos > 0 && len(p.text.JSON) > 0 && !p.of.execution.IsZero() {
			b.put(p.of, p.text.At(p.pos))
		}
	}
}

func (b *bases) put(of likeness, text pack.Text) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.kinds[of]
	if e == nil {
		if b.kinds == nil {
			b.kinds = make(map[likeness]*list.Element)
		}
		e = b.used.PushFront(&baseList{of: of})
		b.kinds[of] = e
	}
	b.used.MoveToFront(e)
	l := entry(e)
	texts := append(append(make([]pack.Text, 0, likeBases), l.texts[max(0, len(l.texts)-likeBases+1):]...), text)
	b.bytes -= l.bytes
	l.texts, l.bytes = texts, 0
	for _, t := range texts {
		l.bytes += len(t.JSON)
	}
	for b.bytes += l.bytes; b.bytes > maxBases && b.used.Len() > 1; {
		oldest := entry(b.used.Back())
		b.used.Remove(b.used.Back())
		delete(b.kinds, oldest.of)
		b.bytes -= oldest.bytes
	}
}

func entry(e *list.Element) *baseList {
	l, _ := e.Value.(*baseList) // the list holds nothing else
	return l
}

// errErased says that a body, or one that it refers to, is not there any more.
var errErased = errors.New("the body was erased")

// unpacker decodes stored bodies; it reads a source once, for all that refer to it.
type unpacker struct {
	codec   *pack.Codec
	read    func(pos int64) (stored []byte, err error)
	sources map[int64][]byte
	bytes   int
}

// maxSourceBytes bounds what an unpacker remembers.
const maxSourceBytes = 64 << 20

func (db *DB) unpacker(ctx context.Context) *unpacker {
	return &unpacker{codec: &db.codec, read: func(pos int64) (stored []byte, err error) {
		err = db.queries.body.QueryRowContext(ctx, pos).Scan(&stored)
		return stored, err
	}}
}

// source is what the body of the event at pos stores itself.
func (u *unpacker) source(pos int64) ([]byte, error) {
	if literal, ok := u.sources[pos]; ok {
		return literal, nil
	}
	stored, err := u.read(pos)
	if err != nil {
		return nil, err
	}
	if stored == nil {
		return nil, errErased
	}
	literal, err := u.codec.Literal(stored)
	if err != nil {
		return nil, fmt.Errorf("body of event %d: %w", pos, err)
	}
	if u.sources == nil || u.bytes > maxSourceBytes {
		u.sources, u.bytes = make(map[int64][]byte), 0
	}
	u.sources[pos] = literal
	u.bytes += len(literal)
	return literal, nil
}

// at is the text of the body at pos.
func (u *unpacker) at(pos int64) (pack.Text, error) {
	stored, err := u.read(pos)
	if err != nil {
		return pack.Text{}, err
	}
	if stored == nil {
		return pack.Text{}, errErased
	}
	return u.codec.Unpack(stored, u.source)
}

// all replaces stored bodies by their texts: nil by nil, and nil for those that
// were erased. Whoever calls it holds no open rows: it may need a connection.
func (u *unpacker) all(bodies ...*[]byte) error {
	for _, b := range bodies {
		if *b == nil {
			continue
		}
		text, err := u.codec.Unpack(*b, u.source)
		switch {
		case errors.Is(err, errErased):
			*b = nil
		case err != nil:
			return fmt.Errorf("read a body: %w: %w", store.ErrDamaged, err)
		default:
			*b = text.JSON
		}
	}
	return nil
}
