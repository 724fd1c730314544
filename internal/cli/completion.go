package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
)

// bashWords is what the script for bash needs of the package bash-completion,
// for where that is missing: the words of the line, with those joined again that
// bash cuts at = and :.
const bashWords = `# Where the package bash-completion is missing, this much of it will do.
if ! declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref()
    {
        local i
        words=() cword=0
        for i in "${!COMP_WORDS[@]}"; do
            if ((i > 0)) && [[ ${COMP_WORDS[i]} == [=:] || ${COMP_WORDS[i-1]} == [=:] ]]; then
                words[${#words[@]}-1]+=${COMP_WORDS[i]}
            else
                words+=("${COMP_WORDS[i]}")
            fi
            ((i == COMP_CWORD)) && cword=$((${#words[@]} - 1))
        done
        cur=${words[cword]} prev=${words[cword-1]}
    }
fi

`

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

The script for bash needs nothing else; with the package bash-completion it uses that.
What the server knows is asked for at most 300 ms, and kept for 5 seconds.`,
		Example:   `  source <(kernelctl completion bash)`,
		ValidArgs: shells,
		Args:      takes(1, 1, "a shell: bash, zsh, fish or powershell"),
	}
	cmd.RunE = f.do(traits{lenient: true}, func(_ context.Context, s *session) error {
		root := s.cmd.Root()
		switch shell := s.args[0]; shell {
		case "bash":
			if _, err := io.WriteString(s.out, bashWords); err != nil {
				return err
			}
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
