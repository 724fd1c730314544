package policy

import "github.com/agentkernel/kernelctl/internal/canonjson"

// arguments reads the arguments of one call, each at most once, however many
// rules look at it: finding one walks the text, and that may be long.
type arguments struct {
	args     []byte
	pointers []canonjson.Pointer
	few      [8]argument
	many     []argument // instead of few, for a bundle that looks at more
}

// argument is one argument of a call.
type argument struct {
	looked bool
	found  bool
	value  []byte // as sent
	text   []byte // see content; nil until it is needed
}

func (a *arguments) at(i int) *argument {
	one := a.slot(i)
	if !one.looked {
		one.looked = true
		one.value, one.found = canonjson.Lookup(a.args, a.pointers[i])
	}
	return one
}

func (a *arguments) slot(i int) *argument {
	if len(a.pointers) <= len(a.few) {
		return &a.few[i]
	}
	if a.many == nil {
		a.many = make([]argument, len(a.pointers))
	}
	return &a.many[i]
}

// content is what an argument that was found is compared by: the content of a
// string, the JSON text of a number, boolean or null, the canonical JSON of
// anything else.
func (a *argument) content() []byte {
	if a.text != nil {
		return a.text
	}
	switch canonjson.Kind(a.value) {
	case '"':
		a.text, _ = canonjson.Content(a.value, nil)
	case '{', '[':
		a.text = canonjson.AppendChecked(nil, a.value)
	default:
		a.text = a.value
	}
	return a.text
}
