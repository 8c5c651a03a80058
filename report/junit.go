package report

import (
	"encoding/xml"
	"io"
	"strconv"
	"time"
)

// The elements of JUnit XML that Jenkins and GitLab read.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name      string      `xml:"name,attr"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Errors    int         `xml:"errors,attr"`
		Skipped   int         `xml:"skipped,attr"`
		Time      string      `xml:"time,attr"`
		Timestamp string      `xml:"timestamp,attr,omitempty"`
		Cases     []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name      string        `xml:"name,attr"`
		ClassName string        `xml:"classname,attr"`
		Time      string        `xml:"time,attr"`
		Failure   *junitProblem `xml:"failure"`
		Error     *junitProblem `xml:"error"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit renders a result as JUnit XML. A run has one suite for the gates, one per cell with its checks, one for findings and one for the run itself.
// A case that failed is a failure; a case without enough evidence is an error.
func JUnit(tests Tests) Report {
	return func(w io.Writer) error {
		whole := junitSuites{Name: "zkbench " + tests.Name}
		seconds := 0.0
		for _, c := range tests.Cases {
			n := len(whole.Suites)
			name := tests.Name + "." + c.Suite
			if n == 0 || whole.Suites[n-1].Name != name {
				suite := junitSuite{Name: name, Time: junitTime(c.Seconds)}
				if !tests.Started.IsZero() {
					suite.Timestamp = tests.Started.UTC().Format("2006-01-02T15:04:05")
				}
				whole.Suites, n = append(whole.Suites, suite), n+1
			}
			suite := &whole.Suites[n-1]
			one := junitCase{Name: c.Name, ClassName: "zkbench." + name, Time: junitTime(0)}
			if c.Suite == "run" {
				one.Time, seconds = junitTime(c.Seconds), c.Seconds
			}
			problem := &junitProblem{Message: c.Message, Text: c.Detail}
			switch c.Answer {
			case Failed:
				problem.Type = "failed"
				one.Failure = problem
				suite.Failures++
				whole.Failures++
			case Unknown:
				problem.Type = "unknown"
				one.Error = problem
				suite.Errors++
				whole.Errors++
			}
			suite.Tests++
			whole.Tests++
			suite.Cases = append(suite.Cases, one)
		}
		whole.Time = junitTime(seconds)
		if _, err := io.WriteString(w, xml.Header); err != nil {
			return err
		}
		encoder := xml.NewEncoder(w)
		encoder.Indent("", "  ")
		if err := encoder.Encode(whole); err != nil {
			return err
		}
		_, err := io.WriteString(w, "\n")
		return err
	}
}

func junitTime(seconds float64) string {
	return strconv.FormatFloat(time.Duration(seconds*float64(time.Second)).Round(time.Millisecond).Seconds(), 'f', 3, 64)
}
