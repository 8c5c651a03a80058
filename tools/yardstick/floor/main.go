//go:build linux

// Command floor drives ZooKeeper with as little client work as possible: one thread, one epoll set, one write and one
// read system call for each operation. It is a yardstick, not a client: it keeps no session alive and handles no errors.
package main

import (
	"fmt"
	"log"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/tools/yardstick"
)

// dial opens one blocking socket and one session on it.
func dial(addr string) int {
	a, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		log.Fatal(err)
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		log.Fatal(err)
	}
	sa := syscall.SockaddrInet4{Port: a.Port}
	copy(sa.Addr[:], a.IP.To4())
	if err := syscall.Connect(fd, &sa); err != nil {
		log.Fatal(err)
	}
	syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
	syscall.Write(fd, jute.Connect{Timeout: 30 * time.Second}.Request())
	frame(fd, make([]byte, 256))
	return fd
}

// frame reads one whole reply into buf and returns its length with the 4 bytes of its size.
func frame(fd int, buf []byte) int {
	got := 0
	for got < 4 || got < 4+int(jute.Int32(buf)) {
		n, err := syscall.Read(fd, buf[got:])
		if err == syscall.EAGAIN || err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			log.Fatalf("read: %d bytes, %v", n, err)
		}
		got += n
	}
	return got
}

func packet(op jute.Op, path string, tail ...byte) []byte {
	b := append(jute.AppendString(jute.BeginRequest(nil, op), path), tail...)
	jute.Seal(b, 7)
	return b
}

// create makes a persistent znode of 100 bytes that everybody may use; one that exists is fine.
func create(fd int, path string, buf []byte) {
	t := append(jute.AppendBuffer(nil, make([]byte, 100)), jute.World...)
	t = jute.AppendInt32(t, 0)
	syscall.Write(fd, packet(jute.OpCreate, path, t...))
	frame(fd, buf)
}

func main() {
	w := yardstick.Flags()
	buf := make([]byte, 4<<20)
	admin := dial(w.Servers[0])
	create(admin, "/yardstick", buf)
	out := yardstick.Result{Generator: "floor", Sessions: w.Sessions, Children: w.Children}
	if w.Handoff > 0 {
		out.Sessions, out.DeleteList = 1, handoff(admin, w.Handoff, buf)
	} else {
		load(admin, w, buf, &out)
	}
	if err := out.Print(); err != nil {
		log.Fatal(err)
	}
}

// handoff returns the median time of one delete and one list, in microseconds.
func handoff(fd, n int, buf []byte) float64 {
	var took []time.Duration
	create(fd, "/yardstick/handoff", buf)
	for i := range n {
		p := fmt.Sprintf("/yardstick/handoff/%d", i)
		create(fd, p, buf)
		t := time.Now()
		syscall.Write(fd, packet(jute.OpDelete, p, 0xff, 0xff, 0xff, 0xff))
		frame(fd, buf)
		syscall.Write(fd, packet(jute.OpGetChildren2, "/yardstick/handoff", 0))
		frame(fd, buf)
		took = append(took, time.Since(t))
	}
	slices.Sort(took)
	return float64(took[len(took)/2].Nanoseconds()) / 1e3
}

// load makes every session do one operation after the other until all are done.
func load(admin int, w yardstick.Work, buf []byte, out *yardstick.Result) {
	req := packet(jute.OpGetData, "/yardstick", 0)
	if w.Children > 0 {
		dir := fmt.Sprintf("/yardstick/children-%d", w.Children)
		create(admin, dir, buf)
		for i := range w.Children {
			create(admin, dir+"/"+yardstick.ChildName(i), buf)
		}
		req = packet(jute.OpGetChildren2, dir, 0)
	}
	ep, err := syscall.EpollCreate1(0)
	if err != nil {
		log.Fatal(err)
	}
	fds := make([]int, w.Sessions)
	for i := range fds {
		fds[i] = dial(w.Servers[i%len(w.Servers)])
		ev := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fds[i])}
		syscall.EpollCtl(ep, syscall.EPOLL_CTL_ADD, fds[i], &ev)
	}
	m := yardstick.Start()
	left, inFlight := w.Ops, 0
	for _, fd := range fds {
		syscall.Write(fd, req)
		left--
		inFlight++
	}
	evs := make([]syscall.EpollEvent, 1024)
	for inFlight > 0 {
		n, err := syscall.EpollWait(ep, evs, -1)
		if err != nil {
			continue
		}
		for _, e := range evs[:n] {
			got := frame(int(e.Fd), buf)
			inFlight--
			if w.Children > 0 {
				lowest(buf[20:got])
			}
			if left > 0 {
				syscall.Write(int(e.Fd), req)
				left--
				inFlight++
			}
		}
	}
	m.Stop(out, w.Ops)
}

// lowest finds the lowest sequence number among the names of a getChildren reply, as a lock must.
func lowest(p []byte) uint64 {
	n := int(jute.Int32(p))
	p = p[4:]
	least := uint64(1 << 62)
	for range n {
		l := int(jute.Int32(p))
		var s uint64
		for _, c := range p[4+l-10 : 4+l] {
			s = s*10 + uint64(c-'0')
		}
		least = min(least, s)
		p = p[4+l:]
	}
	return least
}
