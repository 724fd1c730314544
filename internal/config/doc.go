// Package config is the configuration of `kernelctl serve`: a flag wins over
// the environment, the environment over the file given with --config, and the
// file over the default. The file is the provisioning manifest: beside the
// agents it registers, it may hold settings.
//
//	server:                        # optional; the names of the flags, with _ or -
//	  listen: 0.0.0.0:8080
//	  db: data/kernel.db           # relative to the manifest
//	  bearer_token: ${API_TOKEN}
//	  webhook_allow: [agents.internal, "*.example.com"]
//	agents:
//	  - id: shell
//	    webhook_url: https://agents.internal/shell
//	    secret: ${SHELL_SECRET}    # from the environment; a name that is not set is an error
//	    lease_timeout_seconds: 60  # optional; under ten is ignored
//	    policy_file: policies/shell.yaml
//	  - id: mail
//	    webhook_url: http://127.0.0.1:9001/webhook
//	    secret: ${MAIL_SECRET}
//	    policy:                    # in place of a file
//	      default_action: allow
//
// ${NAME} is replaced in every value but those of a policy, where a $ has a
// meaning of its own; $${ stands for ${. All settings but --config, --dev and
// --dev-allow-remote may stand in the file: what switches authentication off
// is said on the command line or not at all.
//
// Everything is checked before anything is applied, and every problem is
// reported at once. The package reads files and starts no goroutine.
package config
