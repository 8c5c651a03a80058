package results

// Driver is the program that held the sessions of a cell, and what the way to it costs.
type Driver struct {
	Name      string `json:"name"` // of the library that it drives
	Version   string `json:"version"`
	Store     string `json:"store"` // where its locks are: zookeeper, or another word
	Processes int    `json:"processes"`
	Ended     int    `json:"ended,omitempty"`  // processes that ended before they were to, with their sessions
	Killed    int    `json:"killed,omitempty"` // processes that faults ended, with their sessions
	// Holds is how many grants and claims were given up in the whole cell, and Suspended how many of them the driver had said before that they cannot be relied on.
	Holds     int64 `json:"holds,omitempty"`
	Suspended int64 `json:"suspended,omitempty"`
	// CPUPerOp is the CPU time of the processes in the steady phase, by what was done in it; null where the system does not tell.
	CPUPerOp *float64 `json:"cpu_us_per_op"`
	// KiBPerSession is the memory of the processes that is resident at the end of the steady phase, by session; null where the system does not tell.
	KiBPerSession *float64 `json:"kib_per_session"`
	// ServerCPUPerOp is the CPU time of the servers of its store in the steady phase, by what was done in it; null where that is ZooKeeper, or the run has not
	// started them.
	ServerCPUPerOp *float64 `json:"server_cpu_us_per_op,omitempty"`
	Servers        string   `json:"servers,omitempty"` // of its store, in words; "" where that is ZooKeeper, or its own memory
	Seam           Latency  `json:"seam_ms"`           // of each acquisition and release of the cell: its time without that in the library
	ClockErrorUS   float64  `json:"clock_error_us"`    // bound on the error of the offset between the clocks
}
