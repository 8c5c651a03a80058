// Package export writes runs in the formats of other tools: of benchstat, of HdrHistogram's plotter, of Prometheus, and of spreadsheets.
package export
