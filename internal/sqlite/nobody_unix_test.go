//go:build unix

package sqlite_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// asNobody makes cmd run without root's rights, from a copy of this binary
// that anybody may run.
func asNobody(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	if os.Getuid() != 0 {
		return cmd
	}
	folder := t.TempDir()
	for dir := folder; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) { //nolint:usetesting // the folder that holds all temporary ones
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// Not copied in here: a process that another test starts at that moment
	// would inherit the open file, and what is open for writing cannot be run.
	binary := filepath.Join(folder, "binary")
	if out, err := exec.CommandContext(t.Context(), "cp", cmd.Path, binary).CombinedOutput(); err != nil {
		t.Fatalf("copy the binary: %v: %s", err, out)
	}
	if err := os.Chmod(binary, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd.Path = binary
	const nobody = 65534
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd
}
