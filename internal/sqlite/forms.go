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

// query runs a list.
func (f *forms) query(ctx context.Context, db *sql.DB, text string, args ...any) (*sql.Rows, error) {
	f.mu.Lock()
	st, full := f.of[text], len(f.of) == mostForms
	f.mu.Unlock()
	if st == nil && full {
		return db.QueryContext(ctx, text, args...)
	}
	if st == nil {
		var err error
		if st, err = f.prepare(ctx, db, text); err != nil {
			return nil, err
		}
	}
	return st.QueryContext(ctx, args...)
}

func (f *forms) prepare(ctx context.Context, db *sql.DB, text string) (*sql.Stmt, error) {
	st, err := db.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if first := f.of[text]; first != nil { // somebody else was faster
		_ = st.Close() //nolint:sqlclosecheck // at once: nobody has used it
		return first, nil
	}
	if f.of == nil {
		f.of = make(map[string]*sql.Stmt)
	}
	f.of[text] = st
	return st, nil
}

func (f *forms) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, st := range f.of {
		_ = st.Close() // the pool is closed right after
	}
}
