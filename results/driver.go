package results

// Driver is the program that held the sessions of a cell, and the overhead of talking to it.
type Driver struct {
	Name      string `json:"name"` // of the library that it drives
	Version   string `json:"version"`
	Store     string `json:"store"` // where its locks are: zookeeper, or another word
	Processes int    `json:"processes"`
	Ended     int    `json:"ended,omitempty"`  // processes that ended prematurely, with their sessions
	Killed    int    `json:"killed,omitempty"` // processes that faults killed, with their sessions
	// Holds is the number of grants and claims given up in the whole cell; Suspended is how many of them the driver had announced before as unreliable.
	Holds     int64 `json:"holds,omitempty"`
	Suspended int64 `json:"suspended,omitempty"`
	// CPUPerOp is the CPU time of the processes in the steady phase per operation done in it; null if the system does not report it.
	CPUPerOp *float64 `json:"cpu_us_per_op"`
	// KiBPerSession is the resident memory of the processes at the end of the steady phase per session; null if the system does not report it.
	KiBPerSession *float64 `json:"kib_per_session"`
	// ServerCPUPerOp is the CPU time of the store's servers in the steady phase per operation done in it; null if the store is ZooKeeper, or the run did not
	// start the servers.
	ServerCPUPerOp *float64 `json:"server_cpu_us_per_op,omitempty"`
	Servers        string   `json:"servers,omitempty"` // of its store, in words; "" if that is ZooKeeper, or the driver's own memory
	Seam           Latency  `json:"seam_ms"`           // of each acquisition and release of the cell: its time outside the library
	ClockErrorUS   float64  `json:"clock_error_us"`    // bound on the error of the offset between the clocks
}
