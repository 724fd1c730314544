package cli

import (
	"encoding/xml"
	"fmt"
	"io"
)

// junitSuites is a report in the format that continuous integration reads.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func writeJUnit(w io.Writer, suite string, cases []junitCase) error {
	s := junitSuite{Name: suite, Tests: len(cases), Cases: cases}
	for _, c := range cases {
		if c.Failure != nil {
			s.Failures++
		}
	}
	out, err := xml.MarshalIndent(junitSuites{Tests: s.Tests, Failures: s.Failures, Suites: []junitSuite{s}}, "", "  ")
	if err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, out)
	return err
}
