// Package lease tracks how long a session can be relied on, for the engines of zk.Session.
//
// A server expires a session when a session timeout T has passed since the last request that it received, rounded up to its next tick. A client
// cannot know when that was. It knows when it sent each request, and a reply proves that the server received that request at that time or later: the
// session lives at least until T after it was sent. So a reply, including one to a ping or to the connect request, extends the lease to a time
// counted from the sending of its request; events and the bytes of other replies extend nothing.
//
// A tenth of T is kept in reserve: clocks whose rates differ by one part in a thousand use a hundredth of it; the rest is for the holder to act, and
// for the scheduler to run it.
//
// Assumptions that no client can check: the server that answered tells the leader about the session within half a tick. If a follower dies right
// after its answer, or is cut off from the leader and still answers, that answer is lost to the leader. Where that must not matter, the resource has
// to check the token of the grant.
package lease
