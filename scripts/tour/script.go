package main

import (
	"context"
	"regexp"
	"time"
)

// act is a step of the tour.
type act struct {
	wait  string        // first, until the screen matches this regular expression
	say   caption       // from now on
	keys  []string      // to press, by their names in tmux
	text  string        // to type as it is
	gone  string        // then, until the screen matches this no longer
	hold  time.Duration // how long it is recorded what follows
	still string        // at the end the screen is drawn under this name
	pal   *palette      // in these colours; nil: dark
}

const (
	glance = time.Second
	look   = 2 * time.Second
	read   = 3 * time.Second
)

func keys(names ...string) []string { return names }

// script is the tour: what is pressed, what is said of it, how long it is looked at.
var script = []act{
	{wait: `restart_service(?s:.*)send_reply(?s:.*)transfer_money(?s:.*)deploy`},
	{say: caption{"kernelctl dev --ui", "a server, four agents and the dashboard in one terminal"}, hold: read},
	{say: caption{"j", "what waits for a person; what expires first stands at the top"}, keys: keys("Home"), hold: glance},
	{keys: keys("j"), hold: glance},
	{keys: keys("j"), hold: look},

	{say: caption{"g", "one key only asks: the question shows all arguments"}, keys: keys("Home"), hold: glance / 2},
	{keys: keys("g"), hold: read, still: "grant"},
	{say: caption{"enter enter", "the second one decides, and the agent runs again from the top"}, keys: keys("Enter"), hold: glance},
	{keys: keys("Enter"), hold: look},

	{say: caption{"2", "everything that runs, and ran"}, keys: keys("2"), hold: glance},
	{keys: keys("Home"), hold: look, still: "executions"},
	{say: caption{"/", "words, and fields: status: agent: rule: label:"}, keys: keys("/")},
	{text: "label:deep status:running", hold: glance},
	{keys: keys("Enter"), hold: glance},
	{say: caption{"enter", "one of them: its events and steps, and what the model says, live"}, keys: keys("Enter"), hold: read, still: "detail"},
	{hold: look},
	{say: caption{"t", "its steps: what was asked, decided and done"}, keys: keys("t"), hold: glance},
	{keys: keys("Up"), hold: glance},
	{keys: keys("Enter"), hold: look},
	{keys: keys("Escape"), hold: glance / 2},
	{keys: keys("2"), hold: glance / 2},
	{keys: keys("Escape"), hold: glance / 2},

	{say: caption{"1", "back to what waits"}, keys: keys("1"), hold: glance},
	{keys: keys("j"), hold: glance, still: "approvals"},
	{say: caption{"/", "text of others is shown, never obeyed"}, keys: keys("/")},
	{text: "rule:enterprise", hold: glance / 2},
	{keys: keys("Enter"), hold: read, still: "hostile"},
	{say: caption{"d", "a denial says why"}, keys: keys("d"), hold: glance},
	{text: "a customer does not decide", hold: glance},
	{keys: keys("Enter"), hold: glance / 2},
	{keys: keys("Enter"), hold: look},
	{keys: keys("Escape"), hold: glance / 2},

	{say: caption{"3", "what each agent may do"}, keys: keys("3"), hold: glance},
	{keys: keys("j"), hold: look},
	{say: caption{"T", "its newest execution, replayed against its policy"}, keys: keys("T"), hold: glance},
	{keys: keys("Enter"), hold: read, still: "agents"},

	{say: caption{"4", "the service in numbers"}, keys: keys("4"), hold: read, still: "metrics"},

	{say: caption{"?", "every key of the screen one is on"}, keys: keys("1"), hold: glance},
	{keys: keys("?"), hold: look},
	{keys: keys("Escape"), hold: glance},

	{keys: keys(":")},
	{text: "theme light"},
	{keys: keys("Enter"), gone: "theme"},
	{keys: keys("j"), gone: `>  denied`},
	{still: "approvals-light", pal: &light},
	{keys: keys("C-c")},
}

// play plays the script.
func (r *recorder) play(ctx context.Context) error {
	for _, a := range script {
		if err := r.act(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

func (r *recorder) act(ctx context.Context, a act) error {
	if a.wait != "" {
		if err := r.until(ctx, a.wait, regexp.MustCompile(a.wait).MatchString); err != nil {
			return err
		}
	}
	if a.say != (caption{}) {
		r.caption = a.say
	}
	if len(a.keys) > 0 {
		if err := r.press(ctx, a.keys...); err != nil {
			return err
		}
	}
	if a.text != "" {
		if err := r.enter(ctx, a.text); err != nil {
			return err
		}
	}
	if a.gone != "" {
		pattern := regexp.MustCompile(a.gone)
		if err := r.until(ctx, a.gone, func(screen string) bool { return !pattern.MatchString(screen) }); err != nil {
			return err
		}
	}
	if err := r.hold(ctx, a.hold); err != nil || a.still == "" {
		return err
	}
	if a.pal == nil {
		a.pal = &dark
	}
	return r.still(ctx, a.still, *a.pal)
}
