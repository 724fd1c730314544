// Command kernelctl is the whole program: server, command line and dashboard.
package main

import (
	"context"
	"os"

	"github.com/agentkernel/kernelctl/internal/cli"
	"github.com/agentkernel/kernelctl/internal/serve"
)

func main() {
	stdio := cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	os.Exit(cli.Run(context.Background(), os.Args[1:], stdio, cli.Options{Commands: serve.Commands()}))
}
