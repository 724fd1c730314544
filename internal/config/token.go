package config

import (
	"bytes"
	"errors"
	"io"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// The bounds of a bearer token.
const (
	minToken     = 16 // characters
	maxTokenFile = 64 << 10
)

// token reads the bearer token. No message holds it, or a part of it.
func (l *layers) token(stdin io.Reader) wire.Secret {
	direct, file := l.rank(keyToken), l.rank(keyTokenFile)
	switch {
	case direct == fromDefault && file == fromDefault:
		l.problem(keyToken, "is missing: set SERVICE_BEARER_TOKEN or --bearer-token-file to at least %d characters, or start with --dev, which asks for no credentials and serves this machine only", minToken)
		return ""
	case direct == file:
		l.problem(keyToken, "is given twice: leave out either it or %s", keyTokenFile)
		return ""
	case direct > file:
		return l.checkToken(keyToken, l.text(keyToken))
	}
	text, err := l.tokenFile(stdin)
	if err != nil {
		l.problem(keyTokenFile, "cannot read the token from %s: %s", l.shown(keyTokenFile), err)
		return ""
	}
	return l.checkToken(keyTokenFile, text)
}

func (l *layers) tokenFile(stdin io.Reader) (string, error) {
	name := l.text(keyTokenFile)
	if name == "" {
		return "", errors.New("the name is empty")
	}
	var text []byte
	var err error
	if name != "-" {
		text, err = readFile(l.path(keyTokenFile), maxTokenFile)
	} else if stdin != nil {
		text, err = readAll(stdin, maxTokenFile)
	}
	return string(bytes.TrimSpace(text)), err
}

// checkToken takes a token that can stand in a header and is not too short.
func (l *layers) checkToken(name, token string) wire.Secret {
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			l.problem(name, "the token has a space or another character that no header takes: use letters, digits and punctuation")
			return ""
		}
	}
	if len(token) < minToken {
		l.problem(name, "the token is too short: at least %d characters are needed, such as those of openssl rand -hex 32", minToken)
		return ""
	}
	return wire.Secret(token)
}
