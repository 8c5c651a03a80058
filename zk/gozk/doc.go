// Package gozk implements the Session over github.com/go-zookeeper/zk, the client that Go applications use.
//
// The library is used unmodified, through its public API. This package corrects what would break a recipe:
//
//   - Expiry. After an expiry the library opens a new session by itself. It dials through this package, which refuses every
//     connection once the expiry has been seen, so that no reply and no request can ever belong to a second session.
//   - Session events. The library's event channel holds six and drops the rest. This package uses its synchronous callback.
//   - Contexts. The library's calls take none. A call whose context can end runs in a goroutine that is abandoned when it does;
//     Close waits for all of them, [Session.Leaks] counts them, and later calls wait until they are answered, which preserves the
//     order of the session. This costs about a fifth more CPU per operation; with a context that cannot end, a twentieth
//     (BenchmarkGet).
//   - Lost replies. For a write in flight, a broken connection is [zk.ErrMaybeApplied]; a read is resent. A request that has not
//     been sent yet waits for the next connection, where the library would return ErrNoServer after one round of failures.
//   - Watches. The library delivers nothing to a watch but its event. Here the watch is also told of the end of the session. Events
//     are taken from the callback, in the goroutine that reads the socket, without a goroutine or a second channel per watch.
//   - Dialling. The order of servers follows from a seed. The pauses between rounds start at 10 ms instead of 1 s. The handshake
//     may take the session timeout divided by the number of servers, as in Java's ClientCnxn, instead of 6.7 timeouts.
//   - Partitions. A connection whose read side has failed is closed immediately, instead of when a blocked write times out; and one
//     on which nothing is answered for two thirds of the session timeout is closed even if events arrive.
//   - Failed writes. The library answers a request whose write fails twice, and a third time if it was made during Close; it has
//     room for two answers, so Close could wait forever (once in some 700 expiries on a busy machine). Here a write never fails:
//     the connection is closed instead.
//   - The lease. The library reports neither when it sends a request nor when it pings. So this too is read off the
//     wire: each frame's time of writing is recorded and matched with its reply by the request number.
//   - Memory. The library allocates two buffers of 1.5 MiB per session, and its option for a smaller reply buffer is a hard limit
//     on replies as well. Here both start at 4 KiB and grow to the largest message: the limit is raised from the goroutine that
//     reads it, after the buffer was allocated. This matters more than the small resident size of the buffers suggests: a
//     garbage collector that counts 3 MiB per session lets as much garbage pile up. After 600,000 reads by 2000 sessions, the
//     library alone had 262 KiB resident per session and was still growing; this package had 58 KiB, of which 14 KiB were live.
//   - Zxids. The library does not expose the headers of replies, so they are read off the wire. Of two concurrent requests that
//     have the same operation and path neither learns its zxid, because nothing shows which reply belongs to which.
//
// The library's other limits remain, and are therefore part of what a run with this engine measures. It cannot take a watch off
// the server: a stopped watch stays in the library and on the server until it fires or the session ends (Leaks counts those
// too). It has no create2, so Created.Czxid is 0 and [zk.Token] costs one read. It has no persistent watches and cannot
// create containers inside a Multi ([zk.ErrUnimplemented]).
//
// After a reconnect it arms its watches again with the zxid of the last reply it has seen, concurrently with the requests that waited:
// a reply that overtook this could hide a change that happened in between. Here it sees no reply before it has asked for its watches;
// a session with credentials still can, because the library asks only after the replies to those.
package gozk
