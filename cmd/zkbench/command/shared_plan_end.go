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
	"github.com/zkbench/zkbench/bench/fleet"
	"github.com/zkbench/zkbench/results"
)

// answerSum returns the SHA-256 of the document of a plan, without the command, which differs between shares.
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

// finish ends this share's part. The lowest share tells the others the result of the plan, or that it failed, and removes all loads from the coordinator.
func (c *sharedPlan) finish(document any, exit results.Exit, broken error) error {
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
	if broken != nil { // which has been reported
		return nil
	}
	return err
}

// agreed reads the answers of the other shares and reports that all are equal to this one. The error names the shares with another answer.
func (c *sharedPlan) agreed(ctx context.Context, sum string) error {
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

// lostShare returns err if a share or the coordinator was lost, and nil otherwise.
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

// brokenExit returns the exit of a plan that err has cut short.
func brokenExit(err error) results.Exit {
	switch causeOf(err) {
	case fleet.Interrupt:
		return results.Exit{Code: exitInterrupted, Reason: "interrupted"}
	case fleet.Loss:
		return results.Exit{Code: exitUnknown, Reason: err.Error()}
	}
	return results.Exit{Code: exitFailed, Reason: err.Error()}
}
