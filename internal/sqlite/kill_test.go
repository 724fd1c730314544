package sqlite_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/sqlite"
	"github.com/agentkernel/kernelctl/internal/store"
)

func putAgent(db *sqlite.DB) error {
	return db.Update(context.Background(), func(tx store.Tx) error {
		return tx.PutAgent(store.AgentSpec{ID: "mailer", WebhookURL: "http://127.0.0.1/", Secret: "secret"}, now())
	})
}

func now() kernel.Instant { return kernel.At(time.Now()) }

// create starts an execution and returns its id once that is acknowledged.
func create(db *sqlite.DB, input []byte) (kernel.ExecutionID, error) {
	c := &kernel.CreateExecution{Agent: "mailer", Input: kernel.NewBody(input), Labels: map[string]string{"k": "v"}}
	var id kernel.ExecutionID
	err := db.Update(context.Background(), func(tx store.Tx) (err error) {
		id, err = begin(tx, c)
		return err
	})
	return id, err
}

// begin starts an execution in a transaction.
func begin(tx store.Tx, c *kernel.CreateExecution) (kernel.ExecutionID, error) {
	var seed [10]byte
	_, _ = rand.Read(seed[:])
	kernel.Stamp(c, now(), seed)
	id := kernel.ExecutionID{UUID: c.Mint.UUID()}
	return id, decide(tx, &kernel.State{ID: id}, &kernel.Lease{}, c)
}

// decide carries out a command in a transaction.
func decide(tx store.Tx, s *kernel.State, l *kernel.Lease, c kernel.Command) error {
	plan, err := kernel.Decide(s, l, c)
	if err != nil {
		return err
	}
	return tx.Save(s, l, c, &plan)
}

// childServe creates executions until it is killed, and writes the id of each
// that was acknowledged.
func childServe(args []string) error {
	db, err := sqlite.Open(context.Background(), args[0], sqlite.Options{})
	if err != nil {
		return err
	}
	go func() { _ = db.Run(context.Background()) }()
	if err := putAgent(db); err != nil {
		return err
	}
	var mu sync.Mutex
	failed := make(chan error)
	for range 8 {
		go func() {
			for {
				id, err := create(db, []byte(`{"n":1}`))
				if err != nil {
					failed <- err
					return
				}
				mu.Lock()
				_, err = fmt.Println(hex.EncodeToString(id.UUID[:]))
				mu.Unlock()
				if err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	return <-failed
}

// TestKill kills a process that writes, again and again: everything that it
// was told is there, and the log is whole.
func TestKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kernel.db")
	var acknowledged []kernel.ExecutionID
	for round := range 5 {
		cmd := child(t, "serve", path)
		cmd.Stderr = os.Stderr
		out := lines(t, cmd)
		for n := 0; out.Scan(); n++ {
			var id kernel.ExecutionID
			if b, err := hex.DecodeString(out.Text()); err != nil || copy(id.UUID[:], b) != len(id.UUID) {
				break // cut off in the middle
			}
			acknowledged = append(acknowledged, id)
			if n == 50*(round+1) {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait()            // it was killed
		report := verify(t, path) // as it lies there, before anybody recovers it
		if !report.OK() {
			t.Fatalf("round %d: %v", round, report.Problems)
		}
		db, err := sqlite.Open(context.Background(), path, sqlite.Options{})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for _, id := range acknowledged {
			if _, err := db.Execution(context.Background(), id); err != nil {
				t.Errorf("round %d: acknowledged, and lost: %v", round, err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(acknowledged) < 500 {
		t.Errorf("%d executions were acknowledged: the test has to see more", len(acknowledged))
	}
}

// hold keeps the writer busy until it is released.
func hold(db *sqlite.DB, held chan<- struct{}, release <-chan struct{}) error {
	return db.Update(context.Background(), func(store.Tx) error {
		close(held)
		<-release
		return nil
	})
}
