package server

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// object is a checked JSON object that is read field by field. Problems are
// collected, so that a client sees all of them at once.
type object struct {
	body []byte
	bad  problems
}

func parseObject(body []byte) (*object, error) {
	if len(body) == 0 {
		return nil, invalid("body", "is empty: send a JSON object")
	}
	if err := canonjson.Check(body); err != nil {
		return nil, invalid("body", "is not acceptable JSON: "+err.Error())
	}
	if canonjson.Kind(body) != '{' {
		return nil, invalid("body", "must be a JSON object")
	}
	return &object{body: body}, nil
}

// each calls field for every member; field reports whether it knows the name.
// null counts as absent. It returns what is wrong with the object.
func (o *object) each(field func(name string, value []byte) bool) error {
	err := canonjson.Members(o.body, func(name string, value []byte) error {
		if canonjson.Kind(value) == 'n' {
			value = nil
		}
		if !field(name, value) {
			o.bad.addf(name, "is not a field of this request")
		}
		return nil
	})
	if err != nil {
		return invalid("body", err.Error())
	}
	return nil
}

// raw takes any JSON value; absent leaves nil.
func (o *object) raw(value []byte, to *[]byte) bool { *to = value; return true }

func (o *object) text(name string, value []byte, to *string) bool {
	if value == nil {
		return true
	}
	s, ok := canonjson.String(value)
	if !ok {
		o.bad.add(name, "must be a string")
	}
	*to = s
	return true
}

func (o *object) integer(name string, value []byte, to **int64) bool {
	if value == nil {
		return true
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		o.bad.add(name, "must be a 64-bit integer")
		return true
	}
	*to = &n
	return true
}

func (o *object) time(name string, value []byte, to *kernel.Instant) bool {
	if value == nil {
		return true
	}
	s, ok := canonjson.String(value)
	var at wire.Time
	if ok = ok && at.UnmarshalText([]byte(s)) == nil; ok {
		_, err := at.MarshalText() // in UTC it may lie in the year 10000
		ok = err == nil
	}
	if !ok {
		o.bad.add(name, "must be an RFC 3339 timestamp, such as 2026-01-31T12:00:00Z")
		return true
	}
	*to = kernel.At(at.Time)
	if *to == 0 {
		*to = 1 // the epoch itself is no "none"
	}
	return true
}

func (o *object) labels(name string, value []byte, to *map[string]string) bool {
	if value == nil {
		return true
	}
	labels := make(map[string]string)
	err := canonjson.Members(value, func(k string, v []byte) error {
		s, ok := canonjson.String(v)
		field := name + "." + k
		switch {
		case !ok:
			o.bad.add(field, "must be a string")
		case k == "" || utf8.RuneCountInString(k) > wire.MaxLabelKeyChars:
			o.bad.addf(field, "key must have 1 to %d characters", wire.MaxLabelKeyChars)
		case utf8.RuneCountInString(s) > wire.MaxLabelValueChars:
			o.bad.addf(field, "must have at most %d characters", wire.MaxLabelValueChars)
		}
		labels[k] = s
		return nil
	})
	if err != nil {
		o.bad.add(name, "must be an object of texts")
	}
	if len(labels) > wire.MaxLabels {
		o.bad.addf(name, "must have at most %d entries", wire.MaxLabels)
	}
	*to = labels
	return true
}

func (o *object) require(name string, present bool) {
	if !present && !o.said(name) {
		o.bad.add(name, "is required")
	}
}

// check notes what a validation found.
func (o *object) check(name string, err error) {
	if err != nil && !o.said(name) {
		o.bad.add(name, err.Error())
	}
}

func (o *object) said(name string) bool {
	for _, p := range o.bad {
		if p.Field == name {
			return true
		}
	}
	return false
}

// queryInt reads an integer parameter of the URL. One above most counts as
// most, however many digits it has.
func (c *call) queryInt(name string, otherwise, least, most int64) (int64, error) {
	text := c.r.URL.Query().Get(name)
	if text == "" && !c.r.URL.Query().Has(name) {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if errors.Is(err, strconv.ErrRange) && n > 0 {
		err = nil
	}
	if err != nil || n < least {
		return 0, invalid(name, fmt.Sprintf("must be an integer of at least %d", least))
	}
	if most > 0 {
		n = min(n, most)
	}
	return n, nil
}
