package sharing

// Deal deals out the sessions of a cell to the shares of a run: one after the other, those of the first object first. So the shares differ by at most one session,
// and the contenders of every object are spread over all shares, as soon as there are enough of them. Session s is at object s modulo the number of objects. If the
// share were computed in the same way, all contenders of an object would be in one share whenever the numbers of shares and objects are equal.
type Deal struct{ Sessions, Objects, Shares int }

// Of returns the share, from 0, that a session belongs to.
func (d Deal) Of(session int) int { return d.turn(session) % max(d.Shares, 1) }

// Session returns the number of the session at a place in a share, both from 0.
func (d Deal) Session(place, share int) int {
	turn := place*max(d.Shares, 1) + share
	objects, each, more := d.objects()
	object, rank := 0, 0
	if turn < more*(each+1) {
		object, rank = turn/(each+1), turn%(each+1)
	} else {
		turn -= more * (each + 1)
		object, rank = more+turn/each, turn%each
	}
	return rank*objects + object
}

// turn returns the place of a session in the order in which they are dealt out.
func (d Deal) turn(session int) int {
	objects, each, more := d.objects()
	object := session % objects
	return object*each + min(object, more) + session/objects
}

// objects returns the number n of objects with contenders and the contenders of each. The first more objects have one more.
func (d Deal) objects() (n, each, more int) {
	n = max(1, min(d.Objects, d.Sessions))
	return n, max(d.Sessions/n, 1), d.Sessions % n
}
