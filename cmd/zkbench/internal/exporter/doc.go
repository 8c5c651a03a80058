// Package exporter serves the state of a run in Prometheus's format while the run is active.
//
// It is updated from the merged figures once a second and never by a session, so scrapes cost the load nothing. Times are in seconds, counters only grow
// over all cells of a run, labels come from fixed sets, and only zkbench_run_info names the run. A histogram has classic buckets and, for scrapers that
// ask for them, native ones, made from the counts of the HdrHistogram.
package exporter
