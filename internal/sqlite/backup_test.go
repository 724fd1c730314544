package sqlite_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/sqlite"
	"github.com/agentkernel/kernelctl/internal/store"
)

func backup(t *testing.T, from, to string, opts sqlite.BackupOptions) sqlite.BackupInfo {
	t.Helper()
	info, err := sqlite.Backup(context.Background(), from, to, opts)
	if err != nil {
		t.Fatalf("Backup: %v", err)
	}
	return info
}

func TestBackup(t *testing.T) {
	t.Parallel()
	from, folder := filled(t), t.TempDir()
	to := filepath.Join(folder, "copy's 1?.db")
	info := backup(t, from, to, sqlite.BackupOptions{})
	content, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	if want := (sqlite.BackupInfo{Path: to, Size: int64(len(content)), SHA256: sha256.Sum256(content)}); info != want {
		t.Errorf("Backup = %+v, want %+v", info, want)
	}
	stat, err := os.Stat(to)
	if err != nil {
		t.Fatal(err)
	}
	if stat.Mode().Perm() != 0o600 {
		t.Errorf("the copy has mode %v: others can read the secrets in it", stat.Mode())
	}
	if report := verify(t, to); !report.OK() || report.Events != verify(t, from).Events {
		t.Errorf("the copy: %+v", report)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
		t.Errorf("beside the copy: %v, %v; want nothing", entries, err)
	}
	db := open(t, to, sqlite.Options{})
	if agents, err := db.Agents(context.Background()); err != nil || len(agents) != 1 || agents[0].Secret == "" {
		t.Errorf("agents of the copy: %v, %v", agents, err)
	}
}

func TestBackupKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	from := made(t)
	to := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(to, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if _, err := sqlite.Backup(ctx, from, to, sqlite.BackupOptions{}); !errors.Is(err, sqlite.ErrExists) {
		t.Errorf("Backup over a file: %v, want %v", err, sqlite.ErrExists)
	}
	if content, err := os.ReadFile(to); err != nil || !bytes.Equal(content, []byte("precious")) {
		t.Errorf("the file that was there: %q, %v", content, err)
	}
	backup(t, from, to, sqlite.BackupOptions{Force: true})
	verify(t, to)
	for _, dest := range []string{from, filepath.Dir(to), filepath.Join(to, "x"), filepath.Join(filepath.Dir(to), "no", "x")} {
		if _, err := sqlite.Backup(ctx, from, dest, sqlite.BackupOptions{Force: true}); err == nil {
			t.Errorf("Backup to %s: no error", dest)
		}
	}
	if _, err := sqlite.Backup(ctx, filepath.Join(t.TempDir(), "none.db"), to+"2", sqlite.BackupOptions{}); err == nil {
		t.Error("Backup of nothing: no error")
	}
	if _, err := os.Stat(to + "2"); err == nil {
		t.Error("a backup of nothing left a file")
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := sqlite.Backup(canceled, from, to+"3", sqlite.BackupOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Backup after a cancel: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(to), "*.part")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestBackupOfADamagedFile refuses to make a backup that is none.
func TestBackupOfADamagedFile(t *testing.T) {
	t.Parallel()
	from := filled(t)
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	for i := 8 * 4096; i < 12*4096; i++ {
		content[i] ^= 0x55
	}
	if err := os.WriteFile(from, content, 0o600); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "copy.db")
	if _, err := sqlite.Backup(context.Background(), from, to, sqlite.BackupOptions{}); err == nil {
		t.Error("Backup of a damaged file: no error")
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("the backup of a damaged file is there")
	}
	if report, err := sqlite.Verify(context.Background(), from, sqlite.VerifyOptions{}); err == nil && report.OK() {
		t.Error("Verify of a damaged file finds nothing")
	}
}

// TestBackupAndVerifyLive run beside a writer, from this process and another.
func TestBackupAndVerifyLive(t *testing.T) {
	t.Parallel()
	path := made(t)
	db := open(t, path, sqlite.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	var written atomic.Int64
	done := make(chan struct{})
	some := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			err := db.Update(context.Background(), func(tx store.Tx) error {
				return tx.PutAgent(store.AgentSpec{ID: kernel.AgentID(rune('a' + i%26)), Secret: "s", WebhookURL: "u"}, kernel.Instant(i))
			})
			if err != nil {
				t.Errorf("Update: %v", err)
				return
			}
			if written.Add(1) == 10 {
				close(some)
			}
		}
	}()
	<-some
	to := filepath.Join(t.TempDir(), "copy.db")
	backup(t, path, to, sqlite.BackupOptions{})
	for _, p := range []string{path, to} {
		if report := verify(t, p); !report.OK() {
			t.Errorf("%s: %v", p, report.Problems)
		}
	}
	if out, err := child(t, "backup", path, to+"2").CombinedOutput(); err != nil {
		t.Errorf("from another process: %v: %s", err, out)
	}
	cancel()
	<-done
}

// childBackup backs up and verifies.
func childBackup(args []string) error {
	ctx := context.Background()
	if _, err := sqlite.Backup(ctx, args[0], args[1], sqlite.BackupOptions{}); err != nil {
		return err
	}
	for _, path := range args {
		report, err := sqlite.Verify(ctx, path, sqlite.VerifyOptions{})
		if err != nil {
			return err
		}
		if !report.OK() {
			return errors.New(report.Problems[0].String())
		}
	}
	return nil
}
