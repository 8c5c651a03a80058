package zk

import "context"

// Patient returns a context that ends with ctx, for requests of sessions whose owner calls Interrupt when ctx has ended, and for a session that is opened
// later, at once: engines that have that ability then do not look at the context for each request, which takes a twentieth of a request's CPU time. For other
// engines, and in what is derived from it, it is a context like any other.
func Patient(ctx context.Context) context.Context { return &patient{ctx} }

type patient struct{ context.Context }

// Interrupt gives up the requests of a session in flight that have a Patient context, as the end of any other context would; later ones with such a context
// fail. Call it when the context has ended. It is safe for concurrent use, and does nothing for an engine that watches all contexts.
func Interrupt(s Session) {
	if w, wrapped := s.(wrapper); wrapped {
		Interrupt(w.Unwrap())
		return
	}
	if i, ok := s.(interface{ Interrupt() }); ok {
		i.Interrupt()
	}
}

// Watched returns, for engines that can be interrupted, the channel that ends a request with this context, and whether Interrupt does instead.
func Watched(ctx context.Context) (done <-chan struct{}, interrupted bool) {
	for {
		switch c := ctx.(type) {
		case *Reply:
			ctx = c.Context
		case *patient:
			return nil, true
		default:
			return ctx.Done(), false
		}
	}
}
