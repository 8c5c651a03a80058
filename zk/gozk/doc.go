// Package gozk is the same Session over github.com/go-zookeeper/zk, the client that Go applications use.
//
// The library is used as it is, through its public API. What a recipe could not live with is mended here:
//
//   - Expiry. After an expiry the library opens a new session by itself. It dials through this package, which refuses every
//     connection once the expiry has been seen, so that no reply and no request can ever belong to a second session.
//   - Session events. The library's event channel holds six and drops the rest. This package reads its synchronous callback.
//   - Contexts. The library's calls have none. A call whose context can end runs in a goroutine that is abandoned when it does;
//     Close waits for all of them, [Session.Leaks] counts them, and later calls wait until they are answered, which keeps the
//     order of the session. This costs about a fifth more CPU for an operation, and a context that cannot end a twentieth
//     (BenchmarkGet).
//   - Lost replies. A connection that breaks is [zk.ErrMaybeApplied] to a write that was under way; a read is sent again.
//     What was not sent yet waits for the next connection, where the library would answer ErrNoServer after one round of
//     failures.
//   - Watches. The library tells a watch nothing but its event. Here it is told of the end of the session too. The events are
//     taken from the callback, in the goroutine that reads the socket, without a goroutine or a second channel for a watch.
//   - Dialling. The order of servers follows from a seed. The pauses between rounds start at 10 ms instead of 1 s. The handshake
//     may take the session timeout divided by the number of servers, as in Java's ClientCnxn, instead of 6.7 timeouts.
//   - Partitions. A connection whose read side has failed is closed at once, instead of when a blocked write times out; and one on
//     which nothing is answered for two thirds of the session timeout is closed although events come.
//   - The lease. The library tells neither when it sends a request nor that it has pinged. So this too is read off the
//     wire: the time of each frame that is written, found again by the number of its reply.
//   - Memory. The library makes two buffers of 1.5 MiB for a session, and the option that makes the one for replies smaller is
//     a hard limit on replies as well. Here both start at 4 KiB and grow to the largest message: the limit is raised from the
//     goroutine that reads it, after the buffer was made. This matters more than the buffers' resident size, which is small: a
//     collector that sees 3 MiB for each session lets as much garbage pile up. After 600,000 reads by 2000 sessions the library
//     alone had 262 KiB resident for each and grew on, this package 58 KiB, with 14 KiB alive.
//   - Zxids. The library keeps the headers of replies to itself, so they are read off the wire. Of two requests under way that agree
//     in operation and path neither learns its zxid, because nothing tells which is whose.
//
// What the library cannot do stays so, and is therefore part of what a run with this engine measures. It cannot take a watch off
// the server: a stopped watch stays in the library and on the server until it fires or the session ends (Leaks counts those
// too). It has no create2, so Created.Czxid is 0 and [zk.Token] pays for one read. It has no persistent watches and cannot
// create containers inside a Multi ([zk.ErrUnimplemented]). After a reconnect it arms its watches again with the zxid of the
// last reply it has seen, beside the requests that waited: a reply to one of those that overtakes the arming could hide a
// change that happened in between.
package gozk
