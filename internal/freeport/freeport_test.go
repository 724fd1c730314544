package freeport_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/agentkernel/kernelctl/internal/freeport"
)

func TestLoopback(t *testing.T) {
	t.Parallel()
	taken := make(map[string]bool)
	for range 50 {
		address, err := freeport.Loopback(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, port, err := net.SplitHostPort(address)
		if n, _ := strconv.Atoi(port); err != nil || n >= 32768 {
			t.Errorf("%s: a port that any connection may be given", address)
		}
		if taken[address] {
			t.Errorf("%s is in use", address)
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Errorf("%s is not free: %v", address, err)
			continue
		}
		defer func() { _ = l.Close() }()
		taken[address] = true
	}
}
