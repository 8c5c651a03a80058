package zk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want Class
	}{
		{"no error", nil, ClassOK},
		{"a refusal", ErrNodeExists, ClassDefiniteNo},
		{"a refusal inside an Error", &Error{KindDelete, "/a", ErrNotEmpty}, ClassDefiniteNo},
		{"a refusal wrapped twice", fmt.Errorf("acquire: %w", &Error{KindGet, "/a", ErrNoNode}), ClassDefiniteNo},
		{"a lost reply", ErrMaybeApplied, ClassMaybeApplied},
		{"an abandoned write: maybe applied outweighs canceled", Abandoned(context.Canceled), ClassMaybeApplied},
		{"a write in flight when the session expired: expired outweighs maybe applied", Abandoned(ErrSessionExpired), ClassSessionGone},
		{"a write in flight when the session was closed", Abandoned(ErrClosed), ClassTerminal},
		{"an abandoned write inside an Error", &Error{KindSet, "/a", Abandoned(context.DeadlineExceeded)}, ClassMaybeApplied},
		{"not sent", ErrNotSent, ClassNotSent},
		{"throttled", ErrThrottled, ClassThrottled},
		{"expired", ErrSessionExpired, ClassSessionGone},
		{"closed", ErrClosed, ClassTerminal},
		{"credentials refused", ErrAuthFailed, ClassTerminal},
		{"credentials missing", ErrAuthRequired, ClassTerminal},
		{"canceled", context.Canceled, ClassCanceled},
		{"deadline exceeded", fmt.Errorf("get: %w", context.DeadlineExceeded), ClassCanceled},
		{"an unknown error: assume the worst", io.ErrUnexpectedEOF, ClassMaybeApplied},
	} {
		if got := Classify(c.err); got != c.want {
			t.Errorf("%s: Classify(%v) = %v, want %v", c.name, c.err, got, c.want)
		}
	}
}

func TestRefusalsAreDefinite(t *testing.T) {
	for _, err := range definiteNoes {
		if got := Classify(&Error{KindMulti, "/a", err}); got != ClassDefiniteNo {
			t.Errorf("Classify(%v) = %v, want %v", err, got, ClassDefiniteNo)
		}
	}
}

func TestFromCode(t *testing.T) {
	for _, c := range []struct {
		code int32
		want error
	}{
		{0, nil}, {-2, ErrRolledBack}, {-4, ErrMaybeApplied}, {-6, ErrUnimplemented}, {-7, ErrMaybeApplied}, {-8, ErrBadArguments},
		{-101, ErrNoNode}, {-102, ErrNoAuth}, {-103, ErrBadVersion}, {-108, ErrNoChildrenForEphemerals}, {-110, ErrNodeExists},
		{-111, ErrNotEmpty}, {-112, ErrSessionExpired}, {-114, ErrInvalidACL}, {-115, ErrAuthFailed}, {-119, ErrReadOnly},
		{-121, ErrNoWatcher}, {-124, ErrAuthRequired}, {-125, ErrQuota}, {-127, ErrThrottled}, {-118, ErrMaybeApplied},
		{-1, ErrFailed}, {-3, ErrFailed}, {-5, ErrFailed}, {-100, ErrFailed}, {-9999, ErrFailed}, // the server has answered
	} {
		if got := FromCode(c.code); !errors.Is(got, c.want) {
			t.Errorf("FromCode(%d) = %v, want %v", c.code, got, c.want)
		}
	}
}

func TestErrorNamesTheOperation(t *testing.T) {
	err := &Error{KindChildren, "/locks", ErrNoNode}
	if got, want := err.Error(), "list /locks: no such znode"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	given := Abandoned(context.Canceled)
	for _, want := range []error{context.Canceled, ErrMaybeApplied} {
		if !errors.Is(given, want) {
			t.Errorf("Abandoned(Canceled) does not wrap %v", want)
		}
	}
}

func TestClassesAndKindsHaveNames(t *testing.T) {
	for c := ClassOK; c <= ClassCanceled; c++ {
		if c.String() == "" {
			t.Errorf("class %d has no name", c)
		}
	}
	for k := range Kinds {
		if Kind(k).String() == "" {
			t.Errorf("kind %d has no name", k)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		sentence string
		err      error
		want     bool
	}{
		{"no error", nil, false},
		{"an ACL", fmt.Errorf("release: %w", &Error{KindDelete, "/a", FromCode(-102)}), true},
		{"throttling", &Error{KindGet, "/a", FromCode(-127)}, true},
		{"a code that nobody knows", &Error{KindSet, "/a", FromCode(-9999)}, true},
		{"a transaction that the servers cannot read", &Error{KindMulti, "", FromCode(-8)}, true},
		{"an answer that a recipe acts on", &Error{KindDelete, "/a", ErrNotEmpty}, false},
		{"a path that no znode can have", &Error{KindDelete, "a", ErrBadArguments}, false},
		{"a lost reply", &Error{KindSet, "/a", ErrMaybeApplied}, false},
		{"the end of the session", &Error{KindSet, "/a", ErrSessionExpired}, false},
	} {
		if got := Refused(c.err); got != c.want {
			t.Errorf("%s: %v", c.sentence, got)
		}
	}
}
