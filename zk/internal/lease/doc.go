// Package lease counts how long a session can be relied on, for the engines of zk.Session.
//
// A server expires a session when a session timeout T has passed since the last request that it received, rounded up to its next
// tick. A client cannot know when that was. It knows when it sent each request, and a reply proves that the server received that one,
// at that time or later: the session lives until T after it was sent, at least. So a reply, be it to a ping or to the connect request,
// extends the lease to a time that is counted from the sending of its request; events and the bytes of other replies extend nothing.
//
// A tenth of T stays in reserve: clocks whose rates differ by one part in a thousand use a hundredth of it, the rest is for the
// holder to act, and for the scheduler to run it.
//
// What this rests on, and what no client can see from its side: the server that answered tells the leader within half a tick, so a
// follower that dies right after its answer, or is itself cut off from the leader and still answers, takes that answer's worth with it.
// Where that must not matter the resource has to check the token of the grant.
package lease
