//go:build !unix

package sqlite_test

import (
	"os/exec"
	"testing"
)

func asNobody(_ *testing.T, cmd *exec.Cmd) *exec.Cmd { return cmd }
