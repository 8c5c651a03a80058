// Package export writes runs in the formats of other tools: benchstat, HdrHistogram's plotter, Prometheus, and spreadsheets.
package export
