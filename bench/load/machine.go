package load

import (
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/metrics"
)

func markMachine(e ensemble.Ensemble) outcome.MachineMark {
	var m outcome.MachineMark
	m.Machine, m.Err = metrics.ReadMachine()
	if a, some := e.(ensemble.Accountant); some {
		m.Servers = a.Usage()
	}
	return m
}
