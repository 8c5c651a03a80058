package report

import (
	"fmt"
	"io"
	"strings"
)

// Annotations writes workflow commands for GitHub Actions, one per case that did not pass, at the position in a file that at returns. Without a file
// they annotate the job.
func Annotations(tests Tests, at func(Case) (file string, line, column int)) Report {
	return func(w io.Writer) error {
		for _, c := range tests.Cases {
			if c.Answer == Passed {
				continue
			}
			title := "zkbench: " + c.Name
			properties := ""
			if file, line, column := at(c); file != "" {
				properties = fmt.Sprintf("file=%s,line=%d,col=%d,", property(file), line, column)
			}
			if _, err := fmt.Fprintf(w, "::error %stitle=%s::%s\n", properties, property(title), data(c.Message)); err != nil {
				return err
			}
		}
		return nil
	}
}

// data and property escape the characters that end a workflow command, as actions/toolkit does.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
