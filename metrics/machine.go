package metrics

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Machine is what this machine's CPUs have done since its start, other than running processes. Sub computes differences.
type Machine struct {
	CPUs    int           // online
	Stolen  time.Duration // summed over all CPUs: what the host of a virtual machine took from it
	Idle    time.Duration // including waiting for disks
	Waiting time.Duration // PSI: time in which at least one runnable thread had no CPU; -1 if the kernel does not report it

	Asked, Answered time.Time // before and after the reading
}

// ReadMachine takes a snapshot. It returns an error on systems other than Linux.
func ReadMachine() (Machine, error) {
	asked := time.Now()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Machine{}, err
	}
	m, err := parseMachine(string(text))
	m.Waiting = -1
	if pressure, e := os.ReadFile("/proc/pressure/cpu"); e == nil {
		m.Waiting = parsePressure(string(pressure))
	}
	m.Asked, m.Answered = asked, time.Now()
	return m, err
}

// Sub returns what was used since before was taken.
func (m Machine) Sub(before Machine) Machine {
	m.Stolen -= before.Stolen
	m.Idle -= before.Idle
	if m.Waiting >= 0 && before.Waiting >= 0 {
		m.Waiting -= before.Waiting
	} else {
		m.Waiting = -1
	}
	return m
}

// userTick is the unit of /proc/stat, USER_HZ, which is 100 on every architecture that Go has for Linux.
const userTick = time.Second / 100

// parseMachine reads the lines of /proc/stat (proc(5)): cpu, the sum over all CPUs of user, nice, system, idle, iowait, irq, softirq and
// steal; guests are in user. Lines cpu0, cpu1, ... are counted.
func parseMachine(text string) (Machine, error) {
	var m Machine
	found := false
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 || !strings.HasPrefix(f[0], "cpu") {
			continue
		}
		if f[0] != "cpu" {
			m.CPUs++
			continue
		}
		var ticks [8]time.Duration
		for i := range min(len(ticks), len(f)-1) {
			n, err := strconv.ParseInt(f[i+1], 10, 64)
			if err != nil {
				return Machine{}, fmt.Errorf("/proc/stat: %w", err)
			}
			ticks[i] = time.Duration(n) * userTick
		}
		found = len(f) > 4
		m.Idle, m.Stolen = ticks[3]+ticks[4], ticks[7]
	}
	if !found || m.CPUs == 0 {
		return Machine{}, fmt.Errorf("/proc/stat has no line of all CPUs")
	}
	return m, nil
}

// parsePressure reads the total of the line 'some' of /proc/pressure/cpu, in microseconds; it returns -1 if there is none.
func parsePressure(text string) time.Duration {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "some ") {
			continue
		}
		_, total, _ := strings.Cut(line, "total=")
		if n, err := strconv.ParseInt(strings.TrimSpace(total), 10, 64); err == nil {
			return time.Duration(n) * time.Microsecond
		}
	}
	return -1
}
