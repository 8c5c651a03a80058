package command

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/fleet"
	"github.com/zkbench/zkbench/results"
)

// answerSum is the SHA-256 of the document of a plan without what each share has of its own, its command.
func answerSum(document any) (string, error) {
	if doc, is := document.(*results.Capacity); is {
		answer := *doc
		answer.Command = nil
		document = &answer
	}
	text, err := json.Marshal(document)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// finish ends this share's part: the lowest tells the others the result of the plan, or that it broke, and leaves no loads on the coordinator.
func (c *crew) finish(document any, exit results.Exit, broken error) error {
	if c == nil {
		return nil
	}
	ctx := context.WithoutCancel(c.s.working)
	var sum string
	var err error
	if broken == nil {
		sum, err = answerSum(document)
	}
	if broken == nil && err == nil && c.leads() {
		var text []byte
		if text, err = json.Marshal(document); err == nil {
			err = c.send(ctx, order{Document: text, SHA256: sum}, atOrders, c.loads+1)
		}
	}
	if why := cmp.Or(broken, err); why != nil {
		reason, _, _ := strings.Cut(why.Error(), "\n")
		c.meeting.Stop(ctx, causeOf(why), reason)
	}
	err = errors.Join(err, c.meeting.Done(ctx, fleet.Outcome{Code: exit.Code, Reason: exit.Reason, Dir: c.out, Answer: sum}))
	if c.leads() && lostShare(broken) == nil {
		waiting, cancel := context.WithTimeout(ctx, time.Minute)
		err = errors.Join(err, c.meeting.AwaitOthers(waiting), c.agreed(waiting, sum))
		cancel()
	} else if !c.leads() && sum != "" {
		c.tell("the answer has the SHA-256 %s, as at share 1", sum)
	}
	if c.leads() {
		for _, place := range []string{atOrders, atLoads, atCounted, atSent} {
			c.meeting.Forget(ctx, place)
		}
	}
	close(c.over)
	c.meeting.Close()
	if broken != nil { // which has been told
		return nil
	}
	return err
}

// agreed reads the answers that the others ended with, and says that all have this one. The error names those that have not.
func (c *crew) agreed(ctx context.Context, sum string) error {
	if sum == "" {
		return nil
	}
	outcomes, err := c.meeting.Outcomes(ctx)
	if err != nil {
		return err
	}
	for _, n := range c.others() {
		if o := outcomes[n]; o.Answer != sum {
			err = errors.Join(err, fmt.Errorf("share %d (%s) ended with another answer: SHA-256 %s, not %s", n, o.Host, cmp.Or(o.Answer, "none"), sum))
		}
	}
	if err == nil {
		c.tell("all %d shares have the same answer, SHA-256 %s", c.meet.Share.Count, sum)
	}
	return err
}

// lostShare is err where a share or the coordinator was lost; nil otherwise.
func lostShare(err error) error {
	if errors.Is(err, fleet.ErrLost) || errors.Is(err, fleet.ErrCoordinator) {
		return err
	}
	return nil
}

func causeOf(err error) fleet.Cause {
	switch {
	case bench.Interrupted(err):
		return fleet.Interrupt
	case lostShare(err) != nil:
		return fleet.Loss
	}
	return fleet.Failure
}

// brokenExit is how a plan ends that err has cut short.
func brokenExit(err error) results.Exit {
	switch causeOf(err) {
	case fleet.Interrupt:
		return results.Exit{Code: exitInterrupted, Reason: "interrupted"}
	case fleet.Loss:
		return results.Exit{Code: exitUnknown, Reason: err.Error()}
	}
	return results.Exit{Code: exitFailed, Reason: err.Error()}
}
