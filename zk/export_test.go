package zk

import "context"

// Secret is the password of a session, with which a second connection may claim it.
func (c *Client) Secret() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.secret
}

// Sent counts the requests that wait for replies; once ctx has ended it is never 0.
func (c *Client) Sent(ctx context.Context) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for k := c.pending.head; k != nil; k = k.next {
		n++
	}
	if ctx.Err() != nil {
		n++
	}
	return n
}
