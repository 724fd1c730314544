package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The script for bash completes in a bash that has nothing else, and does not
// stand in the way of one that has its own way to take a line apart.
func TestBashCompletion(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	tests := []struct{ words, at, want string }{
		{"kernelctl ex ls --status b", "4", "blocked"},
		{"kernelctl approvals gr", "2", "grant"},
		{"kernelctl ex ls --status = b", "5", "blocked"}, // how bash cuts --status=b
		{"kernelctl ex ls --status = b -o js", "7", "json jsonl"},
		{"kernelctl qqq", "1", ""},
	}
	for _, tt := range tests {
		script := `source <(kernelctl completion bash)
COMP_WORDS=(` + tt.words + `) COMP_CWORD=` + tt.at + ` COMP_TYPE=9
COMP_LINE="${COMP_WORDS[*]}"; COMP_POINT=${#COMP_LINE}
__start_kernelctl 2>/dev/null # compopt works only while a line is typed
echo "${COMPREPLY[*]}"`
		cmd := exec.Command(bash, "--norc", "--noprofile", "-c", script)
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if got := strings.Join(strings.Fields(string(out)), " "); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.words, got, err, tt.want)
		}
	}
	script := `_get_comp_words_by_ref() { echo mine; }; source <(kernelctl completion bash); _get_comp_words_by_ref`
	if out, err := exec.Command(bash, "-c", script).CombinedOutput(); err != nil || string(out) != "mine\n" {
		t.Errorf("what was there was replaced: %q, %v", out, err)
	}
}
