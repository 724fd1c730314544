package wire

import (
	"bytes"
	"encoding/json"
)

// Marshal is the JSON of v, without the HTML escapes of json.Marshal: a value
// that a client sent comes back with the same characters.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// List is a slice that is never null: a nil List is written as [].
type List[T any] []T

// MarshalJSON writes the JSON array.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return Marshal([]T(l))
}

// Labels are the free-form marks of an execution, never null: nil Labels are
// written as {}.
type Labels map[string]string

// MarshalJSON writes the JSON object, keys sorted.
func (l Labels) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("{}"), nil
	}
	return Marshal(map[string]string(l))
}
