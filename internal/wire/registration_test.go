package wire_test

import (
	"strings"
	"testing"

	"github.com/agentkernel/kernelctl/internal/wire"
)

func TestValidateWebhookURL(t *testing.T) {
	t.Parallel()
	tests := map[string]string{ // URL → part of the problem, "" for none
		"http://127.0.0.1:9000/webhook":                     "",
		"https://agent.example":                             "",
		"https://agent.example/a?b=c&d=%20":                 "",
		"http://[::1]:9000/":                                "",
		"HTTP://Agent.Example/":                             "",
		"":                                                  "empty",
		"agent.example/webhook":                             "absolute http or https",
		"/webhook":                                          "absolute http or https",
		"ftp://agent.example/":                              "absolute http or https",
		"http:///webhook":                                   "absolute http or https",
		"http:agent.example":                                "absolute http or https",
		"http://:8080/":                                     "absolute http or https",
		"http://u:hunter2@agent.example/":                   "credentials",
		"http://@agent.example/":                            "credentials",
		"http://agent.example/#x":                           "fragment",
		"http://agent.example/#":                            "fragment",
		"http://agent.example:0/":                           "port",
		"http://agent.example:/":                            "port",
		"http://agent.example:65536/":                       "port",
		"http://agent.example:hunter2/":                     "port",
		"http://agent.example/%zz":                          "escape",
		"http://hunter2 x/":                                 "host name",
		" http://agent.example/":                            "not a URL",
		"http://agent.example/\n":                           "not a URL",
		"http://agent.example/" + strings.Repeat("x", 2048): "at most 2048",
	}
	for in, want := range tests {
		err := wire.ValidateWebhookURL(in)
		switch {
		case err == nil && want != "":
			t.Errorf("ValidateWebhookURL(%q) = nil, want a problem with %q", in, want)
		case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
			t.Errorf("ValidateWebhookURL(%q) = %q, want %q", in, err, want)
		case err != nil && strings.Contains(err.Error(), "hunter2"):
			t.Errorf("ValidateWebhookURL(%q) = %q, which repeats a part of the URL", in, err)
		}
	}
}

func TestValidateAgent(t *testing.T) {
	t.Parallel()
	for in, good := range map[string]bool{"shell-1": true, "": false, "a b": false, strings.Repeat("x", 129): false} {
		if err := wire.ValidateAgentID(in); (err == nil) != good {
			t.Errorf("ValidateAgentID(%q) = %v, want good %t", in, err, good)
		}
	}
	for in, good := range map[wire.Secret]bool{"s": true, "": false} {
		if err := wire.ValidateSecret(in); (err == nil) != good {
			t.Errorf("ValidateSecret(%q) = %v, want good %t", string(in), err, good)
		}
	}
	for in, good := range map[int64]bool{0: true, 9: true, 60: true, -1: false, 1 << 40: false} {
		if err := wire.ValidateLeaseTimeoutSeconds(in); (err == nil) != good {
			t.Errorf("ValidateLeaseTimeoutSeconds(%d) = %v, want good %t", in, err, good)
		}
	}
}
