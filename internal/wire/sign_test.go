package wire_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/agentkernel/kernelctl/internal/wire"
)

func TestSign(t *testing.T) {
	t.Parallel()
	// RFC 4231, test case 2.
	got := wire.Sign("Jefe", []byte("what do ya want for nothing?"))
	want := "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
	if got != want {
		t.Errorf("Sign = %s, want %s", got, want)
	}
	if nothing, empty := wire.Sign("k", nil), wire.Sign("k", []byte{}); nothing != empty {
		t.Errorf("Sign of no body = %s, of an empty one %s, want the same", nothing, empty)
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	const secret = wire.Secret("s3cret")
	body := []byte(`{"a":1}`)
	good := wire.Sign(secret, body)
	hex := strings.TrimPrefix(good, "sha256=")
	tests := []struct {
		name   string
		secret wire.Secret
		body   string
		header string
		want   bool
	}{
		{"right", secret, `{"a":1}`, good, true},
		{"another body", secret, `{"a":2}`, good, false},
		{"another secret", "s3creT", `{"a":1}`, good, false},
		{"upper-case digits", secret, `{"a":1}`, "sha256=" + strings.ToUpper(hex), false},
		{"upper-case prefix", secret, `{"a":1}`, "SHA256=" + hex, false},
		{"no prefix", secret, `{"a":1}`, hex, false},
		{"white space before", secret, `{"a":1}`, " " + good, false},
		{"white space after", secret, `{"a":1}`, good + " ", false},
		{"cut short", secret, `{"a":1}`, good[:len(good)-1], false},
		{"too long", secret, `{"a":1}`, good + "0", false},
		{"empty", secret, `{"a":1}`, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := wire.Verify(tt.secret, []byte(tt.body), tt.header); got != tt.want {
				t.Errorf("Verify(%q) = %t, want %t", tt.header, got, tt.want)
			}
		})
	}
}

func TestSecretIsNotPrinted(t *testing.T) {
	t.Parallel()
	in := wire.RegisterAgent{ID: "a", Secret: "hush"}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("m", "secret", in.Secret)
	for _, got := range []string{
		fmt.Sprint(in), fmt.Sprintf("%+v %#v", in, in), fmt.Sprintf("%s %v %q", in.Secret, in.Secret, in.Secret), log.String(),
	} {
		if strings.Contains(got, "hush") {
			t.Errorf("secret is printed: %s", got)
		}
	}
	b, err := wire.Marshal(in)
	if err != nil || !strings.Contains(string(b), `"secret":"hush"`) {
		t.Errorf("Marshal = %s, %v, want the secret in it", b, err)
	}
}

func FuzzVerify(f *testing.F) {
	f.Add("k", []byte("body"), wire.Sign("k", []byte("body")))
	f.Add("", []byte(nil), "sha256=")
	f.Add("k", []byte("body"), strings.ToUpper(wire.Sign("k", []byte("body"))))
	f.Fuzz(func(t *testing.T, secret string, body []byte, header string) {
		want := wire.Sign(wire.Secret(secret), body) == header
		if got := wire.Verify(wire.Secret(secret), body, header); got != want {
			t.Errorf("Verify(%q, %q, %q) = %t, want %t", secret, body, header, got, want)
		}
	})
}
