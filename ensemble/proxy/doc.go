// Package proxy is a TCP proxy in front of ZooKeeper servers that breaks connections at the points where recipes go wrong.
//
// It understands the frames of the protocol, so a fault is injected at a named point instead of at some moment: the reply of the third create
// below /locks, the notification of one znode, every byte to one server. Faults are [Rule] values, added and removed while
// the proxy runs; each counts how often it was injected, and [Fault.Wait] lets a test continue once it has been. No test needs to sleep.
//
//	cut after the server has answered, before the client hears of it   Rule{On: Reply, Ops: []Op{Create}, Times: 1, Do: Cut}
//	cut before the server hears of it                                  Rule{On: Request, Ops: []Op{Create}, Times: 1, Do: Cut}
//	a partition of one direction, until the fault is removed           Rule{On: ToServer, Do: Hold}
//	watch events late, out of order, twice, or never                   Rule{On: Notification, Do: Hold | Delay | Repeat | Drop}
//	a connection reset                                                 Rule{..., Do: Reset}, or Proxy.Reset
//	a session expired while its client lives                           Proxy.Expire
//	a slow network                                                     Proxy.SetLatency
//
// The proxy keeps the passwords of the sessions that pass through it, because Expire needs them, so do not use it for servers
// with valuable data. Four-letter words pass through. It cannot look into TLS: with [Config.Encrypted] it forwards everything
// unread, and can only end connections.
//
// Memory is bounded: only the first 8 KiB of a frame are inspected, the rest is streamed, and each direction of a connection holds at most
// 64 pieces of at most 8 KiB in transit. A frame larger than 8 KiB can be cut, held in place, delayed and dropped, but
// neither repeated nor held aside.
package proxy
