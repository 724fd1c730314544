// Package e2e tests the built binary from outside: real processes, real ports,
// the real SDK, kill -9. It holds no code of the product.
package e2e
