// Package freeport finds addresses for servers that are started later, and again
// on the same address after they were killed.
package freeport

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// The ports to choose from lie below those that systems give to whoever asks for
// any (from 32768 on with Linux, from 49152 on with most others). One of those
// may be somebody's before the server is there: a client that tries to reach it
// may even be given that very port, and then talks to itself.
const (
	lowest  = 10_000
	highest = 30_000
	tries   = 100
)

// Loopback is a loopback address, host:port, on which nobody listens.
func Loopback(ctx context.Context) (string, error) {
	var err error
	for range tries {
		port := lowest + rand.IntN(highest-lowest) //nolint:gosec // guards nothing
		var l net.Listener
		if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return l.Addr().String(), l.Close()
		}
	}
	return "", fmt.Errorf("find a free port: %w", err)
}
