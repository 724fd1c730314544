package sqlite

import (
	"context"
	"database/sql"
	"sync"
)

// forms are the queries of lists. Their text depends on what is asked for, not
// on the values, so there are few of them and each is compiled once: doing it
// again would take as long as reading half a page.
type forms struct {
	mu sync.Mutex
	of map[string]*sql.Stmt
}

// mostForms bounds what the compiled ones take on each connection, however many
// labels are asked for.
const mostForms = 32

// bound ends a query with a limit. Were it a parameter and nothing else, SQLite
// would compile the query again for every value.
const bound = " LIMIT ?+0"

// list calls scan for every row of a list.
func (db *DB) list(ctx context.Context, text string, args []any, scan func(scanner) error) error {
	st, err := db.queries.lists.get(ctx, db.read, text)
	switch {
	case err != nil:
		return err
	case st != nil:
		return all(ctx, st, scan, args...)
	}
	rows, err := db.read.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	return each(rows, scan)
}

// get is the compiled form of a text, or nil when there are too many of them.
func (f *forms) get(ctx context.Context, db *sql.DB, text string) (*sql.Stmt, error) {
	f.mu.Lock()
	st, full := f.of[text], len(f.of) >= mostForms
	f.mu.Unlock()
	if st != nil || full {
		return st, nil
	}
	st, err := db.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return f.keep(text, st), nil
}

// keep keeps a new statement, unless others were faster: then it is theirs, or
// nil, that counts.
func (f *forms) keep(text string, st *sql.Stmt) *sql.Stmt {
	f.mu.Lock()
	defer f.mu.Unlock()
	if first := f.of[text]; first != nil || len(f.of) >= mostForms {
		_ = st.Close() // nobody has used it
		return first
	}
	if f.of == nil {
		f.of = make(map[string]*sql.Stmt)
	}
	f.of[text] = st
	return st
}

func (f *forms) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, st := range f.of {
		_ = st.Close() // the pool is closed right after
	}
}
