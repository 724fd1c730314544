package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
)

func newCompletion(f *factory) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	cmd := &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the completion script of a shell",
		Long: `Prints a script that teaches a shell to complete commands, flags, ids, agents,
contexts, statuses and types. Shells: bash, zsh, fish, powershell.

  bash        kernelctl completion bash > /etc/bash_completion.d/kernelctl
              (or ~/.local/share/bash-completion/completions/kernelctl)
  zsh         kernelctl completion zsh > "${fpath[1]}/_kernelctl"
  fish        kernelctl completion fish > ~/.config/fish/completions/kernelctl.fish
  powershell  kernelctl completion powershell | Out-String | Invoke-Expression

What the server knows is asked for at most 300 ms, and kept for 5 seconds.`,
		Example:   `  source <(kernelctl completion bash)`,
		ValidArgs: shells,
		Args:      takes(1, 1, "a shell: bash, zsh, fish or powershell"),
	}
	cmd.RunE = f.do(traits{lenient: true}, func(_ context.Context, s *session) error {
		root := s.cmd.Root()
		switch shell := s.args[0]; shell {
		case "bash":
			return root.GenBashCompletionV2(s.out, true)
		case "zsh":
			return root.GenZshCompletion(s.out)
		case "fish":
			return root.GenFishCompletion(s.out, true)
		case "powershell":
			return root.GenPowerShellCompletionWithDesc(s.out)
		default:
			e := exit.Usagef("no completion for %q", shell).Because("it is one of bash, zsh, fish, powershell")
			if near := nearest(shell, shells); near != "" {
				e = e.Try("kernelctl completion %s", near)
			}
			return e
		}
	})
	return cmd
}
