package sharing

// Deal is how the sessions of a cell are dealt out to the shares of a run: one after the other, those of the first object first. So each share has as many as any
// other, or one fewer, and the contenders of every object are of all shares, as soon as there are as many. Session s is at the object that s leaves when it is divided by
// their number; if the same were done for the share, all contenders of an object would be of one share where the numbers of shares and objects are the same.
type Deal struct{ Sessions, Objects, Shares int }

// Of is the share, from 0, that a session belongs to.
func (d Deal) Of(session int) int { return d.turn(session) % max(d.Shares, 1) }

// Session is the number of the session that has a place, from 0, in a share.
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

// turn is the place of a session in the order in which they are dealt out.
func (d Deal) turn(session int) int {
	objects, each, more := d.objects()
	object := session % objects
	return object*each + min(object, more) + session/objects
}

// objects is how many objects have contenders, and each of them so many; the first ones have one more.
func (d Deal) objects() (n, each, more int) {
	n = max(1, min(d.Objects, d.Sessions))
	return n, max(d.Sessions/n, 1), d.Sessions % n
}
