package report

import "github.com/zkbench/zkbench/results"

// Document is Text, Comparison, Trend or Capacity, whichever the document calls for.
func Document(d results.Document, look Look) Report {
	if d.Capacity != nil {
		return Capacity(*d.Capacity, look)
	}
	switch {
	case d.Comparison != nil:
		return Comparison(*d.Comparison, look)
	case d.Trend != nil:
		return Trend(*d.Trend, look)
	}
	return Text(*d.Run, look)
}

// DocumentMarkdown is the same in Markdown.
func DocumentMarkdown(d results.Document) Report {
	if d.Capacity != nil {
		return CapacityMarkdown(*d.Capacity)
	}
	switch {
	case d.Comparison != nil:
		return ComparisonMarkdown(*d.Comparison)
	case d.Trend != nil:
		return TrendMarkdown(*d.Trend)
	}
	return Markdown(*d.Run)
}

// DocumentJSON is the document itself.
func DocumentJSON(d results.Document) Report {
	if d.Capacity != nil {
		return CapacityJSON(*d.Capacity)
	}
	switch {
	case d.Comparison != nil:
		return ComparisonJSON(*d.Comparison)
	case d.Trend != nil:
		return TrendJSON(*d.Trend)
	}
	return JSON(*d.Run)
}

// DocumentTests are what the document passes or does not; name is that of a comparison or a trend.
func DocumentTests(name string, d results.Document) Tests {
	switch {
	case d.Comparison != nil:
		return ComparisonTests(name, *d.Comparison)
	case d.Trend != nil:
		return TrendTests(name, *d.Trend)
	}
	return RunTests(*d.Run)
}
