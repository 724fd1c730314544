// Command kernelctl is the whole program: server, command line and dashboard.
package main

import (
	"context"
	"os"

	"github.com/agentkernel/kernelctl/internal/cli"
	"github.com/agentkernel/kernelctl/internal/serve"
	"github.com/agentkernel/kernelctl/internal/tui"
)

func main() {
	stdio := cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	os.Exit(cli.Run(context.Background(), os.Args[1:], stdio, options()))
}

// options are the commands of the packages that the command line does not import.
func options() cli.Options { return cli.Options{Commands: append(serve.Commands(), tui.Commands()...)} }
